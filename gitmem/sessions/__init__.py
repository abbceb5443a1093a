"""Conversations: what agents and people said, kept in the private repository."""

REF = "refs/gitmem/sessions"
"""The commit that holds all of them: whoever has seen it has seen everything."""
