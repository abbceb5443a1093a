"""The files of the work tree, by their words."""
