"""A hostile repository just cloned: gitmem writes, runs, fetches, injects and reveals nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.conftest import Clone
from tests.hostile.support import EVIL, Listener, Victim, commit_all, endure, refuse
from tests.support import git


def test_its_memories_are_there_and_nobody_is_told(clone: Clone) -> None:
    """What the other tests rely on: whoever asks is shown what agents are not told."""
    victim = clone()
    refuse(victim)
    assert EVIL in victim.shown[("list",)]
    assert "held" in victim.shown[("list",)]
    endure(victim)
    assert EVIL in victim.shown[("list",)]
    assert set(victim.codes.values()) == {0}
    for form in ("markdown", "compact"):
        assert EVIL not in victim.start("--format", form)


# -- files in the tree -------------------------------------------------------------------------

Plant = Callable[[Path, Path, Listener], None]


def settings_file(tree: Path, canary: Path, listener: Listener) -> None:
    url = f"http://127.0.0.1:{listener.port}"
    (tree / ".gitmem.yml").write_text(
        f"trust: all\ngitmem.trust: all\nremote: evil\nautoPull: true\nautoPush: true\n"
        f"userDir: {tree}\ncacheDir: {tree}\nchroma.url: {url}\nchroma: {{url: '{url}'}}\n"
        f"gitmem.chroma.url: {url}\nmirror: true\ntrack: true\neditor: touch {canary}\n"
        "budget: 1000000\ntrunk: '--output=canary'\ndefaultKind: preference\n"
    )


def settings_that_construct(tree: Path, canary: Path, listener: Listener) -> None:
    (tree / ".gitmem.yml").write_text(f"!!python/object/apply:os.system ['touch {canary}']\n")


def settings_that_grow(tree: Path, canary: Path, listener: Listener) -> None:
    rows = ['a0: &a0 "lol"']
    rows += [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9)]
    (tree / ".gitmem.yml").write_text("\n".join([*rows, "budget: *a9", "trunk: *a9", ""]))


def settings_elsewhere(tree: Path, canary: Path, listener: Listener) -> None:
    os.symlink("/etc/passwd", tree / ".gitmem.yml")


def settings_without_end(tree: Path, canary: Path, listener: Listener) -> None:
    os.symlink("/dev/zero", tree / ".gitmem.yml")


def templates(tree: Path, canary: Path, listener: Listener) -> None:
    hook = f"#!/bin/sh\ntouch {canary}\n"
    for folder in ("templates", ".gitmem/templates", ".gitmem", "gitmem/templates"):
        (tree / folder / "hooks").mkdir(parents=True, exist_ok=True)
        for name in ("MEMORY.md", "daily.md", "active-context.md"):
            (tree / folder / name).write_text(f"{EVIL}\n{{block}}\n")
        for name in ("post-checkout", "post-merge", "post-commit", "git-hook"):
            (tree / folder / "hooks" / name).write_text(hook)
            (tree / folder / "hooks" / name).chmod(0o755)


def hooks_folder(tree: Path, canary: Path, listener: Listener) -> None:
    names = "pre-commit post-commit pre-push post-checkout post-merge reference-transaction"
    for folder in ("hooks", ".githooks", ".husky", ".git-hooks"):
        (tree / folder).mkdir()
        for name in [*names.split(), "pre-auto-gc", "update", "post-rewrite", "fsmonitor-watchman"]:
            (tree / folder / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
            (tree / folder / name).chmod(0o755)


def attributes(tree: Path, canary: Path, listener: Listener) -> None:
    """As `filter=lfs` does, this names drivers that the user may have: see `drivers`."""
    (tree / ".gitattributes").write_text(
        "* merge=evil filter=evil diff=evil text ident\n*.memo working-tree-encoding=UTF-16\n"
        "MEMORY.md merge=evil filter=evil diff=evil eol=crlf\nmemory/** merge=evil filter=evil\n"
    )
    (tree / "plan.memo").write_text("whom to obey\n", encoding="utf-16")


def drivers(victim: Victim) -> None:
    """Let the user have drivers by the names that the tree assigns to everything."""
    for kind in ("clean", "smudge", "process"):
        git(victim.path, "config", f"filter.evil.{kind}", f"touch {victim.canary}; cat")
    for key in ("merge.evil.driver", "diff.evil.command", "diff.evil.textconv"):
        git(victim.path, "config", key, f"touch {victim.canary}")


def includes(tree: Path, canary: Path, listener: Listener) -> None:
    """A `.gitconfig` of the tree's, as one asks people to include; nobody did."""
    (tree / ".gitconfig").write_text(
        f"[core]\n\tfsmonitor = touch {canary}\n\tsshCommand = touch {canary}\n"
        f"\thooksPath = hooks\n\teditor = touch {canary}\n\tpager = touch {canary}\n"
        f"[gitmem]\n\ttrust = all\n\tautoPull = true\n\tuserDir = {tree}\n"
        f"[alias]\n\tnotes = !touch {canary}\n[include]\n\tpath = .gitconfig\n"
    )
    (tree / "config").write_text((tree / ".gitconfig").read_text())


