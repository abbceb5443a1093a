"""The commands by section of the help: name, module that holds it, first line of its help.

The first lines stand here too so that `gitmem --help` need not load every module; a test compares.
"""

from __future__ import annotations

SECTIONS = {
    "Set up": (
        ("init", "setup", "Set the repository up; say every change."),
        ("deinit", "setup", "Undo what init did, exactly; the memories stay in git."),
        ("install", "install", "Make gitmem the memory of an agent: hooks, skill, MCP server."),
        ("uninstall", "install", "Take gitmem out of an agent's settings; memories stay in git."),
        ("mcp", "mcp", "Serve the memory to an agent, as an MCP server."),
        ("completion", "setup", "Print the script that completes gitmem's commands in SHELL."),
    ),
    "Write": (
        ("remember", "write", "Store a text, a JSON object, or standard input (-)."),
        ("update", "write", "Change a memory; its history stays."),
        ("evolve", "write", "Add a note to a memory; its text stays as it is."),
        ("forget", "write", "Stop showing a memory; restore brings it back."),
        ("restore", "write", "Bring a forgotten memory back, or keep one against proposals."),
        ("purge", "purge", "Make a memory never have been: rewrite the journal without it."),
        ("undo", "write", "Take back the last thing you wrote; again, the one before it."),
        ("edit", "edit", "Open a memory in $VISUAL or $EDITOR, and store what is saved."),
        ("tag", "label", "Add tags to a memory; topic:NAME puts it under a topic."),
        ("untag", "label", "Take tags off a memory."),
        ("link", "label", "Link a memory to a memory's id, a path, a commit or a URL."),
        ("unlink", "label", "Take a link back."),
    ),
    "Read": (
        ("search", "search", "Find memories, rounds of conversations and files, best first."),
        ("recall", "search", "Print what to know before a prompt is answered, or nothing."),
        ("show", "read", "Show memories whole."),
        ("list", "read", "List memories, newest first, one a line."),
        ("log", "read", "Show what happened; with ID, the life of one memory."),
        ("get", "read", "List a topic's memories: those with the tag topic:TOPIC."),
        ("tags", "facets", "List the tags, and how many memories have each."),
        ("entities", "facets", "List what memories name: technologies, people, files, issues."),
        ("entity", "facets", "Show who and what is named beside NAME, and in which memories."),
    ),
    "Share": (
        ("push", "sharing", "Push the shared memories; say what the remote then has."),
        ("pull", "sharing", "Fetch a remote's memories and merge them with those here."),
        ("remote", "sharing", "List the remotes, or set the one to share with."),
        ("trust", "trust", "Trust AUTHOR, or all who have commits on the trunk, in this clone."),
    ),
    "Branches": (
        ("branches", "branch", "List what each branch knows, the current one first."),
        ("diff", "branch", "Compare what two branches know."),
        ("adopt", "branch", "Make a branch's memories seen from HEAD; its code stays where it is."),
    ),
    "Conversations": (
        ("import", "imports", "Import conversations of agents, or what another tool remembers."),
        ("session", "conversations", "List, show or tag imported conversations."),
        ("card", "conversations", "Distil rounds of conversations into a memory that cites them."),
    ),
    "Session": (
        ("sync", "session", "Open or close a session, or accept a large hand edit."),
        ("context", "session", "Show, set or clear the working memory of the session at hand."),
    ),
    "Care": (
        ("status", "care", "Show where memories are kept, and what waits for you."),
        ("stats", "care", "Count memories by kind, importance, author and month."),
        ("doctor", "care", "Check the journal, the indexes and the Markdown files."),
        ("reindex", "care", "Build everything that is derived from the journal anew."),
        ("export", "care", "Print every memory that is seen from here."),
        ("model", "model", "Install, show or remove the model for search by meaning."),
    ),
}

ALIASES = {"merge-branch": "adopt"}
"""Other names of commands, which the help does not list."""

MODULES = {name: module for rows in SECTIONS.values() for name, module, _ in rows}
