"""How well rounds of conversations are found: questions, measures, grades, tables."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

DEPTH = 200
"""How many rounds are asked for: as many as the grades tell apart, and more."""

GRADES = ("excellent", "acceptable", "marginal", "degraded", "failed")

RANKS = (3, 10, 20, 100)
"""The last rank of each grade but the last, of a question: that of its first evidence."""

BOUNDS = (0.83, 0.76, 0.67, 0.53)
"""The least R@10 of each grade but the last, of a set of questions.

On LoCoMo these are the aim, the aim without a model, BM25 over a turn and the one before it, and
BM25 over turns: what fails is worse than any full-text index."""


class Place(NamedTuple):
    """A round: the session it belongs to and its own id in there."""

    session: str
    round: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where its answer is said; `kind` is its category."""

    id: str
    text: str
    kind: str
    evidence: frozenset[Place]


Ranking = Sequence[Place]
Rankings = Mapping[str, Ranking]
"""By question id."""


@dataclass(slots=True)
class Answers:
    """What a benchmark found: our rankings, the baselines', and what they cost."""

    questions: list[Question] = field(default_factory=list)
    found: dict[str, Ranking] = field(default_factory=dict)
    sessions: dict[str, Sequence[str]] = field(default_factory=dict)
    baselines: dict[str, dict[str, Ranking] | None] = field(default_factory=dict)
    rounds: int = 0
    indexing: float = 0.0
    """Seconds to import and index."""
    asking: float = 0.0
    """Seconds all questions took together."""


class Scores(NamedTuple):
    """Fractions of 1, averaged over questions."""

    r5: float
    r10: float
    r20: float
    hit10: float
    mrr: float

    def named(self) -> dict[str, float]:
        """The scores by the names they are published under."""
        return dict(zip(NAMES, (round(score, 4) for score in self), strict=True))


NAMES = ("R@5", "R@10", "R@20", "Hit@10", "MRR")


def score(evidence: frozenset[str] | frozenset[Place], ranking: Sequence[str | Place]) -> Scores:
    """Score one ranking, in which nothing stands twice."""
    ranks = [rank for rank, it in enumerate(ranking, start=1) if it in evidence]

    def recall(depth: int) -> float:
        return sum(rank <= depth for rank in ranks) / len(evidence)

    hit = float(bool(ranks) and ranks[0] <= 10)
    return Scores(recall(5), recall(10), recall(20), hit, 1 / ranks[0] if ranks else 0.0)


def mean(scores: Iterable[Scores]) -> Scores:
    """Average over questions; zero where there are none."""
    rows = list(scores)
    return Scores(*map(fmean, zip(*rows, strict=True))) if rows else Scores(*[0.0] * len(NAMES))


def by_turn(questions: Iterable[Question], rankings: Rankings) -> Scores:
    """Score rounds."""
    return mean(score(one.evidence, rankings[one.id]) for one in questions)


def by_session(questions: Iterable[Question], sessions: Mapping[str, Sequence[str]]) -> Scores:
    """Score sessions, given as ranked by question id."""
    return mean(
        score(frozenset(place.session for place in one.evidence), sessions[one.id])
        for one in questions
    )


def grade(question: Question, ranking: Ranking) -> str:
    """Grade an answer by the rank of its first evidence."""
    first = next((n for n, place in enumerate(ranking, 1) if place in question.evidence), None)
    return GRADES[-1 if first is None else bisect_left(RANKS, first)]


def grade_of_set(recall: float) -> str:
    """Grade a set of questions by its R@10."""
    return next(
        (name for name, bound in zip(GRADES, BOUNDS, strict=False) if recall >= bound), GRADES[-1]
    )


def grades(answers: Answers) -> Mapping[str, int]:
    """Count the questions of each grade."""
    counts = Counter(grade(one, answers.found[one.id]) for one in answers.questions)
    return {name: counts[name] for name in GRADES}


def kinds(questions: Iterable[Question]) -> Mapping[str, Sequence[Question]]:
    """Return the questions by their kind, in order of its name."""
    found: dict[str, list[Question]] = {}
    for one in questions:
        found.setdefault(one.kind, []).append(one)
    return dict(sorted(found.items()))


def report(answers: Answers) -> dict[str, object]:
    """Return the published figures; a baseline that could not be computed is None."""
    asked = answers.questions
    return {
        "turn": by_turn(asked, answers.found).named(),
        "session": by_session(asked, answers.sessions).named(),
        "categories": {
            kind: by_turn(some, answers.found).named() for kind, some in kinds(asked).items()
        },
        "baselines": {
            name: None if rankings is None else by_turn(asked, rankings).named()
            for name, rankings in answers.baselines.items()
        },
    }


def table(answers: Answers) -> str:
    """Return the figures as a Markdown table, the grades and the cost below it."""
    asked = answers.questions
    rows = [("turn", len(asked), by_turn(asked, answers.found))]
    rows.append(("session", len(asked), by_session(asked, answers.sessions)))
    for kind, some in kinds(asked).items():
        rows.append((f"turn, {kind}", len(some), by_turn(some, answers.found)))
    for name, rankings in answers.baselines.items():
        if rankings is not None:
            rows.append((f"turn, by {name} alone", len(asked), by_turn(asked, rankings)))
    lines = [f"| | questions | {' | '.join(NAMES)} |", "|---|--:|" + "--:|" * len(NAMES)]
    for name, count, scores in rows:
        cells = " | ".join(f"{it:.3f}".removeprefix("0") for it in scores)
        lines.append(f"| {name} | {count:,} | {cells} |")
    return "\n".join([*lines, "", graded(answers), "", cost(answers)])


def graded(answers: Answers) -> str:
    """Say the grade of the set, and how many questions have each."""
    recall = by_turn(answers.questions, answers.found).r10
    counts = ", ".join(f"{count} {name}" for name, count in grades(answers).items())
    return f"grade: {grade_of_set(recall)} (R@10 {recall:.3f}); questions: {counts}"


def cost(answers: Answers) -> str:
    """Say what importing, indexing and asking took."""
    each = answers.asking / max(len(answers.questions), 1) * 1e3
    return (
        f"{answers.rounds:,} rounds imported and indexed in {answers.indexing:.1f} s; "
        f"{each:.1f} ms a question"
    )
