"""A memory out of history: a journal written anew, and what it held deleted."""
