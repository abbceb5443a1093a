"""The engineering text of this repository at one commit, cut into rounds: history, pages, code.

A round's id says where its text stands: `docs/format.md:35` is the paragraph, item, row or block
that begins on that line, `gitmem/model.py:147` a docstring or comment, `log:2f074e7a1b2c` a
commit's message.
"""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

WORDS = 4
"""Fewer words make no comment worth a round."""

BEGINS = re.compile(r"[-*] |\d+\. |\|")
"""An item or a table row: a round of its own, unlike the next line of a paragraph."""

RULE = re.compile(r"\|[-:| ]+\||<!--.*-->")
"""The line below a table's head, and what only programs read."""

COMMENT = re.compile(r"(?:^|\s)#(?: .*)?$")

TOLD = re.compile(r"# (?:noqa|type|fmt|pragma)\b")
"""Comments for programs."""


class Text(NamedTuple):
    """A text and the number of the line it begins on."""

    line: int
    text: str


class Said(NamedTuple):
    """A text, by its id, and when it was written."""

    id: str
    text: str
    at: str


class Missing(Exception):
    """The history that the corpus is made of is not here."""


class Source:
    """The repository at a commit."""

    def __init__(self, root: Path, commit: str) -> None:
        """Raises Missing where the commit is not."""
        self._root = root
        self._commit = commit
        if not (root / ".git").exists():
            raise Missing(f"'{root}' is no clone: it has no .git, and the corpus is its history")
        try:
            if self._git("rev-parse", "--is-shallow-repository").strip() == "true":
                raise Missing("this clone is shallow: 'git fetch --unshallow' brings its history")
            self._git("cat-file", "-e", f"{commit}^{{commit}}")
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().split("\n")[0]
            raise Missing(f"commit {commit[:12]} is not here: {said}") from None

    def sessions(self, only: Iterable[str] | None = None) -> dict[str, list[Said]]:
        """Return all texts, or some sessions': one for each file, and for each hour of history."""
        at = self._git("show", "-s", "--format=%aI", self._commit).strip()
        files = self._git("ls-tree", "-r", "--name-only", self._commit).splitlines()
        files = [path for path in files if Path(path).suffix in READERS]
        history = self._history()
        wanted = {*history, *files} if only is None else set(only)
        found = {hour: said for hour, said in history.items() if hour in wanted}
        for path, text in self._read([path for path in files if path in wanted]):
            if said := [Said(f"{path}:{line}", it, at) for line, it in _texts(text, path)]:
                found[path] = said
        return found

    def _read(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        asked = "".join(f"{self._commit}:{path}\n" for path in paths)
        rest = self._git("cat-file", "--batch", input=asked).encode()
        for path in paths:
            head, _, rest = rest.partition(b"\n")
            size = int(head.split()[2])
            yield path, rest[:size].decode()
            rest = rest[size + 1 :]

    def _history(self) -> dict[str, list[Said]]:
        log = self._git(
            "-c", "log.showSignature=false", "log", "--reverse", "--no-merges",
            "--format=%H%x1f%aI%x1f%B%x1e", self._commit,
        )  # fmt: skip
        commits = [record.strip().split("\x1f") for record in log.split("\x1e") if record.strip()]
        said = [Said(f"log:{id[:12]}", text.strip(), at) for id, at, text in commits]
        hours = groupby(said, key=lambda one: f"log/{one.at[:13]}")
        found: dict[str, list[Said]] = {}
        for hour, some in hours:
            found.setdefault(hour, []).extend(some)
        return found

    def _git(self, *args: str, input: str = "") -> str:
        command = ["git", "-C", str(self._root), *args]
        # In a git hook GIT_DIR would name another repository.
        environ = {name: it for name, it in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            command, input=input.encode(), capture_output=True, check=True, env=environ
        )
        return done.stdout.decode()


def markdown(text: str, path: str) -> Iterator[Text]:
    """Yield paragraphs, items, rows and fenced blocks; a heading belongs to what follows it."""
    block: list[str] = []
    begin, fenced = 0, False
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        headed = all(one.startswith("#") for one in block)
        fence = line.lstrip().startswith("```")
        ends = fence or not line.strip() or RULE.fullmatch(line) or BEGINS.match(line)
        if block and not headed and not fenced and ends:
            yield Text(begin, "\n".join(block))
            block = []
        if fenced or (line.strip() and not RULE.fullmatch(line)):
            begin = begin if block else number
            block.append(line)
        if fence and fenced:
            yield Text(begin, "\n".join(block))
            block = []
        fenced ^= fence


def python(source: str, path: str) -> Iterator[Text]:
    """Yield docstrings, each after its name, and comments, in the order they stand in."""
    yield from sorted([*_docstrings(ast.parse(source), path), *_comments(source)])


def _docstrings(node: ast.AST, name: str) -> Iterator[Text]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        if text := ast.get_docstring(node):
            yield Text(getattr(node, "lineno", 1), f"{name}: {text}")
        for child in node.body:
            inner = getattr(child, "name", "")
            outer = "" if isinstance(node, ast.Module) else f"{name}."
            yield from _docstrings(child, f"{outer}{inner}")


def _comments(source: str) -> Iterator[Text]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = [token.start[0] for token in tokens if token.type == tokenize.COMMENT]
    return _runs(source.split("\n"), lines)


def plain(text: str, path: str) -> Iterator[Text]:
    """Yield the comments of a script or a file of settings."""
    lines = text.split("\n")
    numbers = [number for number, line in enumerate(lines, start=1) if COMMENT.search(line)]
    return _runs(lines, numbers)


def _runs(lines: Sequence[str], numbers: Iterable[int]) -> Iterator[Text]:
    """Join comments on lines that follow each other, with the line of code that they stand above.

    One beside code stands alone, code and all.
    """
    run: list[int] = []
    for number in [*numbers, 0]:
        own = lines[number - 1].lstrip().startswith("#")
        if run and not (own and number == run[-1] + 1):
            yield from _joined(lines, run)
            run = []
        run.append(number)
        if not own:
            yield from _joined(lines, run)
            run = []


def _joined(lines: Sequence[str], run: Sequence[int]) -> Iterator[Text]:
    texts = [lines[number - 1].strip() for number in run]
    if len(" ".join(texts).split()) < WORDS or TOLD.search(texts[0]):
        return
    if texts[0].startswith("#"):
        below = lines[run[-1]].strip() if run[-1] < len(lines) else ""
        texts = [*(text.removeprefix("#").strip() for text in texts), below]
    yield Text(run[0], "\n".join(texts).strip())


READERS = {".md": markdown, ".py": python, "": plain, ".toml": plain}

OTHERS = ("tests/", "benchmarks/", "templates/")
"""What is left out: the questions' own folder, and texts made to be odd."""


def _texts(text: str, path: str) -> Iterable[Text]:
    return () if path.startswith(OTHERS) else READERS[Path(path).suffix](text, path)
