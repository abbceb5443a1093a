"""Fetching and pushing the shared journal, and the union of two."""
