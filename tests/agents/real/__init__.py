"""Real agents, from npm, that talk with a model that is none: without a network, end to end."""
