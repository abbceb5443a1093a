#!/usr/bin/env python3
"""Speaks as the git-notes-memory skill's memory.py does, and lets gitmem do the work.

    memory.py [-p DIR] sync --start | sync --end SUMMARY
    memory.py [-p DIR] remember|r CONTENT [-t a,b] [-i c|h|n|l]
    memory.py [-p DIR] get|g TOPIC | search|s QUERY
    memory.py [-p DIR] recall|q [-i ID | -t TAG | -q QUERY | --last N]
    memory.py [-p DIR] update|u ID [CONTENT] [-i c|h|n|l] [-t a,b] [-m]
    memory.py [-p DIR] evolve|e ID NOTE | forget|f ID
    memory.py [-p DIR] entities|ent | entity NAME | branches|br | merge-branch|mb BRANCH

Needs Python 3.9 and nothing besides gitmem, which $GITMEM names, or is on the path, or in
~/.local/bin. Unlike that script it never makes a repository or a commit. Where gitmem fails, its
message goes to standard error, and its exit code is this script's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

Memory = dict[str, Any]

NOT_FOUND = "not found"
MISSING = 4
"""The exit code where there is no gitmem."""

NEAR = 0.3
"""The least score of what is shown where gitmem searches by meaning; unrelated texts reach 0.25."""

RANK = {"c": 0, "h": 1, "n": 2, "l": 3}
TOPICS = "topic about subject name title category area domain field concept item project".split()
SUMMARIES = "summary sum s title name topic what decision pref learned".split()
KINDS: dict[str, str] = {kind: kind for kind in "decision preference learning task".split()}
KINDS.update(question="question", pref="preference", learned="learning")
"""What that script calls a memory, by a key of its object."""

TO_GITMEM = {"learning": "lesson", "info": "note"}
FROM_GITMEM = {there: here for here, there in TO_GITMEM.items()}


class Failed(Exception):
    """What gitmem answered instead: its error, and its exit code."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Gitmem:
    """The installed gitmem, in one repository."""

    def __init__(self, folder: str) -> None:
        self._command = [*program(), "-C", folder]

    def ask(self, *words: str) -> Any:
        """Run a command and return its data."""
        done = subprocess.run(
            [*self._command, "--json", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise Failed("", done.stderr.strip() or "gitmem said nothing", 4) from None
        if answer.get("ok"):
            return answer["data"]
        error = answer["error"]
        hint = " ({})".format(error["hint"]) if error.get("hint") else ""
        raise Failed(error["code"], error["message"] + hint, done.returncode)

    def become(self, *words: str) -> NoReturn:
        """Run a command in place of this process: its answer is the answer."""
        sys.stdout.flush()
        os.execvp(self._command[0], [*self._command, *words])

    def memories(self, *words: str) -> list[Memory]:
        """Return what `list` shows, newest first."""
        return self.ask("list", *words)  # type: ignore[no-any-return]

    def memory(self, id: str) -> Memory | None:
        """Return one memory, None if there is none or it is forgotten."""
        try:
            found: Memory = self.ask("show", "--", id)[0]
        except Failed as failed:
            if failed.code not in ("not-found", "ambiguous-id"):
                raise
            return None
        return None if found["forgotten"] else found


def program() -> list[str]:
    """Return the command that runs gitmem."""
    if named := os.environ.get("GITMEM", ""):
        return shlex.split(named)
    local = os.path.expanduser("~/.local/bin/gitmem")
    found = shutil.which("gitmem") or (local if os.access(local, os.X_OK) else None)
    if found:
        return [found]
    sys.exit(fail("gitmem is not on the path: put it there, or name it in $GITMEM", MISSING))


def fail(message: str, status: int) -> int:
    """Say what went wrong, and return the exit code."""
    print("error: " + message, file=sys.stderr)
    return status


# -- how that script writes a memory --------------------------------------------------------------


def content_of(memory: Memory) -> Any:
    """Return the text or the object."""
    return memory["text"] if memory["data"] is None else memory["data"]


def summary(content: Any, most: int = 60) -> str:
    """Return a memory's first words."""
    if isinstance(content, str):
        return content[:most]
    named = [content[key] for key in SUMMARIES if isinstance(content.get(key), str)]
    texts = [value for value in content.values() if isinstance(value, str) and len(value) < 50]
    found = named[:1] or texts[:3]
    return ("; ".join(found) if found else "({})".format(", ".join(list(content)[:3])))[:most]


def entities(content: Any) -> list[str]:
    """Return what a memory names: explicit fields, hashtags, quotes, capitalised words."""
    fields = content if isinstance(content, dict) else {}
    found = [fields[key].lower() for key in TOPICS if isinstance(fields.get(key), str)]
    text = " ".join(map(str, fields.values())) if fields else str(content)
    for pattern in (r"#(\w+)", r"\"([^\"]{2,30})\"", r"\b([A-Z]\w+(?: [A-Z]\w+){0,2})"):
        found += [name.lower() for name in re.findall(pattern, text)]
    return list(dict.fromkeys(name for name in found if len(name) > 2))[:15]


def kind_of(content: Any) -> str:
    """Return what that script would call a content; empty if it leaves it to gitmem."""
    fields = content if isinstance(content, dict) else {}
    if isinstance(fields.get("type"), str):
        return str(fields["type"])[:20]
    return next((KINDS[key] for key in KINDS if key in fields), "")


def short(memory: Memory) -> str:
    return str(memory["id"])[:8]


def kind(memory: Memory) -> str:
    """Return the kind in that script's words."""
    called = str(memory["kind"])
    return FROM_GITMEM.get(called, called)


def row(memory: Memory) -> Memory:
    """Return a memory as `get` and `search` show it."""
    return {
        "id": short(memory),
        "s": summary(content_of(memory)),
        "t": kind(memory),
        "i": memory["importance"][0],
        "b": memory["branch"] or "?",
    }


def entry(memory: Memory) -> Memory:
    """Return a memory as `recall` lists it."""
    return {
        "s": summary(content_of(memory), 50),
        "e": entities(content_of(memory))[:3],
        "t": kind(memory),
        "i": memory["importance"][0],
        "u": memory["updated"][:10],
    }


def whole(memory: Memory) -> Memory:
    """Return a memory as ``recall -i`` shows it."""
    branch = memory["branch"] or "?"
    notes = [{"n": note["text"], "t": note["at"], "b": branch} for note in memory["notes"]]
    return {
        "d": content_of(memory),
        "e": entities(content_of(memory)),
        "t": kind(memory),
        "g": memory["tags"],
        "i": memory["importance"][0],
        "b": branch,
        "c": memory["created"],
        "u": memory["updated"],
        "a": 0,
        **({"ev": notes} if notes else {}),
    }


# -- its commands ---------------------------------------------------------------------------------


def sync(gitmem: Gitmem, args: argparse.Namespace) -> Any:
    if args.start:
        gitmem.become("sync", "--start", "--format", "compact")
    if args.end:
        done = gitmem.ask("sync", "--end", "--", args.end)
        episode = done["episode"]
        return {"ok": True, "mid": short(episode), "branch": episode["branch"] or "main"}
    return None


def remember(gitmem: Gitmem, args: argparse.Namespace) -> str:
    content = parsed(args.content)
    words = ["-i", args.importance, *(["-t", args.tags] if args.tags else [])]
    if called := kind_of(content):
        words += ["-k", TO_GITMEM.get(called, called)]
    return short(gitmem.ask("remember", *words, "--", written(content)))


def recall(gitmem: Gitmem, args: argparse.Namespace) -> Any:
    if args.mid:
        memory = gitmem.memory(args.mid)
        return whole(memory) if memory else None
    if args.tag:
        found = [m for m in gitmem.memories() if args.tag.lower() in " ".join(m["tags"]).lower()]
        return {short(memory): entry(memory) for memory in found}
    if args.topic:
        return get(gitmem, args)
    if args.last:
        return {short(m): entry(m) for m in gitmem.memories("-n", str(args.last))}
    start = gitmem.ask("sync", "--start")["compact"]
    recent = [short(memory) for memory in gitmem.memories("-n", "5")]
    topics = list(start.get("t", {}))
    return {"b": start.get("b"), "n": start.get("n", 0), "t": topics, "recent": recent}


def get(gitmem: Gitmem, args: argparse.Namespace) -> Memory:
    """Return the memories that have a topic in them; if none has, those that search finds."""
    topic = args.topic

    def text(memory: Memory) -> str:
        return " ".join([written(content_of(memory)), *memory["tags"]]).lower()

    found = [memory for memory in gitmem.memories() if topic.lower() in text(memory)]
    found = found or hits(gitmem, topic, 10)
    found.sort(key=lambda memory: (RANK.get(memory["importance"][0], 2), memory["id"]))
    return {"topic": topic, "mem": [row(memory) for memory in found[:10]]}


def search(gitmem: Gitmem, args: argparse.Namespace) -> Memory:
    return {"query": args.query, "results": [row(m) for m in hits(gitmem, args.query, 15)]}


def hits(gitmem: Gitmem, query: str, most: int) -> list[Memory]:
    """Return the memories that fit a query: by meaning every one is somewhere near it."""
    found = gitmem.ask("search", "--in", "memories", "-n", str(most), "--", query)
    least = NEAR if "semantic" in found["searched"] else 0.0
    return [hit["memory"] for hit in found["hits"] if hit["score"] >= least]


def update(gitmem: Gitmem, args: argparse.Namespace) -> str:
    memory = gitmem.memory(args.mid)
    if memory is None:
        return NOT_FOUND
    content = None if args.content is None else parsed(args.content)
    if args.merge and isinstance(content, dict) and memory["data"] is not None:
        content = {**memory["data"], **content}
    options = ["-i", args.importance] if args.importance else []
    options += ["-t", args.tags] if args.tags else []
    words = [memory["id"], *([] if content is None else [written(content)])]
    if options or content is not None:
        gitmem.ask("update", *options, "--", *words)
    return "ok"


def change(gitmem: Gitmem, args: argparse.Namespace) -> str:
    """Evolve or forget."""
    words = [args.mid, args.note] if args.verb == "evolve" else [args.mid]
    try:
        gitmem.ask(args.verb, "--", *words)
    except Failed:
        if gitmem.memory(args.mid):
            raise
        return NOT_FOUND
    return "ok"


def list_entities(gitmem: Gitmem, args: argparse.Namespace) -> Memory:
    found = gitmem.ask("entities")
    named = {one["name"].lower(): one["memories"] for one in found[:20]}
    return {"entities": named, "total": len(found)}


def entity(gitmem: Gitmem, args: argparse.Namespace) -> Memory:
    try:
        page = gitmem.ask("entity", "--", args.name)
    except Failed as failed:
        if failed.code != "not-found":
            raise
        return {"error": NOT_FOUND}
    memories = [{key: row(m)[key] for key in ("id", "s", "t")} for m in page["memories"]]
    return {"entity": args.name, "count": len(memories), "memories": memories[:10]}


def branches(gitmem: Gitmem, args: argparse.Namespace) -> Memory:
    found = gitmem.ask("branches")
    named = {b["name"]: {"count": b["knows"], "current": b["current"]} for b in found}
    return {"branches": named, "current": next((b["name"] for b in found if b["current"]), None)}


def merge_branch(gitmem: Gitmem, args: argparse.Namespace) -> Memory:
    try:
        gitmem.ask("adopt", "--", args.source)
    except Failed as failed:
        if failed.code != "not-found":
            raise
        return {"merged": [], "conflicts": [], "errors": []}
    return {"merged": ["mem", "ent", "idx"], "conflicts": [], "errors": []}


def parsed(text: str) -> Any:
    """Return the object or the text that a JSON text stands for; any other text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (dict, str)) else text


def written(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


# -- its arguments --------------------------------------------------------------------------------


def arguments() -> argparse.ArgumentParser:
    """Return the parser of that script's command line."""
    parser = argparse.ArgumentParser(description="The project's memory, by gitmem.")
    parser.add_argument("-p", "--path", default=".", help="the project's directory")
    commands = parser.add_subparsers(dest="command")

    def add(run: Callable[..., Any], name: str, *aliases: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, aliases=aliases)
        command.set_defaults(run=run, verb=name)
        return command

    one = add(sync, "sync")
    one.add_argument("--start", action="store_true")
    one.add_argument("--end", metavar="SUMMARY")
    one = add(remember, "remember", "r")
    one.add_argument("content")
    one.add_argument("-t", "--tags", default="")
    one.add_argument("-i", "--importance", default="n", choices=RANK)
    one = add(recall, "recall", "q")
    one.add_argument("-i", "--id", dest="mid")
    one.add_argument("-t", "--tag")
    one.add_argument("-q", "--query", dest="topic")
    one.add_argument("--last", type=int)
    add(get, "get", "g").add_argument("topic")
    add(search, "search", "s").add_argument("query")
    one = add(update, "update", "u")
    one.add_argument("mid")
    one.add_argument("content", nargs="?")
    one.add_argument("-i", "--importance", choices=RANK)
    one.add_argument("-t", "--tags")
    one.add_argument("-m", "--merge", action="store_true")
    one = add(change, "evolve", "e")
    one.add_argument("mid")
    one.add_argument("note")
    add(change, "forget", "f").add_argument("mid")
    add(list_entities, "entities", "ent")
    add(entity, "entity").add_argument("name")
    add(branches, "branches", "br")
    add(merge_branch, "merge-branch", "mb").add_argument("source")
    parser.set_defaults(run=recall, mid=None, tag=None, topic=None, last=None)
    return parser


def main() -> int:
    """Run one command line, print what that script would, and return the exit code."""
    args = arguments().parse_args()
    try:
        answer = args.run(Gitmem(args.path), args)
    except Failed as failed:
        return fail(str(failed), failed.status)
    if isinstance(answer, str):
        print(answer)
    elif answer is not None or args.run is recall:
        json.dump(answer or None, sys.stdout, separators=(",", ":"))
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
