"""Markdown: what the journal says, shown in files, and what people type there, read back."""
