"""Hooks in an agent's settings, in the shape that agents took over from Claude Code::

{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …}]}]}}
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from gitmem.agents.install import jsontext
from gitmem.agents.install.parts import settings, unsure

Data = dict[str, Any]


def command(python: str, event: str, agent: str) -> str:
    """Return the command line of a hook, for a shell.

    ``-P``: an agent runs its hooks in the repository, whose files Python would import first.
    """
    return f"{shlex.quote(python)} -P -m gitmem hook {event} --agent {agent}"


@dataclass(frozen=True, slots=True)
class Hooks:
    """gitmem's hooks in a file of settings: one group with one hook for an event.

    `groups` has them by the agent's name of the event.
    """

    local: ClassVar[bool] = True
    path: Path
    agent: str
    groups: Mapping[str, Mapping[str, Any]]
    comments: bool = False

    def holds(self, text: str | None) -> bool:
        """Whether each event has the one hook that it should have, and no other event has one."""
        data = self._parse(text)
        events = sorted(event for event, _, _ in self._found(data))
        return events == sorted(self.groups) and all(self._there(data, event) for event in events)

    def put(self, text: str | None) -> str | None:
        """Add the hooks; those that are there are mended in place, or taken out."""
        before = after = text or ""
        for event, group in self.groups.items():
            after = self._one(after, event, group)
        for event in {event for event, _, _ in self._found(self._parse(after))} - set(self.groups):
            after = self._without(after, event)
        return self._checked(before, after, self.holds(after))

    def take(self, text: str | None) -> str | None:
        """Take the hooks out, and the groups, events and objects that held nothing else."""
        if text is None:
            return None
        after = text
        for event in dict.fromkeys(event for event, _, _ in self._found(self._parse(text))):
            after = self._without(after, event)
        return self._checked(text, after, not any(self._found(self._parse(after))))

    def _one(self, text: str, event: str, group: Mapping[str, Any]) -> str:
        """Return the text with the one hook of an event."""
        data = self._parse(text)
        if self._there(data, event):
            return text
        found = self._places(data, event)
        if len(found) == 1 and self._group(data, *found[0]).get("matcher") == group.get("matcher"):
            _, at, index = found[0]
            (hook,) = group["hooks"]
            return jsontext.replace(text, ("hooks", event, at, "hooks", index), hook)
        text = self._without(text, event)
        more = event in self._parse(text).get("hooks", {})
        return jsontext.insert(text, ("hooks", event), dict(group) if more else [dict(group)])

    def _there(self, data: Data, event: str) -> bool:
        """Whether an event has the one hook that it should have, for the right occasions."""
        wanted, found = self.groups[event], self._places(data, event)
        if len(found) != 1:
            return False
        group = self._group(data, *found[0])
        same = group.get("matcher") == wanted.get("matcher")
        return bool(same and group["hooks"][found[0][2]] == wanted["hooks"][0])

    def _group(self, data: Data, event: str, group: int, _: int) -> Data:
        found: Data = data["hooks"][event][group]
        return found

    def _places(self, data: Data, event: str) -> list[tuple[str, int, int]]:
        return [place for place in self._found(data) if place[0] == event]

    def _without(self, text: str, event: str) -> str:
        while places := self._places(self._parse(text), event):
            text = jsontext.delete(text, _whole(self._parse(text)["hooks"], *places[-1]))
        return text

    def _found(self, data: Data) -> Iterator[tuple[str, int, int]]:
        """Yield where hooks of gitmem's stand: the event, the group's index, the hook's in it."""
        for event, groups in data.get("hooks", {}).items():
            for group, content in enumerate(groups if isinstance(groups, list) else ()):
                hooks = content.get("hooks") if isinstance(content, dict) else None
                for index, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                    if self._ours(hook):
                        yield event, group, index

    def _ours(self, hook: object) -> bool:
        line = hook.get("command") if isinstance(hook, dict) else None
        ending = rf" -m gitmem hook [a-z-]+ --agent {self.agent}"
        return isinstance(line, str) and bool(re.search(rf"{ending}\Z", line))

    def _parse(self, text: str | None) -> Data:
        data = settings(text, self.comments)
        if not isinstance(hooks := data.get("hooks", {}), dict):
            raise ValueError("its 'hooks' is no object")
        for event in self.groups:
            if not isinstance(hooks.get(event, []), list):
                raise ValueError(f"its 'hooks.{event}' is no array")
        return data

    def _checked(self, before: str, after: str, done: bool) -> str:
        if not done or self._rest(before) != self._rest(after):
            raise unsure()
        return after

    def _rest(self, text: str) -> Data:
        """Return what is not gitmem's, without what is empty then."""
        data = self._parse(text)
        for event, group, index in reversed(list(self._found(data))):
            hooks = data["hooks"]
            *above, last = _whole(hooks, event, group, index)
            inner: Any = data
            for step in above:
                inner = inner[step]
            del inner[last]
        left = {event: groups for event, groups in data.get("hooks", {}).items() if groups != []}
        return {**data, "hooks": left}


def _whole(hooks: Data, event: str, group: int, index: int) -> tuple[str | int, ...]:
    """Return the path of a hook, or of what holds nothing but it."""
    if len(hooks[event][group]["hooks"]) > 1:
        return ("hooks", event, group, "hooks", index)
    if len(hooks[event]) > 1:
        return ("hooks", event, group)
    return ("hooks", event) if len(hooks) > 1 else ("hooks",)
