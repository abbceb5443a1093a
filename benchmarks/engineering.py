"""How often the text that answers an engineer's question is found.

    python benchmarks/engineering.py [--json] [--no-model] [--data DIR]

The text is this repository's own at one commit, cut into rounds: the messages of its history, an
hour a session; its pages, docstrings and comments, a file a session (`corpus.py`). With the
folder of transcripts under DIR (default: $GITMEM_SHARED_DATA, else ../shared/data) it is also what
people and coding agents said; questions about those are left out where the folder is missing.

The questions, in `questions/engineering.jsonl`, were written by hand, a line each: `id`,
`question`, `evidence`, `kind`, and a `digest` of the texts that the evidence points to, so that
none can point to something else unnoticed. Evidence is every place that answers the question:
`docs/format.md:54` a text that begins on that line, `log:2f074e7d8455` a commit's message,
`session:claude-code/ID#RECORD` a round of a transcript. --seal writes the digests anew.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.asking import Conversations, options, run
from benchmarks.corpus import Missing, Said, Source
from benchmarks.retrieval import Place, Question

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_name("questions") / "engineering.jsonl"
AGENT = "repository"
SESSION = "session:"


class Unsealed(Exception):
    """A question's evidence is not what it was when the question was written."""


@dataclass(frozen=True, slots=True)
class Written:
    """The questions as they were written: a commit, transcripts by agent, and a line each."""

    commit: str
    transcripts: Mapping[str, str]
    lines: Sequence[Mapping[str, Any]]


def written(file: Path = FILE) -> Written:
    """Read the questions."""
    head, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return Written(head["commit"], head["transcripts"], lines)


class Corpus:
    """What is asked about: the texts of the repository, and with them all that was imported."""

    def __init__(self, source: Source, only: Iterable[str] | None = None) -> None:
        """`only`: the sessions that are wanted; by default all."""
        self.sessions: Mapping[str, Sequence[Said]] = source.sessions(only)
        self.texts = {
            Place(f"{AGENT}/{id}", one.id): one.text
            for id, said in self.sessions.items()
            for one in said
        }
        self._places = {place.round: place for place in self.texts}

    def turns(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return the texts of the repository as the library takes them."""
        return {
            id: [{"text": one.text, "at": one.at, "id": one.id} for one in said]
            for id, said in self.sessions.items()
        }

    def evidence(self, line: Mapping[str, Any], texts: Mapping[Place, str]) -> list[Place]:
        """Return the places that a question's pointers name, `texts` being all there are.

        Raises:
            Unsealed: there is none, or nothing stands at one of them.
        """
        found = []
        if not line["evidence"]:
            raise Unsealed(f"{line['id']} points to nothing")
        for pointer in line["evidence"]:
            place = self._places.get(pointer) or _imported(pointer, texts)
            if place is None or place not in texts:
                raise Unsealed(f"{line['id']}: nothing stands at '{pointer}'")
            found.append(place)
        return found

    def digest(self, line: Mapping[str, Any], texts: Mapping[Place, str]) -> str:
        """Return what changes with any text of a question's evidence, whatever its space."""
        places = self.evidence(line, texts)
        said = [" ".join(self.texts.get(place, texts[place]).split()) for place in places]
        return blake2b("\0".join(said).encode(), digest_size=4).hexdigest()

    def questions(
        self, lines: Iterable[Mapping[str, Any]], texts: Mapping[Place, str]
    ) -> list[Question]:
        """Return the questions; raises Unsealed where evidence is not what it was."""
        found = []
        for line in lines:
            if line["digest"] != (now := self.digest(line, texts)):
                raise Unsealed(f"{line['id']}: the digest of its evidence is {now}")
            evidence = frozenset(self.evidence(line, texts))
            found.append(Question(line["id"], line["question"], line["kind"], evidence))
        return found


def _imported(pointer: str, texts: Iterable[Place]) -> Place | None:
    """Return the round of a transcript; aider's sessions are named by where their file is, too."""
    session, _, round = pointer.removeprefix(SESSION).partition("#")
    fits = [one for one in texts if one.round == round and one.session.startswith(session)]
    return fits[0] if len(fits) == 1 and pointer.startswith(SESSION) else None


def sealed(corpus: Corpus, texts: Mapping[Place, str], file: Path = FILE) -> None:
    """Write the digests of all questions anew."""
    head, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    kept = [line | {"digest": corpus.digest(line, texts)} for line in lines]
    rows = [json.dumps(one, ensure_ascii=False) + "\n" for one in (head, *kept)]
    file.write_text("".join(rows), encoding="utf-8")


def conversations(root: Path, data: Path, sealing: bool = False) -> Conversations:
    """Return all that is asked about; raises Missing where the history is not here."""
    asked = written()
    corpus = Corpus(Source(root, asked.commit))
    lines = asked.lines
    transcripts = {agent: data / "transcripts" / at for agent, at in asked.transcripts.items()}
    if not (data / "transcripts").is_dir():
        lines = [one for one in lines if not any(map(_of_transcript, one["evidence"]))]
        left = len(asked.lines) - len(lines)
        print(
            f"no transcripts under '{data}' (see --data): {left} questions left out",
            file=sys.stderr,
        )
        transcripts = {}

    def questions(texts: Mapping[Place, str]) -> Sequence[Question]:
        if sealing:
            sealed(corpus, texts)
        return corpus.questions(written().lines if sealing else lines, texts)

    return Conversations(AGENT, corpus.turns(), questions, transcripts)


def _of_transcript(pointer: str) -> bool:
    return pointer.startswith(SESSION)


def main() -> int:
    """Print the figures as a table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("GITMEM_SHARED_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default), help="has transcripts/")
    parser.add_argument("--seal", action="store_true", help="write the digests anew")
    options(parser)
    chosen = parser.parse_args()
    try:
        run([conversations(ROOT, chosen.data.resolve(), chosen.seal)], chosen)
    except (Missing, Unsealed) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
