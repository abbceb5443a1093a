"""What is known of a session's turns without reading them: digests, kept beside the conversations.

A transcript grows by a turn and is read again from its start. To clean a turn (the search for
secrets, above all) costs ten times as much as to read it, so a turn that was taken in before is
told by a digest of it as the agent wrote it. Lost or damaged, the digests only cost that time.
"""

from __future__ import annotations

import os
from array import array
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Self

FORMAT = b"gitmem turns 1"
FOLDER = "turns"


def digest(text: str) -> int:
    """Return 64 bits that stand for a text."""
    raw = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw)


@dataclass(slots=True)
class Turns:
    """The turns of one session, by the digest of their ids.

    `written` are digests of the turns as their agent wrote them, `kept` of the texts that were
    kept: what nothing was kept of is in `written` alone.
    """

    written: dict[int, int] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the digests as bytes: ids, then what was written, then what was kept."""
        ids = list(self.kept | self.written)
        columns = (
            ids,
            [self.written.get(id, 0) for id in ids],
            [self.kept.get(id, 0) for id in ids],
        )
        return b"".join(array("Q", column).tobytes() for column in columns)

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Read what `encode` returned.

        Raises:
            ValueError: that is something else.
        """
        numbers = array("Q")
        numbers.frombytes(content)
        count, rest = divmod(len(numbers), 3)
        if rest:
            raise ValueError(content)
        ids, *tables = (numbers[start : start + count] for start in (0, count, 2 * count))
        pairs = (zip(ids, table, strict=True) for table in tables)
        return cls(*({id: value for id, value in table if value} for table in pairs))


class Known:
    """The digests of every session, a file each; they hold for one blob of rounds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def load(self, key: str, rounds: str) -> Turns | None:
        """Return the turns of a session as `rounds` (a blob) holds them; None if nobody knows."""
        try:
            content = self._file(key).read_bytes()
            head, _, body = content.partition(b"\n")
            return Turns.decode(body) if head == _head(rounds, body) else None
        except (OSError, ValueError):
            return None

    def save(self, key: str, rounds: str, turns: Turns) -> None:
        """Keep the turns of a session; it matters little if that fails."""
        file, body = self._file(key), turns.encode()
        beside = file.with_name(f"{file.name}.{os.getpid()}.new")
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            beside.write_bytes(_head(rounds, body) + b"\n" + body)
            beside.replace(file)

    def _file(self, key: str) -> Path:
        return self._folder / blake2b(key.encode(), digest_size=16).hexdigest()


def _head(rounds: str, body: bytes) -> bytes:
    # A bit that flipped in an id would have its turn taken in twice.
    check = blake2b(body, digest_size=16).hexdigest()
    return b"%s %s %s" % (FORMAT, rounds.encode(), check.encode())
