"""Choose the sentences that `labels.jsonl` labels: addresses only, the text stays where it is.

Run as ``python tests/data/entities/sample.py DIR`` on the folder of transcripts; prints one
JSON line a sentence, ``{"file", "record", "pointer", "start", "end", "split"}``. Files are
the ones whose provenance note calls them real or shortened real sessions. A quarter of the
sentences are drawn from all; before them come those that look technical on the surface (a slash,
a back-tick, a capital in mid-sentence, …), as most sentences of a transcript name nothing at
all, and first a few with what prose seldom has (a version, a URL, a ``#12``, an ``@``).
No file gives more than `PER_FILE`, so that one long session does not decide the figures.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED, WANTED, DEV, PER_FILE = 20261120, 240, 80, 36
FILES = (
    "aider/*.md",
    "amp/*.json",
    "claude-code/entire-*.jsonl",
    "claude-code/gitai-claude-code-with-thinking.jsonl",
    "claude-code/gitai-example-*.jsonl",
    "codex/gitai-*-updated.jsonl",
    "codex/self-*.jsonl",
    "continue/*.json",
    "copilot-cli/*.jsonl",
    "cursor/gitai-*.jsonl",
    "droid/*.jsonl",
    "gemini-cli/*.json*",
    "letta/*.af",
    "windsurf/*.jsonl",
)
PROSE_KEYS = frozenset(
    "text thinking content description response user_response summary value system".split()
)
NOT_PROSE = frozenset(
    "tools toolCalls toolUseResult toolCallStates tool_result base_instructions "
    "replacement_history".split()
)
SENTENCE = re.compile(r"[^\s].*?(?:[.!?](?=\s)|[。！？]|$)", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?(^\1|\Z)", re.MULTILINE | re.DOTALL)
TECHNICAL = re.compile(r"[/`_#@]|\w\.[A-Za-z]|[a-z][A-Z]|\b[A-Z]{2}|\d\.\d|[a-z][^.!?]* [A-Z][a-z]")
RARE = re.compile(r"https?://|\bv?\d+\.\d+\.|(?<!\S)[(*]*[@#]\w|\b[a-z]+-\d-\d")


def strings(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield (JSON pointer, text) of what people or models wrote, tool traffic left out."""
    if isinstance(value, str):
        yield pointer, value
        return
    if isinstance(value, dict) and value.get("type") in NOT_PROSE:
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        if isinstance(item, str) and not (key in PROSE_KEYS or isinstance(key, int)):
            continue
        if key not in NOT_PROSE and isinstance(item, str | dict | list):
            yield from strings(item, f"{pointer}/{key}")


def records(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield (record number, pointer, text); a Markdown file is one record without pointer."""
    raw = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 0, "", raw
        return
    for number, line in enumerate(raw.split("\n") if path.suffix == ".jsonl" else [raw]):
        if line.strip():
            for pointer, text in strings(json.loads(line)):
                yield number, pointer, text


def sentences(root: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield (address, sentence) of every prose sentence of 3 to 60 words, each text once."""
    seen: set[str] = set()
    for path in sorted({path for glob in FILES for path in root.glob(glob)}):
        for number, pointer, text in records(path):
            prose = FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
            for match in SENTENCE.finditer(prose):
                sentence = match[0].rstrip()
                if sentence not in seen and 3 <= len(sentence.split()) <= 60:
                    seen.add(sentence)
                    end = match.start() + len(sentence)
                    name = path.relative_to(root).as_posix()
                    place = {"file": name, "record": number, "pointer": pointer}
                    yield place | {"start": match.start(), "end": end}, sentence


def draw(root: Path) -> list[dict[str, Any]]:
    """Return the drawn addresses, shuffled, each marked as dev or held-out."""
    pool = list(sentences(root))
    random.Random(SEED).shuffle(pool)
    chosen: list[dict[str, Any]] = []
    taken: Counter[str] = Counter()
    for surface, goal in ((RARE, 12), (TECHNICAL, WANTED * 3 // 4), (re.compile(""), WANTED)):
        for place in (place for place, text in pool if surface.search(text)):
            if len(chosen) < goal and place not in chosen and taken[place["file"]] < PER_FILE:
                taken[place["file"]] += 1
                chosen.append(place)
    random.Random(SEED + 1).shuffle(chosen)
    return [
        place | {"split": "dev" if number < DEV else "held-out"}
        for number, place in enumerate(chosen)
    ]


if __name__ == "__main__":
    for address in draw(Path(sys.argv[1])):
        print(json.dumps(address))
