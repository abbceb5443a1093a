"""What gitmem needs of git: the port, the two ways to it, and history asked in bulk."""
