"""Conversations in a throw-away repository, searched through the public library."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gitmem
from benchmarks import retrieval
from benchmarks.baselines import NAMES, baselines, embedder
from benchmarks.retrieval import DEPTH, Answers, Place, Question, Ranking
from gitmem.search.semantic.pins import cache_folder

if TYPE_CHECKING:
    from gitmem.search.semantic.embedding import Embedder

GITCONFIG = "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n"

Turns = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Conversations:
    """What is searched together: turns by session id, each with an id of its own.

    `questions` is given every text by its place, once all are there. `transcripts` are imported
    too, by the agent that wrote them.
    """

    agent: str
    sessions: Mapping[str, Turns]
    questions: Callable[[Mapping[Place, str]], Sequence[Question]]
    transcripts: Mapping[str, Path] = field(default_factory=dict)


@contextmanager
def secluded(model: bool = True) -> Iterator[Path]:
    """Give a temporary home; yields a folder in it. Without `model` there is no model within reach.

    git and gitmem read the process's environment, so it is changed, and restored afterwards.
    """
    cache = cache_folder(os.environ.get("GITMEM_CACHE_DIR", ""))
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder, "home")
        (home / "cache").mkdir(parents=True)
        (home / ".gitconfig").write_text(GITCONFIG)
        for name in before:
            if name.startswith(("GIT_", "GITMEM_", "XDG_")):
                del os.environ[name]
        used = str(cache if model else home / "cache")
        os.environ.update(HOME=str(home), GIT_CONFIG_NOSYSTEM="1", GITMEM_CACHE_DIR=used)
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def repository(path: Path) -> Iterator[gitmem.Gitmem]:
    """Make a repository and open its memory."""
    path.mkdir()
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    with gitmem.open(path) as gm:
        gm.init()
        yield gm


class Asked:
    """Benchmarks one after the other, and what they found together."""

    def __init__(self, folder: Path, model: Embedder | None, alone: bool = False) -> None:
        """`alone` leaves the baselines out."""
        self._folder = folder
        self._model = model
        self._alone = alone
        self._count = 0
        self.answers = Answers(baselines={name: {} for name in NAMES})

    def ask(self, conversations: Conversations) -> None:
        """Import conversations, ask their questions, and rank by the baselines too."""
        self._count += 1
        with repository(self._folder / f"repo-{self._count}") as gm:
            begin = time.perf_counter()
            for session, turns in conversations.sessions.items():
                gm.import_session(turns, session=session, agent=conversations.agent)
            for agent, place in conversations.transcripts.items():
                gm.import_transcripts(agent, path=place)
            importing = time.perf_counter() - begin
            self.asked(gm, conversations, importing)

    def asked(self, gm: Any, conversations: Conversations, importing: float = 0.0) -> None:
        """Index what was imported, in `importing` seconds, and ask."""
        texts, places = rounds(gm)
        questions = conversations.questions(texts)
        begin = time.perf_counter()
        gm.search("anything", within=("sessions",), limit=1)
        self.answers.indexing += importing + time.perf_counter() - begin
        self.answers.rounds += len(texts)
        self.answers.questions += questions
        begin = time.perf_counter()
        for question in questions:
            hits, sessions = found(gm, question.text, places)
            self.answers.found[question.id] = hits
            self.answers.sessions[question.id] = sessions
        self.answers.asking += time.perf_counter() - begin
        if not self._alone:
            self._compare(baselines(texts, questions, self._model))

    def _compare(self, ranked: Mapping[str, dict[str, Ranking] | None]) -> None:
        for name, rankings in ranked.items():
            before = self.answers.baselines[name]
            if rankings is None or before is None:
                self.answers.baselines[name] = None
            else:
                before.update(rankings)


def rounds(gm: Any) -> tuple[dict[Place, str], dict[tuple[str, int], Place]]:
    """Return what was said by place, the speaker first, and the places by session and index."""
    texts, places = {}, {}
    for session in gm.sessions():
        key = f"{session.about.agent}/{session.about.id}"
        for one in gm.session(key).rounds:
            place = Place(key, one.turn.id)
            places[key, one.index] = place
            speaker = f"{one.turn.speaker}: " if one.turn.speaker else ""
            texts[place] = speaker + one.turn.text
    return texts, places


def found(
    gm: Any, text: str, places: Mapping[tuple[str, int], Place]
) -> tuple[Ranking, Sequence[str]]:
    """Ask the library; returns the places of its hits and the conversations, each best first."""
    result = gm.search(text, within=("sessions",), limit=DEPTH)
    hits = dict.fromkeys(places[hit.said.session, hit.said.index] for hit in result.hits)
    return list(hits), result.conversations


def options(parser: argparse.ArgumentParser) -> None:
    """Add what every benchmark of retrieval can be told."""
    parser.add_argument("--json", action="store_true", help="print the figures alone, as JSON")
    parser.add_argument("--no-model", action="store_true", help="search by words alone")


def run(parts: Iterable[Conversations], chosen: argparse.Namespace) -> None:
    """Ask all the questions and print what came of it."""
    with secluded(model=not chosen.no_model) as folder:
        model = embedder(Path(os.environ["GITMEM_CACHE_DIR"]))
        if model is None and not chosen.no_model:
            print("no model here: 'gitmem model install' fetches it", file=sys.stderr)
        asked = Asked(folder, model)
        for part in parts:
            asked.ask(part)
    show(asked.answers, chosen.json)


def show(answers: Answers, as_json: bool) -> None:
    """Print the figures."""
    print(json.dumps(retrieval.report(answers), indent=2) if as_json else retrieval.table(answers))
