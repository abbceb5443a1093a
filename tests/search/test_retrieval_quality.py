"""The quality of search does not sink: a small part of the benchmark of engineering questions.

`benchmarks/engineering.py` asks all of them. The bounds lie five to ten points below what
was measured: they are for changes that break a part of the ranking, not for its last digit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import retrieval
from benchmarks.asking import Asked, Conversations
from benchmarks.corpus import Missing, Source
from benchmarks.engineering import AGENT, ROOT, Corpus, Unsealed, written
from benchmarks.retrieval import Answers
from gitmem.search.semantic.pins import cache_folder, model_folder

MODELS = cache_folder(os.environ.get("GITMEM_CACHE_DIR", ""))  # before a test has its own home

PAGES = ("docs/format.md", "docs/reliability.md", "docs/branches.md")
BY_WORDS = ("identifier", "typo", "why")
WRITTEN = written()


@pytest.fixture(scope="module")
def source() -> Source:
    try:
        return Source(ROOT, WRITTEN.commit)
    except Missing as missing:
        pytest.skip(str(missing))


def asked(source: Source, folder: Path) -> Answers:
    """Ask what is answered in a few pages alone, of all kinds but Chinese."""
    corpus = Corpus(source, PAGES)
    own = {place.round for place in corpus.texts}
    lines = [
        line for line in WRITTEN.lines if set(line["evidence"]) <= own and line["kind"] != "chinese"
    ]
    benchmark = Asked(folder, None)
    benchmark.ask(
        Conversations(AGENT, corpus.turns(), lambda texts: corpus.questions(lines, texts))
    )
    return benchmark.answers


def recall(answers: Answers, kinds: Sequence[str], by: str = "") -> float:
    """Return R@10 of some kinds of questions: ours, or a baseline's."""
    questions = [one for one in answers.questions if one.kind in kinds]
    assert len(questions) >= 10
    rankings = answers.baselines[by] if by else answers.found
    assert rankings is not None
    return retrieval.by_turn(questions, rankings).r10


def test_by_words_alone(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITMEM_CACHE_DIR", str(tmp_path / "no-model"))
    answers = asked(source, tmp_path)
    assert recall(answers, BY_WORDS) >= 0.76, retrieval.table(answers)
    assert recall(answers, BY_WORDS) >= recall(answers, BY_WORDS, "bm25") - 0.06


def test_with_the_model(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not model_folder(MODELS).is_dir():
        pytest.skip("the model is not installed: gitmem model install")
    monkeypatch.setenv("GITMEM_CACHE_DIR", str(MODELS))
    answers = asked(source, tmp_path)
    assert recall(answers, BY_WORDS) >= 0.80, retrieval.table(answers)
    assert recall(answers, ("paraphrase",)) >= 0.35, retrieval.table(answers)


def test_every_question_points_to_the_text_it_was_written_for(source: Source) -> None:
    corpus = Corpus(source)
    own = {place.round for place in corpus.texts}
    lines = [line for line in WRITTEN.lines if set(line["evidence"]) <= own]
    assert len(lines) >= 200
    assert len(corpus.questions(lines, corpus.texts)) == len(lines)


def test_questions_are_told_apart() -> None:
    for key in ("id", "question"):
        assert len({line[key] for line in WRITTEN.lines}) == len(WRITTEN.lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"evidence": ["docs/format.md:2"]}, "nothing stands at 'docs/format.md:2'"),
        ({"evidence": ["session:codex/1#2"]}, "nothing stands at 'session:codex/1#2'"),
        ({"evidence": []}, "points to nothing"),
        ({"digest": "00000000"}, "the digest of its evidence is"),
    ],
)
def test_a_question_whose_evidence_has_gone_is_an_error(
    source: Source, change: Mapping[str, Any], said: str
) -> None:
    corpus = Corpus(source, PAGES)
    [line] = [one for one in WRITTEN.lines if one["evidence"] == ["docs/format.md:73"]]
    assert corpus.questions([line], corpus.texts)
    with pytest.raises(Unsealed, match=said):
        corpus.questions([{**line, **change}], corpus.texts)


@pytest.mark.parametrize("commit", ["0" * 40, "HEAD~100000"])
def test_a_commit_that_is_not_here_is_said(source: Source, commit: str) -> None:
    with pytest.raises(Missing, match="is not here"):
        Source(ROOT, commit)


def test_a_downloaded_copy_without_history_is_said(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="is no clone"):
        Source(tmp_path, WRITTEN.commit)
