"""The command line: one file per group of commands, each command three lines over `Gitmem`."""
