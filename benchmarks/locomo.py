"""How often the turn that answers a question is found, in conversations of LoCoMo's shape.

    python benchmarks/locomo.py --data FILE [--json] [--no-model] [--pooled]

LoCoMo (Maharana et al., 2024) is a list of long conversations between two people with questions
about them, in categories: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop. Category 5 asks
what was never said and is left out. Each conversation is a repository of its own; with --pooled
all share one. One session of LoCoMo is one session of gitmem, one turn one round.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.asking import Conversations, options, run
from benchmarks.retrieval import Place, Question

AGENT = "locomo"
CATEGORIES = (1, 2, 3, 4)

EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
"""What points to a turn; some are malformed, such as ``D:11:26`` or two in one string."""

SESSION = re.compile(r"session_(\d+)")

HELD = re.compile(r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) (\w+),? (\d{4})", re.IGNORECASE)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # strptime's are the locale's


def moment(text: str) -> str | None:
    """Return the time of ``1:56 pm on 8 May, 2023``; None where it is another form."""
    if not (match := HELD.fullmatch(text.strip())):
        return None
    hour, minute, half, day, month, year = match.groups()
    if (short := month[:3].lower()) not in MONTHS:
        return None
    clock = int(hour) % 12 + 12 * (half.lower() == "p")
    return f"{year}-{MONTHS.index(short) + 1:02}-{int(day):02}T{clock:02}:{minute}Z"


def turn(raw: Mapping[str, Any], at: str | None) -> dict[str, Any]:
    """Return a turn as the library takes it; a shared picture is what its caption says."""
    caption = f" [image: {raw['blip_caption']}]" if raw.get("blip_caption") else ""
    return {
        "role": "user",
        "text": raw["text"] + caption,
        "speaker": raw["speaker"],
        "at": at,
        "id": raw["dia_id"],
    }


def sessions(name: str, conversation: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the turns of each session, by an id that is its own in a pool too."""
    found = {}
    for number in sorted(int(m[1]) for key in conversation if (m := SESSION.fullmatch(key))):
        at = moment(conversation.get(f"session_{number}_date_time", ""))
        found[f"{name}-{number}"] = [turn(raw, at) for raw in conversation[f"session_{number}"]]
    return found


def questions(
    name: str, raw: Sequence[Mapping[str, Any]], held: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[Question]:
    """Yield the questions whose evidence is there."""
    places = {said["id"]: Place(f"{AGENT}/{id}", said["id"]) for id in held for said in held[id]}
    for number, one in enumerate(raw, start=1):
        pairs = EVIDENCE.findall(" ".join(one.get("evidence", ())))
        ids = {f"D{int(session)}:{int(round)}" for session, round in pairs}
        evidence = frozenset(places[id] for id in ids & places.keys())
        if evidence and one["category"] in CATEGORIES:
            yield Question(f"{name}-{number}", one["question"], str(one["category"]), evidence)


def read(data: Sequence[Mapping[str, Any]]) -> Iterator[Conversations]:
    """Yield the conversations of a file."""
    for number, sample in enumerate(data, start=1):
        name = f"{number}-{sample.get('sample_id', 'conversation')}"  # ids may stand twice
        held = sessions(name, sample["conversation"])
        yield conversations(held, list(questions(name, sample["qa"], held)))


def conversations(
    held: Mapping[str, Sequence[Mapping[str, Any]]], asked: Sequence[Question]
) -> Conversations:
    """Put sessions and questions together."""
    return Conversations(AGENT, held, lambda texts: asked)


def pooled(parts: Sequence[Conversations]) -> Conversations:
    """Put conversations together."""
    held = {id: turns for part in parts for id, turns in part.sessions.items()}
    return conversations(held, [one for part in parts for one in part.questions({})])


def main() -> int:
    """Print the figures as a table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's shape")
    parser.add_argument("--pooled", action="store_true", help="all conversations in one repository")
    options(parser)
    chosen = parser.parse_args()
    try:
        parts = list(read(json.loads(chosen.data.read_bytes())))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        # whatever else a JSON file may hold
        print(f"'{chosen.data}' is no file of LoCoMo's shape: {error!r}", file=sys.stderr)
        return 2
    if not any(part.questions({}) for part in parts):
        print(f"'{chosen.data}' has no questions with evidence", file=sys.stderr)
        return 2
    run([pooled(parts)] if chosen.pooled else parts, chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