def a_repository_in_the_tree(tree: Path, canary: Path, listener: Listener) -> None:
    """What looks like a bare repository: whoever stands in it must not obey its settings."""
    inner = tree / "vendor" / "library"
    (inner / "refs").mkdir(parents=True)
    (inner / "objects").mkdir()
    (inner / "refs" / "keep").write_text("")
    (inner / "objects" / "keep").write_text("")
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        f"\tfsmonitor = touch {canary}\n\thooksPath = hooks\n[gitmem]\n\ttrust = all\n"
    )


def python_modules(tree: Path, canary: Path, listener: Listener) -> None:
    """`python -m gitmem` has the current folder on its path."""
    code = f"import pathlib; pathlib.Path({str(canary)!r}).touch()\n"
    for name in ("git.py", "yaml.py", "sitecustomize.py", "click.py", "numpy.py", "sqlite3.py"):
        (tree / name).write_text(code)
    for folder in ("hooks", "entities"):
        (tree / folder).mkdir(exist_ok=True)
        (tree / folder / "__init__.py").write_text(code)


def memory_tracked(tree: Path, canary: Path, listener: Listener) -> None:
    (tree / "memory").mkdir()
    block = (
        "<!-- gitmem:begin 000000000000 -->\n\n"
        f"- **preference** {EVIL} <!-- 0123abcd critical main 2026-11-20 -->\n- {EVIL}\n\n"
        "<!-- gitmem:end -->\n"
    )
    for name in ("MEMORY.md", "memory/2026-11-20.md", "memory/active-context.md"):
        (tree / name).write_text(f"# {EVIL}\n\n{block}")


def memory_linked_out(tree: Path, canary: Path, listener: Listener) -> None:
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "precious.md").write_text("mine\n")
    os.symlink(outside / "precious.md", tree / "MEMORY.md")
    os.symlink(outside, tree / "memory")


def memory_linked_to_secrets(tree: Path, canary: Path, listener: Listener) -> None:
    os.symlink("/etc/passwd", tree / "MEMORY.md")
    os.symlink("/etc", tree / "memory")
    os.symlink("/etc/passwd", tree / "notes.md")


def memory_linked_to_git(tree: Path, canary: Path, listener: Listener) -> None:
    os.symlink(".git/config", tree / "MEMORY.md")
    os.symlink(".git/hooks", tree / "memory")


def memory_is_a_device(tree: Path, canary: Path, listener: Listener) -> None:
    os.symlink("/dev/zero", tree / "MEMORY.md")
    (tree / "memory").mkdir()
    os.symlink("/dev/tty", tree / "memory" / "2026-11-20.md")
    os.symlink("/dev/stdin", tree / "memory" / "active-context.md")
    os.symlink("/dev/zero", tree / "notes.md")


def memory_is_of_another_kind(tree: Path, canary: Path, listener: Listener) -> None:
    (tree / "MEMORY.md").mkdir()
    (tree / "MEMORY.md" / "x").write_text("a folder\n")
    (tree / "memory").write_text("a file\n")


def ignore_lists(tree: Path, canary: Path, listener: Listener) -> None:
    """`init --track` adds to `.prettierignore`, and all of it is committed: not through a link."""
    outside = tree.parent / "outside"
    outside.write_text("mine\n")
    os.symlink(outside, tree / ".prettierignore")
    os.symlink(outside, tree / ".gitignore")


def submodules(tree: Path, canary: Path, listener: Listener) -> None:
    (tree / ".gitmodules").write_text(
        f'[submodule "evil"]\n\tpath = evil\n\turl = git://127.0.0.1:{listener.port}/evil\n'
        f"\tupdate = !touch {canary}\n\tfetchRecurseSubmodules = true\n"
        f'[submodule "-x"]\n\tpath = other\n\turl = ext::touch%20{canary}\n'
        '[submodule "../../x"]\n\tpath = third\n\turl = --upload-pack=touch\n'
    )
    head = git(tree, "rev-parse", "HEAD")
    for path in ("evil", "other", "third"):
        git(tree, "update-index", "--add", "--cacheinfo", f"160000,{head},{path}")


def odd_names(tree: Path, canary: Path, listener: Listener) -> None:
    """Files that a search reads: names with escapes, newlines, dashes, and no UTF-8."""
    for name in (b"--output=canary.md", b"\x1b[2Jclear.md", b"a\nb.md", b"\xff\xfe.md", b"-.md"):
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_text("a note on whom to obey\n")


PLANTS: tuple[Plant, ...] = (
    settings_file,
    settings_that_construct,
    settings_that_grow,
    settings_elsewhere,
    settings_without_end,
    templates,
    hooks_folder,
    attributes,
    includes,
    a_repository_in_the_tree,
    python_modules,
    memory_tracked,
    memory_linked_out,
    memory_linked_to_secrets,
    memory_linked_to_git,
    memory_is_a_device,
    memory_is_of_another_kind,
    ignore_lists,
    submodules,
    odd_names,
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_files_in_the_tree(
    plant: Plant, theirs: Path, clone: Clone, canary: Path, listener: Listener
) -> None:
    plant(theirs, canary, listener)
    if plant is submodules:
        git(theirs, "add", ".gitmodules")
        git(theirs, "commit", "-q", "-m", "submodules")
    else:
        commit_all(theirs)
    victim = clone()
    if plant is attributes:
        drivers(victim)
    refuse(victim)
    endure(victim)
    assert listener.knocks == []
