"""gitmem for those who are not at the command line: git's hooks."""
