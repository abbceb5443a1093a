"""A repository full of documents that a seed makes, and the same texts for others to search.

Words of this repository's pages as often as they stand there, and every few of them an identifier
that is rare. A tenth, at most 1,000, are memories, the rest rounds of conversations.
"""

from __future__ import annotations

import os
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import gitmem
from benchmarks.history import Shape, build
from benchmarks.timing import ROOT, Bench
from gitmem.search.semantic.embedding import Embedded, Embedder

MEMORIES = 1_000
"""Memories among the documents, at most a tenth of them."""

TALK = 200
"""Rounds of a conversation."""

WHOLE = 10_000
"""Documents up to which the model embeds them; of more, `Begun` does."""

AGENT, SPEAKERS = "bench", ("Ada", "Grace")

NO_MODEL = "GITMEM_CACHE_DIR", "/nonexistent"
"""What hides the model from a process."""


def texts(count: int, seed: int = 11) -> Iterator[str]:
    """Yield texts of 4 to 60 words, 20 in the middle."""
    chosen = random.Random(seed)
    pages = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    often = Counter(word.lower() for word in re.findall(r"[A-Za-z]{2,}", pages))
    words, weights = [*often], [*often.values()]
    for _ in range(count):
        length = min(max(int(chosen.lognormvariate(3, 0.6)), 4), 60)
        said = chosen.choices(words, weights, k=length)
        for at in range(chosen.randrange(10), length, 20):
            said[at] = f"{said[at]}_{chosen.randrange(10 * count)}"
        yield " ".join(said)


def questions(said: Sequence[str], count: int) -> list[str]:
    """Return questions: six words of a text each, in another order."""
    chosen = random.Random(5)
    long = [text.split() for text in chosen.sample(said, 4 * count) if len(text.split()) > 8]
    return [" ".join(chosen.sample(words, 6)) for words in long[:count]]


class Repository:
    """A repository full of documents, and the same texts for others to search."""

    def __init__(self, bench: Bench, size: int, embedder: Embedder | None) -> None:
        self.path = bench.path / f"with-{size}"
        self.size = size
        self._embedder = embedder
        memories = min(MEMORIES, size // 10)
        build(self.path, Shape(memories, max(memories // 20, 1), memories, memories))
        self.said = [*texts(size - memories)]
        with self.opened() as gm:
            gm.init()
            for start in range(0, len(self.said), TALK):
                gm.import_session(self._turns(start), session=str(start), agent=AGENT)
            self.embedded = [memory.body for memory in gm.list(limit=size)]
        self.embedded += [f"{SPEAKERS[n % 2]}: {text}" for n, text in enumerate(self.said)]

    def opened(self, model: bool = True) -> gitmem.Gitmem:
        """Open it as a process does that lives on."""
        environ = dict([*os.environ.items(), *([] if model else [NO_MODEL])])
        gm = gitmem.open(self.path, backend="libgit2", environ=environ)
        if model and self.size > WHOLE and self._embedder:
            gm._embedder = lambda: Begun(self._embedder)  # type: ignore[method-assign]
        return gm

    def beside(self) -> None:
        """Write the texts for others: files, a conversation each, and an FTS5 table."""
        folder = self.path.parent / f"{self.path.name}-texts"
        folder.mkdir()
        for start in range(0, len(self.said), TALK):
            (folder / f"{start}.txt").write_text("\n".join(self.said[start : start + TALK]))
        self.files = folder
        self.fts5 = self.path.parent / f"{self.path.name}.sqlite"
        db = sqlite3.connect(self.fts5)
        db.execute("CREATE VIRTUAL TABLE texts USING fts5(text, id UNINDEXED, tokenize=porter)")
        rows = ((text, str(n)) for n, text in enumerate(self.said))
        db.executemany("INSERT INTO texts VALUES(?,?)", rows)
        db.commit()
        db.close()

    def _turns(self, start: int) -> list[dict[str, Any]]:
        return [
            {"id": str(n), "role": "user", "speaker": SPEAKERS[n % 2], "text": text}
            for n, text in enumerate(self.said[start : start + TALK], start)
        ]


class Begun:
    """The model before its layers: each token has the vector of its word."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.name = model.name  # a fresh process takes them for the model's own
        self.query = model.query

    def documents(self, said: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of each text, in order."""
        words = self._model._one._words
        for text in said:
            ids = self._model._words.encode(text)
            yield self._model._embedded(ids, words[ids])
