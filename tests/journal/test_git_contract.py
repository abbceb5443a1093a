"""The contract of the port, on both backends and on every kind of repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.errors import GitFailed, RefMoved
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Git, Head, RefUpdate, TreeChange, TreeEntry
from tests.journal.conftest import ADA, KEPT, REF, commit_file, land, place
from tests.support import git

EVERY_BYTE = bytes(range(256)) + b"\n missing\n\0" * 3


def gone(port: Git) -> str:
    """Return an id that no object has."""
    return "deadbeef" * (port.layout.hex_length // 8)


@pytest.mark.parametrize("content", [b"", b"line\n", EVERY_BYTE])
def test_a_blob_comes_back_as_written_and_git_reads_it(port: Git, content: bytes) -> None:
    oid = port.write_blob(content)
    assert port.blob(oid) == content
    tree = port.write_tree([TreeEntry("note", 0o100644, oid)])
    land(port, port.write_commit(tree, (), ADA, 1, "m"))
    assert port.blob(oid) == content
    read = subprocess.run(
        ["git", "cat-file", "blob", oid], cwd=place(port), capture_output=True, check=True
    )
    assert read.stdout == content


def test_a_blob_of_five_megabytes(plain: Git, repo: Path) -> None:
    content = EVERY_BYTE * 18_000
    oid = plain.write_blob(content)
    tree = plain.write_tree([TreeEntry("note", 0o100644, oid)])
    land(plain, plain.write_commit(tree, (), ADA, 1, "m"))
    assert plain.blob(oid) == content
    assert git(repo, "cat-file", "-s", oid) == str(len(content))


def test_blobs_come_in_the_order_asked_for_again_and_again(port: Git) -> None:
    oids = [port.write_blob(b"%d\n" % number) for number in range(100)]
    wanted = [*reversed(oids), oids[0], oids[0]]
    assert [oid for oid, _ in port.blobs(wanted)] == wanted
    assert dict(port.blobs(oids))[oids[42]] == b"42\n"
    assert list(port.blobs([])) == []


def test_leaving_off_in_the_middle_of_a_bulk_read_disturbs_no_later_one(port: Git) -> None:
    oids = [port.write_blob(b"%d\n" % number) for number in range(50)]
    assert next(iter(port.blobs(oids))) == (oids[0], b"0\n")
    assert port.blob(oids[49]) == b"49\n"


def test_a_tree_is_sorted_as_git_sorts_it_and_keeps_every_name(port: Git) -> None:
    blob = port.write_blob(b"x")
    inner = port.write_tree([TreeEntry("leaf", 0o100644, blob)])
    names = ["a.b", "a0", "日本", "é", "caf\udce9", "with space", 'q"uote', "tab\there", "\u2028"]
    entries = [TreeEntry(name, 0o100644, blob) for name in names]
    entries += [TreeEntry("a", 0o040000, inner), TreeEntry("run", 0o100755, blob)]
    tree = port.write_tree(reversed(entries))
    assert sorted(port.tree(tree), key=repr) == sorted(entries, key=repr)
    assert [entry.name for entry in port.tree(tree)][:3] == ["a.b", "a", "a0"]
    land(port, port.write_commit(tree, (), ADA, 1, "m"))
    assert git(place(port), "fsck", "--strict", "--no-dangling") == ""
    assert port.write_tree([]) == git(place(port), "mktree", input="")


@pytest.mark.parametrize("name", ["", "a/b", "nul\0", ".", "..", ".git"])
def test_a_name_no_tree_can_hold_is_refused(plain: Git, name: str) -> None:
    with pytest.raises(ValueError, match="tree entry"):
        plain.write_tree([TreeEntry(name, 0o100644, plain.write_blob(b""))])


def test_a_name_twice_in_one_tree_is_refused(plain: Git) -> None:
    entry = TreeEntry("twice", 0o100644, plain.write_blob(b""))
    with pytest.raises(ValueError, match="twice"):
        plain.write_tree([entry, entry])


def test_a_commit_is_exact_and_never_signed(port: Git) -> None:
    git(place(port), "config", "commit.gpgSign", "true")
    author = "Zoë Ł. Jr. <zoë@example.org>"
    message = "remember: naïve 日本\n\nbody  \n\n  indented"
    first = commit_file(port)
    tree = port.commit(first).tree
    oid = land(port, port.write_commit(tree, [first], author, 1_234_567_890, message))
    read = port.commit(oid)
    assert (read.oid, read.tree, read.parents) == (oid, tree, (first,))
    assert (read.author, read.time, read.message) == (author, 1_234_567_890, message)
    shown = git(
        place(port), "log", "-1", "--format=%an <%ae>|%cn <%ce>|%ad|%cd|%G?", "--date=raw", oid
    )
    assert shown == f"{author}|{author}|1234567890 +0000|1234567890 +0000|N"
    assert git(place(port), "log", "-1", "--format=%B", oid) == message
    assert git(place(port), "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("author", ["Ada", "Ada <a\n@b>", "A <b> <c>", "<a@b>", "Ada <a> x"])
def test_an_author_that_would_corrupt_a_commit_is_refused(plain: Git, author: str) -> None:
    with pytest.raises(ValueError, match="Name <email>"):
        plain.write_commit(plain.write_tree([]), (), author, 1, "m")


def test_a_commit_in_another_charset_is_read(repo: Path, plain: Git) -> None:
    latin = ("-c", "i18n.commitEncoding=ISO-8859-1")
    raw = subprocess.run(
        ["git", *latin, "commit", "-q", "--allow-empty", "-F", "-"],
        cwd=repo,
        input="café".encode("latin-1"),
        check=True,
    )
    assert raw.returncode == 0
    assert plain.commit(git(repo, "rev-parse", "HEAD")).message == "café"


def test_what_is_missing_is_a_key_error(port: Git) -> None:
    head = port.head().commit
    assert head
    for oid in (gone(port), head[:12], "HEAD", "", "a\nb"):
        assert not port.has(oid)
        for read in (port.blob, port.tree, port.commit):
            with pytest.raises(KeyError) as missing:
                read(oid)
            assert missing.value.args == (oid,)
    with pytest.raises(KeyError):
        list(port.blobs([port.write_blob(b"here"), gone(port)]))
    with pytest.raises(KeyError):
        list(port.walk(gone(port)))
    with pytest.raises(KeyError):
        list(port.walk(head, hide=gone(port)))
    assert port.has(head)
    assert port.commit(head).message == "first"


def test_an_object_of_another_kind_is_an_error(port: Git) -> None:
    head = port.head().commit
    assert head
    for read in (port.blob, port.tree):
        with pytest.raises(GitFailed, match=r"is a commit, not a (blob|tree)"):
            read(head)


def test_the_empty_tree_is_there_without_having_been_written(port: Git) -> None:
    empty = git(place(port), "hash-object", "-t", "tree", "/dev/null")
    assert port.has(empty)
    assert port.tree(empty) == []


def test_a_ref_is_made_moved_and_deleted(port: Git) -> None:
    first, second = commit_file(port), commit_file(port, b"y")
    assert port.ref(REF) is None
    port.update_refs([RefUpdate(REF, first, None)], "one\nline\0more")
    assert port.ref(REF) == git(place(port), "rev-parse", REF) == first
    port.update_refs([RefUpdate(REF, second, first)], "")
    assert port.ref(REF) == second
    port.delete_ref(REF)
    port.delete_ref(REF)
    assert port.ref(REF) is None


def test_the_message_of_a_move_is_in_the_reflog(plain: Git, repo: Path) -> None:
    land(plain, commit_file(plain))
    plain.update_refs([RefUpdate(REF, commit_file(plain, b"y"), plain.ref(REF))], "gitmem: why")
    assert git(repo, "reflog", "show", "--format=%gs", REF).split("\n")[0] == "gitmem: why"


def test_a_ref_that_does_not_stand_where_it_was_read_is_not_moved(port: Git) -> None:
    first, second, third = (commit_file(port, content) for content in (b"1", b"2", b"3"))
    land(port, first)
    with pytest.raises(RefMoved):
        port.update_refs([RefUpdate(REF, third, second)], "m")
    with pytest.raises(RefMoved):
        port.update_refs([RefUpdate(REF, third, None)], "m")
    with pytest.raises(RefMoved):
        port.update_refs([RefUpdate(KEPT, third, first)], "m")
    assert (port.ref(REF), port.ref(KEPT)) == (first, None)


def test_a_ref_that_stands_for_a_branch_moves_no_branch(port: Git) -> None:
    first, second = commit_file(port, b"1"), commit_file(port, b"2")
    port.update_refs([RefUpdate("refs/heads/users", first, None)], "m")
    git(place(port), "symbolic-ref", REF, "refs/heads/users")
    port.update_refs([RefUpdate(REF, second, first)], "m")
    assert (port.ref(REF), port.ref("refs/heads/users")) == (second, first)
    git(place(port), "symbolic-ref", REF, "refs/heads/users")
    port.delete_ref(REF)
    assert (port.ref(REF), port.ref("refs/heads/users")) == (None, first)


@pytest.mark.parametrize("stale", [0, 1])
def test_of_two_refs_both_move_or_neither(port: Git, stale: int) -> None:
    first, second = commit_file(port, b"1"), commit_file(port, b"2")
    port.update_refs([RefUpdate(REF, first, None), RefUpdate(KEPT, first, None)], "both")
    assert (port.ref(REF), port.ref(KEPT)) == (first, first)
    olds = [second, first] if stale == 0 else [first, second]
    moves = [RefUpdate(ref, second, old) for ref, old in zip((REF, KEPT), olds, strict=True)]
    with pytest.raises(RefMoved):
        port.update_refs(moves, "m")
    assert (port.ref(REF), port.ref(KEPT)) == (first, first)
    port.update_refs([RefUpdate(ref, second, first) for ref in (REF, KEPT)], "m")
    assert (port.ref(REF), port.ref(KEPT)) == (second, second)


INCREMENT = """
import random, sys, time
from pathlib import Path
from gitmem.errors import RefMoved
from gitmem.journal.git.port import RefUpdate, TreeEntry
from gitmem.journal.git.opening import open_repository
port = open_repository(Path(sys.argv[1]), sys.argv[2])
for _ in range(10):
    while True:
        tip = port.ref("refs/notes/gitmem/shared")
        kept = port.ref("refs/gitmem/kept/shared")
        count = int(port.commit(tip).message) if tip else 0
        tree = port.write_tree([TreeEntry("n", 0o100644, port.write_blob(b"%d" % count))])
        new = port.write_commit(tree, [tip] if tip else [], "A <a@b>", 1, str(count + 1))
        moves = [RefUpdate("refs/notes/gitmem/shared", new, tip)]
        try:
            port.update_refs([*moves, RefUpdate("refs/gitmem/kept/shared", new, kept)], "m")
            break
        except RefMoved:
            time.sleep(random.uniform(0, 0.01))
