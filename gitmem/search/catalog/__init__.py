"""Memories in SQLite, folded from the journals' events."""
