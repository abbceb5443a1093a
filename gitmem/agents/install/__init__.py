"""`gitmem install` and `uninstall`: what gitmem puts into agents' settings, and takes out again."""
