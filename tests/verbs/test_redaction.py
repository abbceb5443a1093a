"""Secrets and private spans never reach the journal by a verb, unless somebody insists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.errors import Refused, UsageError
from gitmem.text.secret_glance import AS_IS, BLOCK, FOLDED, may_hold, may_hold_each
from gitmem.text.secret_rules import anchors
from tests.support import git, run_cli
from tests.text.secret_corpus import secrets

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
REDACTED = "[redacted: github-token]"


@pytest.fixture
def gm(repo: Path) -> Iterator[Gitmem]:
    """Yield an initialised memory."""
    with gitmem.open(repo, backend="program") as opened:
        opened.init()
        yield opened


def objects(repo: Path) -> str:
    """Return every object of a repository and its private one, as text."""
    found = []
    for place in (repo / ".git", repo / ".git" / "gitmem" / "private.git"):
        if place.is_dir():
            listed = git(place, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
            found += [git(place, "cat-file", "-p", oid) for oid in listed.split()]
    return "\n".join(found)


def test_an_explicit_remember_is_stored_redacted_with_a_warning(repo: Path) -> None:
    done = run_cli("remember", f"The deploy key is {TOKEN}, says Grace", cwd=repo)
    assert done.returncode == 0
    assert f"remembered: The deploy key is {REDACTED}, says Grace" in done.stdout
    assert "taken out (github-token): see --allow-secret" in done.stderr
    assert TOKEN not in objects(repo)


def test_every_way_to_write_is_watched(gm: Gitmem, repo: Path) -> None:
    id = gm.remember({"deploy": {"key": [TOKEN]}}).id
    assert gm.show(id).data == {"deploy": {"key": [REDACTED]}}
    gm.update(id, f"see {TOKEN}")
    gm.evolve(id, f"also {TOKEN}")
    gm.link(id, "src/a.py", comment=f"because {TOKEN}")
    gm.forget(id, reason=f"it was {TOKEN}")
    gm.remember(f"mine: {TOKEN}", private=True)
    gm.set_context(f"working with {TOKEN}")
    gm.sync_end(f"used {TOKEN}")
    path = repo / "MEMORY.md"
    path.write_text(
        path.read_text().replace("<!-- gitmem:end -->", f"- {TOKEN}\n<!-- gitmem:end -->")
    )
    gm.status()
    assert len([memory for memory in gm.list() if memory.text == REDACTED]) == 1
    assert TOKEN not in objects(repo)
    assert TOKEN not in path.read_text()


def test_a_secret_of_every_kind_is_taken_out(gm: Gitmem, repo: Path) -> None:
    one_of_each = {secret.rule: secret for secret in secrets()}
    assert len(one_of_each) >= 40
    for secret in one_of_each.values():
        gm.remember(secret.text)
    written = objects(repo)
    assert [each.rule for each in one_of_each.values() if each.secret in written] == []


@pytest.mark.parametrize(
    ("data", "left"),
    [
        ({"db_password": "Tr0ub4dor&3"}, {"db_password": "[redacted: password]"}),
        (
            {"vault": {"apiKey": ["abcd1234efgh5678"]}},
            {"vault": {"apiKey": ["[redacted: secret]"]}},
        ),
        ({"password": "rotate it monthly"}, {"password": "rotate it monthly"}),
        ({"token": 5, "secret": None}, {"token": 5, "secret": None}),
    ],
)
def test_in_json_the_key_says_that_it_is_one(gm: Gitmem, data: object, left: object) -> None:
    id = gm.remember(data).id
    assert gm.show(id).data == left


def test_where_nothing_can_be_taken_out_it_is_refused(gm: Gitmem, repo: Path) -> None:
    id = gm.remember("Harmless").id
    for write in (
        lambda: gm.tag(id, TOKEN),
        lambda: gm.link(id, f"https://example.com/?{TOKEN}"),
        lambda: gm.remember("Harmless", tags=[TOKEN]),
    ):
        with pytest.raises(Refused, match="github-token"):
            write()
    assert TOKEN not in objects(repo)


def test_it_is_kept_where_somebody_insists_and_that_is_recorded(gm: Gitmem, repo: Path) -> None:
    text = f"The example in the manual is {TOKEN}"
    id = gm.remember(text, allow_secret=True).id
    assert gm.show(id).text == text
    assert '"secrets":["github-token"]' in objects(repo)
    gm.update(id, f"{text}!")
    assert gm.show(id).text == f"{text}!", "what was let pass may be said again"
    gm.undo()
    assert gm.show(id).text == text
    other = gm.remember("Harmless").id
    gm.update(other, text, allow_secret=True)
    assert gm.show(other).text == text
    assert gm.warnings == []


def test_private_spans_are_left_out(gm: Gitmem, repo: Path) -> None:
    id = gm.remember("Use PostgreSQL <private>Kwyjibo</private>for all").id
    assert gm.show(id).text == "Use PostgreSQL for all"
    gm.evolve(id, "seen by <PRIVATE>Kwyjibo")
    gm.remember({"who": "<private>Kwyjibo</private>"})
    with pytest.raises(UsageError, match="private as a whole"):
        gm.remember("<private>Kwyjibo</private>")
    path = repo / "MEMORY.md"
    line = "- <private>Kwyjibo</private>\n<!-- gitmem:end -->"
    path.write_text(path.read_text().replace("<!-- gitmem:end -->", line))
    gm.status()
    assert "Kwyjibo" not in objects(repo)


def test_the_glance_has_every_mark_of_the_rules() -> None:
    assert set(AS_IS) == set(anchors(False).rules)
    assert set(FOLDED) == set(anchors(True).rules)


def test_the_glance_lets_no_secret_by() -> None:
    texts = [secret.text for secret in secrets()]
    assert texts and all(map(may_hold, texts))
    assert not may_hold("Use PostgreSQL: everybody knows it")


def test_neither_does_a_glance_at_many() -> None:
    texts = [secret.text for secret in secrets()]
    assert all(any(may_hold_each([text])) for text in texts)
    assert all(may_hold_each(texts * 20))
    assert not any(may_hold_each(["Use PostgreSQL"] * 3_000))


def test_no_mark_stands_on_two_texts_of_an_event() -> None:
    """They are looked at as ``key: text``, one after the other, and in JSON before."""
    for mark in (*AS_IS, *FOLDED, BLOCK):
        assert not (": " in mark or "\n" in mark or mark.startswith(" ") or mark.endswith(":"))
