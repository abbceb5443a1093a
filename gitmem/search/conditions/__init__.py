"""The language of ``--where``."""
