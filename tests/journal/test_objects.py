"""Object bytes: whatever is encoded decodes to itself, and git agrees on every id."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.git.objects import (
    changes,
    decode_commit,
    decode_tree,
    encode,
    encode_commit,
    encode_tree,
    files,
    object_id,
    pack,
)
from gitmem.journal.git.port import TreeEntry
from tests.support import git

names = st.binary(min_size=1, max_size=12).filter(
    lambda name: not set(name) & {0, 47} and name not in (b".", b"..", b".git")
)
oids = st.binary(min_size=20, max_size=20).map(bytes.hex)
modes = st.sampled_from([0o100644, 0o100755, 0o120000, 0o040000, 0o160000])
trees = st.dictionaries(names, st.tuples(modes, oids), max_size=12).map(
    lambda rows: [
        TreeEntry(name.decode("utf-8", "surrogateescape"), mode, oid)
        for name, (mode, oid) in rows.items()
    ]
)
words = st.text(st.characters(exclude_characters="<>\n\0", exclude_categories=["Cs"]), max_size=20)
messages = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)


@given(trees)
def test_a_tree_decodes_to_its_entries_whatever_their_order(entries: list[TreeEntry]) -> None:
    data = encode_tree(entries)
    assert data == encode_tree(reversed(entries))
    assert sorted(decode_tree(data, 20), key=repr) == sorted(entries, key=repr)


@settings(max_examples=20)
@given(entries=trees)
def test_git_makes_the_same_tree(repo: Path, entries: list[TreeEntry]) -> None:
    kinds = {0o040000: "tree", 0o160000: "commit"}
    rows = b"".join(
        encode(f"{e.mode:06o} {kinds.get(e.mode, 'blob')} {e.oid}\t{e.name}\0") for e in entries
    )
    made = subprocess.run(
        ["git", "mktree", "-z", "--missing"], input=rows, capture_output=True, check=True, cwd=repo
    )
    assert made.stdout.decode().strip() == object_id("tree", encode_tree(entries), "sha1")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_git_unpacks_what_was_packed(tmp_path: Path, algorithm: str) -> None:
    git(tmp_path, "init", "-q", "--bare", f"--object-format={algorithm}", ".")
    # Around each size whose pack header grows by a byte.
    sizes = [
        edge + step for edge in (0, 16, 2048, 262_144) for step in (-1, 0, 1) if edge + step >= 0
    ]
    blobs = [("blob", bytes(size)) for size in sizes]
    subprocess.run(
        ["git", "unpack-objects", "-q"], input=pack(blobs, algorithm), check=True, cwd=tmp_path
    )
    for kind, data in blobs:
        oid = object_id(kind, data, algorithm)
        assert git(tmp_path, "cat-file", "-s", oid) == str(len(data))
    assert git(tmp_path, "fsck", "--no-dangling") == ""


paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
contents = st.dictionaries(paths, st.sampled_from(["1" * 40, "2" * 40]), max_size=8).map(
    # A file cannot also be the folder of another.
    lambda found: {p: c for p, c in found.items() if not any(q.startswith(p + "/") for q in found)}
)


def store(content: dict[str, str], trees: dict[str, list[TreeEntry]]) -> str:
    """Put a tree of blobs, given by path, into `trees` and return its id."""
    below: dict[str, dict[str, str]] = {}
    entries = []
    for path, oid in content.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = oid
        else:
            entries.append(TreeEntry(name, 0o100644, oid))
    entries += [TreeEntry(name, 0o040000, store(inner, trees)) for name, inner in below.items()]
    oid = object_id("tree", encode_tree(entries), "sha1")
    trees[oid] = entries
    return oid


@given(contents, contents)
def test_the_changes_between_two_trees_turn_one_into_the_other(
    old: dict[str, str], new: dict[str, str]
) -> None:
    trees: dict[str, list[TreeEntry]] = {}
    before, after = store(old, trees), store(new, trees)

    def read(oids: Sequence[str]) -> Iterator[list[TreeEntry]]:
        return (trees[oid] for oid in oids)

    found = changes(read, before, after)
    assert dict(files(read, before)) == old
    assert [change.path for change in found] == sorted(
        path for path in old.keys() | new.keys() if old.get(path) != new.get(path)
    )
    assert all((c.old, c.new) == (old.get(c.path), new.get(c.path)) for c in found)


@given(oids, st.lists(oids, max_size=3), words, words, st.integers(0, 2**40), messages)
def test_a_commit_decodes_to_its_parts(
    tree: str, parents: list[str], name: str, email: str, time: int, message: str
) -> None:
    author = f"{name}x <{email}>"
    read = decode_commit("id", encode_commit(tree, parents, author, time, message))
    assert (read.tree, read.parents) == (tree, tuple(parents))
    assert (read.author, read.time, read.message) == (author, time, message.rstrip("\n"))


def test_a_signed_commit_and_a_broken_one_are_read() -> None:
    signed = b"tree a\nauthor A <a> 1 +0000\ncommitter B <b> 2 +0000\ngpgsig x\n author y\n\nm\n"
    read = decode_commit("id", signed)
    assert (read.author, read.time, read.message) == ("A <a>", 2, "m")
    broken = decode_commit("id", b"tree a\ncommitter nobody\n")
    assert (broken.tree, broken.time, broken.message) == ("a", 0, "")
