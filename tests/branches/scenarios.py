"""The table of what each branch sees: `cases/*.txt`, read; played by `play`, printed by `table`.

    python -m tests.branches.scenarios      write the table into docs/branches.md

A case is a heading, a sentence for people, and steps:

    ## A merge commit
    `f` is merged with a merge commit.
        fork f              git switch -c f
        commit c1           a line more in c1.txt; 'commit c1 x.txt': in x.txt
        change c1 x.txt 9   another line 9 in x.txt
        remember P
        > main misses P
        on main             git switch main
        git merge --no-ff --no-edit f
        > main sees P

A step begins with one of the words of `_WORDS`; a check, with ``>``: who, a verb of `_CHECKS`, and
letters. `HEAD` looks from where one stands, every other name from that branch without switching.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem import Gitmem, Memory
from tests.branches.world import World

CASES = Path(__file__).parent / "cases"
PAGE = Path(__file__).parents[2] / "docs" / "branches.md"

Step = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One situation: its name, what happens in a sentence, and steps, checks among them."""

    name: str
    story: str
    steps: tuple[Step, ...]

    def checks(self) -> Iterator[list[Step]]:
        """Yield the checks, those that stand together as one list."""
        group: list[Step] = []
        for step in (*self.steps, ()):
            if step[:1] == (">",):
                group.append(step[1:])
            elif group:
                yield group
                group = []


@dataclass(frozen=True, slots=True)
class Section:
    """Scenarios under one heading."""

    title: str
    about: str
    scenarios: tuple[Scenario, ...]