"""


@pytest.mark.parametrize("backends", ["program", "libgit2", "program libgit2"])
def test_eight_processes_lose_no_increment(repo: Path, backends: str) -> None:
    names = backends.split() * 8
    racers = [
        subprocess.Popen([sys.executable, "-c", INCREMENT, str(repo), name]) for name in names[:8]
    ]
    assert [racer.wait() for racer in racers] == [0] * 8
    assert git(repo, "log", "-1", "--format=%s", REF) == "80"
    assert git(repo, "rev-list", "--count", REF) == "80"
    assert git(repo, "rev-parse", REF) == git(repo, "rev-parse", KEPT)


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("name", ["refs/notes/gitmem", "refs/notes/gitmem/shared/below"])
def test_a_ref_that_is_the_folder_of_another_is_an_error(
    plain: Git, repo: Path, name: str, pack: bool
) -> None:
    first = land(plain, commit_file(plain))
    if pack:
        git(repo, "pack-refs", "--all")
    with pytest.raises(GitFailed, match=name):
        plain.update_refs([RefUpdate(name, first, None)], "m")
    assert plain.refs("refs/notes/") == {REF: first}


def test_refs_are_listed_by_prefix_packed_or_loose(port: Git) -> None:
    first, second = commit_file(port), commit_file(port, b"y")
    for name in ("shared", "shared-2", "sharing/deep", "other"):
        land(port, first, f"refs/notes/gitmem/{name}")
    git(place(port), "pack-refs", "--all", "--prune")
    land(port, second, REF)
    assert port.refs("refs/notes/gitmem/shar") == {
        "refs/notes/gitmem/shared": second,
        "refs/notes/gitmem/shared-2": first,
        "refs/notes/gitmem/sharing/deep": first,
    }
    assert len(port.refs("refs/notes/")) == 4
    assert set(port.refs("refs/")) == set(port.refs(""))
    assert port.refs("refs/nothing/") == {}
    assert port.ref("refs/notes/gitmem/other") == first
    assert port.ref(REF) == second
    with pytest.raises(RefMoved):
        port.update_refs([RefUpdate("refs/notes/gitmem/other", second, None)], "m")


def test_a_ref_is_no_prefix_no_abbreviation_and_may_be_symbolic(port: Git) -> None:
    first = land(port, commit_file(port), "refs/notes/gitmem/deep/er")
    git(place(port), "symbolic-ref", "refs/remotes/origin/HEAD", "refs/notes/gitmem/deep/er")
    assert port.ref("refs/remotes/origin/HEAD") == first
    for name in ("refs/notes/gitmem/deep", "notes/gitmem/deep/er", f"refs/heads/x-g{first[:8]}"):
        assert port.ref(name) is None


def test_head_is_a_branch_an_unborn_one_or_a_commit(port: Git) -> None:
    commit = port.head().commit
    git(place(port), "symbolic-ref", "HEAD", "refs/heads/новая/ветка")
    assert port.head() == Head("новая/ветка", None)
    git(place(port), "update-ref", "refs/heads/новая/ветка", str(commit))
    git(place(port), "pack-refs", "--all")
    assert port.head() == Head("новая/ветка", commit)
    git(place(port), "update-ref", "--no-deref", "HEAD", str(commit))
    assert port.head() == Head(None, commit)


def test_a_branch_name_that_is_not_utf8_leads_to_its_commit(repo: Path, plain: Git) -> None:
    subprocess.run(["git", "checkout", "-q", "-b", b"caf\xe9"], cwd=repo, check=True)
    head = plain.head()
    assert head == Head("caf\udce9", git(repo, "rev-parse", "HEAD"))
    assert plain.ref(f"refs/heads/{head.branch}") == head.commit
    git(repo, "pack-refs", "--all")
    assert plain.head() == head


def test_walk_is_newest_first_hides_and_stops(port: Git) -> None:
    parents: tuple[str, ...] = ()
    chain = []
    for number in range(5):
        chain.append(commit_file(port, b"%d" % number, parents, time=1_000 + number))
        parents = (chain[-1],)
    side = commit_file(port, b"side", (chain[1],), time=1_003)
    merge = land(port, commit_file(port, b"merge", (chain[4], side), time=2_000))
    walked = [commit.oid for commit in port.walk(merge)]
    assert walked[:2] == [merge, chain[4]]
    assert set(walked) == {merge, side, *chain}
    assert walked[-2:] == [chain[1], chain[0]]
    assert [c.oid for c in port.walk(merge, limit=2)] == [merge, chain[4]]
    assert {c.oid for c in port.walk(merge, hide=chain[2])} == {merge, side, chain[3], chain[4]}
    assert list(port.walk(merge, hide=merge)) == []
    assert [c.parents for c in port.walk(chain[0])] == [()]


def nested(port: Git, paths: dict[str, bytes]) -> str:
    """Write a tree of files, given by path."""
    below: dict[str, dict[str, bytes]] = {}
    entries = []
    for path, content in paths.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = content
        else:
            entries.append(TreeEntry(name, 0o100644, port.write_blob(content)))
    entries += [TreeEntry(name, 0o040000, nested(port, inner)) for name, inner in below.items()]
    return port.write_tree(entries)


def test_trees_are_compared_recursively(port: Git) -> None:
    old = nested(port, {"same": b"s", "gone": b"g", "d/e/f": b"1", "d/same": b"s", "kind": b"k"})
    new = nested(port, {"same": b"s", "日本": b"n", "d/e/f": b"2", "d/same": b"s", "kind/x": b"k"})
    one, two, k, g, n = (port.write_blob(content) for content in (b"1", b"2", b"k", b"g", b"n"))
    changes = [
        TreeChange("d/e/f", one, two),
        TreeChange("gone", g, None),
        TreeChange("kind", k, None),
        TreeChange("kind/x", None, k),
        TreeChange("日本", None, n),
    ]
    assert port.diff(old, new) == changes
    assert port.diff(new, old) == [TreeChange(c.path, c.new, c.old) for c in changes]
    assert port.diff(old, old) == port.diff(None, None) == []
    assert [(c.path, c.old) for c in port.diff(None, old)] == [
        (path, None) for path in ("d/e/f", "d/same", "gone", "kind", "same")
    ]
    assert port.diff(new, None) == [TreeChange(c.path, c.new, None) for c in port.diff(None, new)]
    assert dict(port.files(old)) == {c.path: c.new for c in port.diff(None, old)}
    with pytest.raises(KeyError):
        port.diff(old, gone(port))


def test_links_are_files_and_submodules_are_not(plain: Git) -> None:
    blob, commit = plain.write_blob(b"target"), plain.head().commit
    assert commit
    entries = [TreeEntry("link", 0o120000, blob), TreeEntry("sub", 0o160000, commit)]
    tree = plain.write_tree([*entries, TreeEntry("run", 0o100755, blob)])
    assert sorted(plain.files(tree)) == [("link", blob), ("run", blob)]
    assert [change.path for change in plain.diff(None, tree)] == ["link", "run"]


@pytest.mark.parametrize("change", ["repack -adq", "gc -q --prune=now", "multi-pack-index write"])
def test_what_another_process_wrote_and_packed_is_found(port: Git, change: str) -> None:
    assert not port.has(gone(port))
    other = open_repository(place(port), "program")
    first = land(other, commit_file(other, b"by another"))
    git(place(port), "repack", "-dq")
    assert port.commit(first).message == "a note"
    second = land(other, commit_file(other, b"later", (first,)))
    other.close()
    git(place(port), *change.split())
    assert [commit.oid for commit in port.walk(second)] == [second, first]
    assert dict(port.files(port.commit(first).tree)).keys() == {"note"}
    assert port.ref(REF) == second


def test_packing_leaves_nothing_of_a_journal_loose(port: Git) -> None:
    tips = [land(port, commit_file(port, b"0"))]
    for number in range(1, 5):
        tips.append(land(port, commit_file(port, b"%d" % number, (tips[-1],))))
    port.pack(tips[2], None)
    port.pack(tips[4], tips[2])
    port.pack(tips[4], tips[4])
    port.pack(tips[4], gone(port))
    loose = port.layout.common_dir / "objects" / tips[4][:2] / tips[4][2:]
    assert not loose.exists()
    assert len(list(port.walk(tips[4]))) == 5
    assert git(place(port), "fsck", "--no-dangling") == ""


def test_an_import_is_one_pack_and_not_thousands_of_files(repo: Path) -> None:
    port = open_repository(repo, "program")
    before = git(repo, "count-objects")
    blobs = [TreeEntry(f"{n:03}", 0o100644, port.write_blob(b"%d" % n)) for n in range(300)]
    tip = land(port, port.write_commit(port.write_tree(blobs), (), ADA, 1, "import"))
    assert git(repo, "count-objects") == before
    assert len(list(port.files(port.commit(tip).tree))) == 300
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    port.close()
