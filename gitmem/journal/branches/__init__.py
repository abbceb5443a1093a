"""Which events are seen from where, and what must be carried when branches move."""
