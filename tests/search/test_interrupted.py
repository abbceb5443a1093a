"""^C while something is indexed: what is done is kept, and the next search is right."""

from __future__ import annotations

from pathlib import Path

import pytest

import gitmem
from tests.search.embedders import HashEmbedder

ROUNDS = [{"id": str(n), "role": "user", "text": f"walrus number{n} swims"} for n in range(600)]


@pytest.mark.parametrize("when", [("indexing", 500), ("embedding", 256), ("files", 100)])
def test_the_next_search_is_right(
    repo: Path, when: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(150):
        (repo / f"{n}.txt").write_text(f"penguin file{n}\n")
    embedder = HashEmbedder()

    def interrupted(what: str, done: int, all: int) -> None:
        if (what, done) == when:
            raise KeyboardInterrupt

    with gitmem.open(repo) as gm:
        monkeypatch.setattr(gm, "_embedder", lambda: embedder)
        gm.import_session(ROUNDS, session="s1", agent="demo")
        gm.progress = interrupted
        with pytest.raises(KeyboardInterrupt):
            gm.search("walrus")
    with gitmem.open(repo) as again:
        monkeypatch.setattr(again, "_embedder", lambda: embedder)
        for n in (0, 255, 256, 599):
            hit = again.search(f"number{n}", within=("sessions",)).hits[0]
            assert hit.said and hit.said.index == n + 1
        for n in (0, 99, 100, 149):
            passage = again.search(f"file{n}", within=("files",)).hits[0].passage
            assert passage and passage.path == f"{n}.txt"
        assert again.warnings == []
    assert embedder.asked == len(ROUNDS)