def sections() -> list[Section]:
    """Return every section, in the order of the files' names."""
    return [_section(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.txt"))]


def scenarios() -> list[Scenario]:
    """Return every scenario."""
    return [scenario for section in sections() for scenario in section.scenarios]


def _section(text: str) -> Section:
    head, *cases = text.split("\n## ")
    title, _, about = head.partition("\n")
    return Section(title.removeprefix("# "), about.strip(), tuple(map(_scenario, cases)))


def _scenario(text: str) -> Scenario:
    name, *lines = text.rstrip("\n").split("\n")
    story = " ".join(line for line in lines if not line.startswith(" "))
    steps = (tuple(shlex.split(line, comments=True)) for line in lines if line.startswith(" "))
    return Scenario(name, story.strip(), tuple(step for step in steps if step))


# -- playing ----------------------------------------------------------------------------------


def play(world: World, scenario: Scenario) -> None:
    """Take the steps of a scenario and hold its checks."""
    for step in scenario.steps:
        if step[0] == ">":
            check(world, step[1:])
        else:
            _WORDS[step[0]](world, *step[1:])


def check(world: World, words: Step, gm: Gitmem | None = None) -> None:
    """Hold one check, as seen through the world's own `Gitmem` or through `gm`."""
    who, verb, *letters = words
    _CHECKS[verb](world, None if who == "HEAD" else who, letters, gm)


def _fork(world: World, branch: str, *start: str) -> None:
    world.git("switch", "-q", "-c", branch, *start)


def _on(world: World, branch: str) -> None:
    world.git("switch", "-q", branch)


def _squash(world: World, branch: str) -> None:
    world.git("merge", "-q", "--squash", branch)
    world.git("commit", "-q", "-m", f"squash {branch}")


def _rebase(world: World, base: str, *todo: str) -> None:
    """Steps of an interactive rebase: ``pick:c1 fixup:c2``."""
    pairs = (command.partition(":") for command in todo)
    world.rebase(base, [(command, name) for command, _, name in pairs])


def _begin(world: World, name: str, *options: str) -> None:
    """An empty repository, with no commit."""
    (world.root / name).mkdir()
    world.go(name)
    world.git("init", "-q", *options)


def _host(world: World) -> None:
    """A bare repository that this one pushes to, as its origin."""
    bare = str(world.root / "origin.git")
    world.git("clone", "-q", "--bare", ".", bare)
    world.git("remote", "add", "origin", bare)
    world.git("fetch", "-q")
    world.git("branch", "-q", "-u", "origin/main", "main")


def _clone(world: World, name: str, *options: str) -> None:
    url = (world.root / "origin.git").as_uri()  # a path would ignore --depth and --filter
    world.git("clone", "-q", *options, url, str(world.root / name))
    world.go(name)


def _remember(world: World, letter: str, *options: str) -> None:
    given: dict[str, object] = {"private": True} if "private" in options else {}
    for option in options:
        key, _, value = option.partition("=")
        if value:
            given[key] = value
    world.remember(letter, **given)  # type: ignore[arg-type]


_WORDS: dict[str, Callable[..., object]] = {
    "git": World.git,
    "fork": _fork,
    "on": _on,
    "commit": World.commit,
    "change": World.change,
    "squash": _squash,
    "rebase": _rebase,
    "begin": _begin,
    "host": _host,
    "clone": _clone,
    "go": World.go,
    "share": World.share,
    "init": lambda world, *trunk: world.gm.init(trunk=trunk[0] if trunk else None),
    "remember": _remember,
    "revise": World.revise,
    "forget": World.forget,
    "tag": lambda world, letter, tag: world.gm.tag(world.ids[letter], tag),
    "adopt": lambda world, branch: world.gm.adopt(branch),
    "sync": lambda world: world.gm.sync_start(),
}


# -- checking ---------------------------------------------------------------------------------


def _found(world: World, who: str | None, gm: Gitmem | None = None) -> dict[str, Memory]:
    """Return what is seen; from the branch that one is on, looked at both ways."""
    found = world.seen(who, gm)
    if who is not None and who == world.git("branch", "--show-current"):
        assert world.seen(None, gm) == found, f"HEAD and '{who}' differ"
    return found


def _sees(world: World, who: str | None, letters: Sequence[str], gm: Gitmem | None = None) -> None:
    found = _found(world, who, gm)
    assert set(letters) <= set(found), f"{who or 'HEAD'} should see {letters}, sees {sorted(found)}"


def _misses(
    world: World, who: str | None, letters: Sequence[str], gm: Gitmem | None = None
) -> None:
    found = _found(world, who, gm)
    leaked = sorted(set(letters) & set(found))
    assert not leaked, f"{who or 'HEAD'} should not see {leaked}"


def _doubts(
    world: World, who: str | None, letters: Sequence[str], gm: Gitmem | None = None
) -> None:
    found = _found(world, who, gm)
    for letter in letters:
        assert letter in found and found[letter].contested, f"{letter} should be contested"


def _reads(world: World, who: str | None, words: Sequence[str], gm: Gitmem | None = None) -> None:
    letter, text = words
    found = _found(world, who, gm)
    assert letter in found and found[letter].body == text


def _waits(world: World, who: str | None, letters: Sequence[str], gm: Gitmem | None = None) -> None:
    waiting = {info.name: info.waiting for info in world.gm.branches()}
    assert waiting.get(who or "") == len(letters), waiting


def _is(world: World, who: str | None, words: Sequence[str], gm: Gitmem | None = None) -> None:
    assert words == ["orphaned"]
    orphaned = {info.name for info in world.gm.branches() if info.orphaned}
    assert who in orphaned, orphaned


_CHECKS: dict[str, Callable[..., None]] = {
    "sees": _sees,
    "misses": _misses,
    "doubts": _doubts,
    "reads": _reads,
    "waits": _waits,
    "is": _is,
}

# -- printing ---------------------------------------------------------------------------------


def page() -> str:
    """Return ``docs/branches.md`` with the table as it is now."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- table -->\n")
    return f"{head}<!-- table -->\n\n{table()}\n{rest[rest.index('<!-- end -->') :]}"


def table() -> str:
    """Return the sections as Markdown, for ``docs/branches.md``."""
    return "\n".join(_printed(section) for section in sections())


def _printed(section: Section) -> str:
    rows = [
        f"| {scenario.name} | {scenario.story} | {_outcome(scenario)} |"
        for scenario in section.scenarios
    ]
    about = f"{section.about}\n\n" if section.about else ""
    head = "| situation | what happens | what is seen |\n|---|---|---|"
    return "\n".join([f"### {section.title}\n\n{about}{head}", *rows, ""])


def _outcome(scenario: Scenario) -> str:
    groups = [", ".join(map(_said, group)) for group in scenario.checks()]
    return "; then ".join(dict.fromkeys(groups))


def _said(check: Step) -> str:
    who, verb, *words = check
    name = who if who == "HEAD" else f"`{who}`"
    listed = " ".join(words)
    match verb:
        case "misses":
            return f"{name} does not see {' or '.join(words)}"
        case "doubts":
            return f"{name} sees {listed} contested"
        case "reads":
            return f"{name} reads {words[0]} as “{words[1]}”"
        case "waits":
            return f"{listed} waits on {name}"
    return f"{name} {verb} {' and '.join(words) if verb == 'sees' else listed}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
