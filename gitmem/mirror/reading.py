"""What a file of the mirror asks for: the edits of its blocks, and whether they must wait."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from gitmem.mirror.contents import CONTEXT, Rendering, View, contents, read_file
from gitmem.mirror.document import Document, Region
from gitmem.mirror.edits import Add, Edit, Forget, Revise, Unattributed
from gitmem.mirror.escape import alike
from gitmem.mirror.files import Snapshot
from gitmem.mirror.parse import parse_block
from gitmem.mirror.reconcile import Base, Outcome, reconcile
from gitmem.mirror.render import parse_context
from gitmem.mirror.versions import Versions

COMMITTED = "was edited in a commit by somebody"


class Reading(NamedTuple):
    """A file as it was read; `held` says why its edits wait, '' if they do not."""

    snapshot: Snapshot
    document: Document
    outcome: Outcome
    held: str

    @property
    def moved(self) -> str:
        """The text that goes below the block."""
        return "\n\n".join(e.text for e in self.outcome.edits if isinstance(e, Unattributed))


class Reader:
    """Reads the edits of files, given their kept versions and what is seen now."""

    def __init__(self, versions: Versions, view: View) -> None:
        self._versions = versions
        self._view = view

    def read(self, path: str, snapshot: Snapshot, accept: bool) -> Reading:
        """Read one file; `accept` lets through what waits for a person's word."""
        document = read_file(path, snapshot.content)
        if document.problem or not document.edited:
            return Reading(snapshot, document, Outcome(()), document.problem)
        outcome = self._outcome(path, document)
        held = outcome.held or (COMMITTED if self._was_committed(path, outcome) else "")
        if held:
            held = "" if accept else f"{held}; 'gitmem sync --accept' applies it"
        return Reading(snapshot, document, outcome, held)

    def _outcome(self, path: str, document: Document) -> Outcome:
        """Reconcile every block of a file that was edited."""
        current = contents(path, self._view)
        whole = len(document.regions) == 1 and document.regions[0].closed
        edited = [region for region in document.regions if region.edited]
        outcomes = [self._region(path, region, current, whole) for region in edited]
        return Outcome(
            edits=tuple(edit for outcome in outcomes for edit in outcome.edits),
            held=next((outcome.held for outcome in outcomes if outcome.held), ""),
            arrived=frozenset(id for outcome in outcomes for id in outcome.arrived),
        )

    def _region(self, path: str, region: Region, current: Rendering, whole: bool) -> Outcome:
        version = self._versions.get(path, region.digest)
        if path == CONTEXT:
            base = Rendering(*version) if version else None
            return Outcome(tuple(self._context(region, base, current, whole)))
        return reconcile(
            parse_block(region.text),
            Base(parse_block(version[0]), version[1]) if version else None,
            parse_block(current.text),
            self._view,
            whole,
        )

    def _context(
        self, region: Region, base: Rendering | None, current: Rendering, whole: bool
    ) -> Sequence[Edit]:
        """Return what the working memory was changed to."""
        typed, now = parse_context(region.text), parse_context(current.text)
        if alike(typed, now) or (base and alike(typed, parse_context(base.text))):
            return ()
        memory = self._view.context()
        if memory is None:
            return [Add(typed, kind="context")] if typed.strip() else ()
        id, *seen = base.ids.get("context", [""]) if base else [""]
        heads = tuple(seen) if id == memory.id else ()
        if typed.strip():
            return [Revise(memory.id, text=typed, seen=heads)]
        return [Forget(memory.id, heads)] if whole and heads else ()

    def _was_committed(self, path: str, outcome: Outcome) -> bool:
        """Whether the blob at HEAD asks for some of it already: then it is not the user's alone."""
        content = self._view.committed(path) if outcome.edits else None
        document = read_file(path, content) if content else None
        if document is None or document.problem or not document.edited:
            return False
        theirs = self._outcome(path, document).edits
        return any(edit in theirs for edit in outcome.edits)


def agreed(found: Iterable[tuple[str, Edit]], arrived: Collection[str]) -> list[tuple[str, Edit]]:
    """Return the edits of all files together: each once, none that forgets what another keeps."""
    edits: dict[str, tuple[str, Edit]] = {}
    for path, edit in found:
        if not isinstance(edit, Unattributed):
            edits.setdefault(repr(edit), (path, edit))
    kept = {edit.id for _, edit in edits.values() if isinstance(edit, Revise)} | set(arrived)
    return [
        (path, edit) for path, edit in edits.values()
        if not (isinstance(edit, Forget) and edit.id in kept)
    ]  # fmt: skip
