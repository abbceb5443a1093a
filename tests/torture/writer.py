"""One writer, in a process of its own: ``python -m tests.torture.writer FOLDER < deeds``.

It does one deed after the other and writes a line about each: a deed is told of as done only after
gitmem has returned. Every other writer keeps the clones open, as a server does; the rest open one
for each deed, as commands do. What is to be killed is done by a process that it starts.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gitmem
from gitmem import Gitmem, GitmemError
from gitmem.errors import NotFound, UsageError
from tests.torture.deeds import Idle, StockFailed, do, unlock
from tests.torture.plan import Deed


class Writer:
    """Whoever does the deeds of one writer, in a folder of clones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[int, Gitmem] = {}
        self._skew = 0.0

    def tell(self, deed: Deed) -> dict[str, object]:
        """Do a deed, and say how it went."""
        self._skew = deed.skew
        try:
            if deed.kill is not None:
                return self._killed(deed)
            with self._clone(deed) as gm:
                return {"how": "done", "memories": list(do(deed, gm, self._path(deed)))}
        except Idle:
            return {"how": "idle"}
        except StockFailed as error:
            unlock(self._path(deed))
            return {"how": "stock", "said": str(error)}
        except (NotFound, UsageError) as error:  # another has forgotten it meanwhile
            return {"how": "refused", "said": error.message}
        except GitmemError as error:
            unlock(self._path(deed))
            return {"how": "failed", "said": f"{error.message} ({error.hint})"}
        except Exception:  # the fault that is looked for
            return {"how": "crashed", "said": traceback.format_exc()}

    @contextmanager
    def _clone(self, deed: Deed) -> Iterator[Gitmem]:
        lives_on = deed.writer % 2 == 1
        gm = self._open.get(deed.clone) or gitmem.open(
            self._path(deed), backend="libgit2" if lives_on else "program", now=self._now
        )
        if lives_on:
            self._open[deed.clone] = gm
            yield gm
        else:
            with gm:
                yield gm

    def _now(self) -> datetime:
        return datetime.now(UTC) + timedelta(days=self._skew)

    def _path(self, deed: Deed) -> Path:
        return self._folder / f"clone{deed.clone}"

    def _killed(self, deed: Deed) -> dict[str, object]:
        """Let another do it, and kill it, unless it was quicker."""
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.writer", str(self._folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert child.stdin and child.stdout and deed.kill is not None
        child.stdin.write(json.dumps([deed._replace(kill=None)]))
        child.stdin.close()
        time.sleep(deed.kill)
        try:
            (os.kill if deed.alone else os.killpg)(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        said = child.stdout.readline()
        child.wait()
        child.stdout.close()
        return json.loads(said)[1] if said.endswith("\n") else {"how": "killed"}


def main() -> None:
    """Do the deeds that stand on standard input."""
    writer = Writer(Path(sys.argv[1]))
    for fields in json.load(sys.stdin):
        deed = Deed(*fields)
        random.seed(deed.seed)  # gitmem's own pauses
        print(json.dumps([deed.number, writer.tell(deed)]), flush=True)


if __name__ == "__main__":
    main()
