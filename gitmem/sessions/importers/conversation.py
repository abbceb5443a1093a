"""A session while the records of its transcript pass: what waits for an answer, or for the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from gitmem.sessions.importers.parts import derived, title
from gitmem.sessions.model import About, Record, Role, Turn

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


@dataclass
class Calls:
    """The calls of one session that wait for their answers; nothing else is held."""

    waiting: dict[str, tuple[Turn, int]] = field(default_factory=dict)
    spoken: int = 0
    response: str = ""

    def open(self, id: str, line: str, at: str = "") -> None:
        """Hold a call until it is answered."""
        if id:
            self.waiting[id] = (Turn(id, "tool", line, at), self.spoken)

    def answer(self, id: str, output: str, at: str = "") -> Iterator[Turn]:
        """Yield a call with its output; nothing if no such call is open."""
        if id in self.waiting:
            call, _ = self.waiting.pop(id)
            output = _REMINDER.sub("", output).strip("\r\n")
            spoken = f"{call.text}\n{output}" if output.strip() else call.text
            yield Turn(call.id, "tool", spoken, at or call.at)

    def went_on(self, response: str = "") -> None:
        """Note that the agent spoke: it does not wait for the calls that are open now.

        Unless they are of the same response, where its parts come with the name of it.
        """
        if not response or response != self.response:
            self.spoken += 1
        self.response = response

    def unanswered(self) -> Iterator[Turn]:
        """Yield the calls that never were answered, at the end of a transcript.

        Not one after which the agent said nothing: it may be running at this moment.
        """
        yield from (call for call, spoken in self.waiting.values() if spoken < self.spoken)


@dataclass
class Conversation:
    """One session: says who speaks before what is said, and at the end what it was called."""

    about: About
    calls: Calls = field(default_factory=Calls)
    name: str = ""
    prompt: str = ""
    messages: int = 0
    told: bool = False
    current: bool = False

    def say(self, id: str, role: Role, spoken: str, at: str = "") -> Iterator[Turn]:
        """Yield a turn under the agent's id, or a derived one; none where nothing is said."""
        spoken = spoken.strip()
        if role == "user":
            self.prompt = self.prompt or title(spoken)
        if spoken:
            self.messages += 1
            yield Turn(id or derived(self.messages, role, spoken), role, spoken, at)

    def learn(self, **said: str) -> None:
        """Add to `about` what it does not say yet."""
        fields = {name: text for name, text in said.items() if not getattr(self.about, name)}
        self.about = replace(self.about, **fields)

    def tell(self, turns: Iterable[Turn]) -> Iterator[Record]:
        """Yield turns, and before the first of them whose they are."""
        for found in turns:
            if not self.current:
                self.current = self.told = True
                yield self.about
            yield found

    def end(self) -> Iterator[Record]:
        """Yield what only the end of a transcript tells: the title, calls without an answer."""
        if self.told:
            yield replace(self.about, title=title(self.name) or self.prompt)
            yield from self.calls.unanswered()

    def saved(self) -> dict[str, Any]:
        """Return all that this holds as a JSON object."""
        return asdict(self)

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Self:
        """Return what was `saved`; whose the next turn is will be said again."""
        calls = saved["calls"]
        waiting = {id: (Turn(**turn), at) for id, (turn, at) in calls["waiting"].items()}
        parts = {
            "about": About(**saved["about"]),
            "calls": Calls(waiting, calls["spoken"], calls["response"]),
            "current": False,
        }
        return cls(**{**saved, **parts})
