"""The measures of retrieval, on cases small enough to do by hand, and how they are published."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import asking, baselines, locomo, retrieval
from benchmarks.retrieval import Answers, Place, Question

ROOT = Path(__file__).parents[2]

A1, A2, A3, B1, B2 = (Place(*pair) for pair in ("a1", "a2", "a3", "b1", "b2"))
PAD = [Place("z", str(number)) for number in range(200)]


def question(*evidence: Place, id: str = "q", kind: str = "1") -> Question:
    return Question(id, "who?", kind, frozenset(evidence))


@pytest.mark.parametrize(
    ("evidence", "ranking", "expected"),
    [
        ([A1], [A1, A2], (1, 1, 1, 1, 1)),
        ([A1], [A2, A3, A1], (1, 1, 1, 1, 1 / 3)),
        ([A1, B1], [A1, *PAD[:8], B1], (0.5, 1, 1, 1, 1)),
        ([A1, B1], [*PAD[:10], B1, A1], (0, 0, 1, 0, 1 / 11)),
        ([A1, A2, A3], [*PAD[:4], A3], (1 / 3, 1 / 3, 1 / 3, 1, 1 / 5)),
        ([A1], [*PAD[:20], A1], (0, 0, 0, 0, 1 / 21)),
        ([A1], [], (0, 0, 0, 0, 0)),
    ],
)
def test_scores(evidence: list[Place], ranking: list[Place], expected: Sequence[float]) -> None:
    assert retrieval.score(frozenset(evidence), ranking) == pytest.approx(expected)


def test_a_session_stands_where_it_is_ranked_whatever_its_rounds() -> None:
    ranking = [*PAD[:30], B2, A3, B1]
    assert retrieval.by_turn([question(B1)], {"q": ranking}).mrr == pytest.approx(1 / 33)
    sessions = {"q": [A1.session, B1.session]}
    assert retrieval.by_session([question(B1)], sessions).mrr == pytest.approx(1 / 2)


def test_scores_are_averaged_over_questions_not_over_evidence() -> None:
    asked = [question(A1, A2, A3, B1, id="many"), question(B2, id="one")]
    scores = retrieval.by_turn(asked, {"many": [], "one": [B2]})
    assert scores.r10 == 0.5
    assert retrieval.mean([]) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (1, "excellent"), (3, "excellent"), (4, "acceptable"), (10, "acceptable"),
        (11, "marginal"), (20, "marginal"), (21, "degraded"), (100, "degraded"), (101, "failed"),
    ],
)  # fmt: skip
def test_a_question_is_graded_by_the_rank_of_its_first_evidence(rank: int, expected: str) -> None:
    ranking = [*PAD[: rank - 1], A1, A2]
    assert retrieval.grade(question(A1, A2), ranking) == expected
    assert retrieval.grade(question(B1), ranking) == "failed"


def test_a_set_is_graded_by_its_recall() -> None:
    ladder = [1.0, *retrieval.BOUNDS, 0.0]
    grades = [retrieval.grade_of_set(recall) for recall in ladder]
    assert grades == [retrieval.GRADES[0], *retrieval.GRADES]


def test_rank_fusion_prefers_what_both_lists_have() -> None:
    assert baselines.rrf([[1, 2, 3], [3, 4]])[0] == 3
    assert baselines.rrf([[1, 2], []]) == [1, 2]


def test_bm25_finds_stems_and_nothing_else() -> None:
    texts = ["Ada: the locks are released", "Bob: an apple", "Ada: releasing a lock, a lock"]
    assert baselines.bm25(texts, ["when are locks released", "pears"]) == [[2, 0], []]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56Z"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09Z"),
        ("12:30 pm on 1 January, 2023", "2023-01-01T12:30Z"),
        ("some day", None),
        ("1:56 pm on 8 Smarch, 2023", None),
    ],
)
def test_the_time_of_a_session(said: str, expected: str | None) -> None:
    assert locomo.moment(said) == expected


def conversation(**qa: Any) -> dict[str, Any]:
    said = {"speaker": "Ada", "text": "We moved the index to SQLite"}
    return {
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"dia_id": "D1:1", **said}, {"dia_id": "D1:2", **said}],
            "session_10": [{"dia_id": "D10:1", "blip_caption": "a chart", **said}],
            "session_11_date_time": "nothing was said",
        },
        "qa": [{"question": "Where is the index?", "category": 1, "evidence": ["D1:1"], **qa}],
    }


@pytest.mark.parametrize(
    ("qa", "expected"),
    [
        ({}, {"D1:1"}),
        ({"evidence": ["D1:1; D10:1"]}, {"D1:1", "D10:1"}),
        ({"evidence": ["D:10:01", "D", "D1:9"]}, {"D10:1"}),
        ({"evidence": ["D1:9"]}, None),
        ({"evidence": []}, None),
        ({"category": 5}, None),
    ],
)
def test_evidence_is_what_resolves(qa: dict[str, Any], expected: set[str] | None) -> None:
    [part] = locomo.read([conversation(**qa)])
    found = [{place.round for place in one.evidence} for one in part.questions({})]
    assert found == ([] if expected is None else [expected])


def test_a_caption_is_part_of_what_was_said() -> None:
    [part] = locomo.read([conversation()])
    [said] = part.sessions["1-conversation-10"]
    assert said["text"].endswith("[image: a chart]")
    assert said["at"] is None
    assert part.sessions["1-conversation-1"][0]["at"] == "2023-05-08T13:56Z"


def test_pooled_conversations_keep_their_evidence_apart() -> None:
    pool = locomo.pooled(list(locomo.read([conversation(), conversation()])))
    first, second = (one.evidence for one in pool.questions({}))
    assert not first & second
    assert len(pool.sessions) == 4


class Words:
    """Stands for the library: finds by words in common, so that the rest can be looked at."""

    def __init__(self, rounds: Sequence[tuple[str, str, str]]) -> None:
        self._rounds = rounds

    def sessions(self) -> list[Any]:
        keys = dict.fromkeys(session for session, _, _ in self._rounds)
        return [SimpleNamespace(about=SimpleNamespace(agent="x", id=key)) for key in keys]

    def session(self, key: str) -> Any:
        turns = [
            SimpleNamespace(index=index, turn=SimpleNamespace(id=id, speaker="", text=text))
            for index, (session, id, text) in enumerate(self._rounds, start=1)
            if f"x/{session}" == key
        ]
        return SimpleNamespace(rounds=turns)

    def search(self, query: str, *, within: Sequence[str], limit: int) -> Any:
        assert tuple(within) == ("sessions",)
        words = set(query.split())
        scored = [
            (len(words & set(text.split())), f"x/{session}", index)
            for index, (session, _, text) in enumerate(self._rounds, start=1)
        ]
        hits = [
            SimpleNamespace(score=score, said=SimpleNamespace(session=session, index=index))
            for score, session, index in sorted(scored, reverse=True)
            if score
        ]
        sessions = list(dict.fromkeys(hit.said.session for hit in hits))
        return SimpleNamespace(hits=hits[:limit], conversations=sessions)


def answers() -> Answers:
    rounds = [("s", "1", "the lock is held"), ("s", "2", "an index of words"), ("t", "1", "lock")]
    questions = [
        Question("a", "which lock is held", "exact", frozenset([Place("x/s", "1")])),
        Question("b", "what else", "why", frozenset([Place("x/t", "1")])),
    ]
    asked = asking.Asked(Path(), None)
    asked.asked(Words(rounds), locomo.conversations({}, questions))
    return asked.answers


def test_the_published_shape() -> None:
    report = json.loads(json.dumps(retrieval.report(answers())))
    names = ["R@5", "R@10", "R@20", "Hit@10", "MRR"]
    assert list(report) == ["turn", "session", "categories", "baselines"]
    assert list(report["turn"]) == list(report["session"]) == names
    assert {kind: list(row) for kind, row in report["categories"].items()} == {
        "exact": names,
        "why": names,
    }
    assert list(report["baselines"]) == ["bm25", "minilm", "rrf"]
    assert list(report["baselines"]["bm25"]) == names
    assert report["baselines"]["minilm"] is report["baselines"]["rrf"] is None
    assert report["turn"] == {"R@5": 0.5, "R@10": 0.5, "R@20": 0.5, "Hit@10": 0.5, "MRR": 0.5}


def test_the_table_has_a_row_each_and_the_grades() -> None:
    table = retrieval.table(answers())
    assert "| turn, exact | 1 | 1.000 | 1.000 |" in table
    assert "| turn, by bm25 alone | 2 |" in table
    assert "minilm" not in table
    assert "1 excellent, 0 acceptable, 0 marginal, 0 degraded, 1 failed" in table


@pytest.mark.parametrize("text", ["{", "[1]", '{"qa": 1}', "[]"])
def test_another_file_is_refused_in_a_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(text)
    script = [sys.executable, str(ROOT / "benchmarks" / "locomo.py"), "--data", "file.json"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("'file.json'")
    assert done.stderr.count("\n") == 1
