from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import Unreadable
from gitmem.sessions.importers import importer
from gitmem.sessions.model import About
from tests.sessions.importers.transcripts import (
    abouts,
    at_home,
    below,
    only,
    read,
    roles,
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

FOLDER = OWN / "claude-code"
SESSION = "5f0a0000-0000-4000-8000-00000000000"


def test_a_session_with_tools() -> None:
    """Parallel calls meet their results, in the order of the results; one was never answered."""
    records = read("claude-code", FOLDER / "tools.jsonl")
    assert told(only(records)) == [
        ("u1", "user", "Why does the checkout test fail?"),
        ("a2", "assistant", "I run it and read the fixture."),
        (
            "toolu_b",
            "tool",
            "Read: /home/ada/shop/tests/conftest.py\ndef cart(): ...\n\n[image]",
        ),
        ("toolu_a", "tool", "Bash: pytest -q tests/test_checkout.py echo done\n1 failed"),
        ("a5", "assistant", "The fixture makes an empty cart."),
        ("u2", "user", "Leave the tracker alone.\n\n[image]"),
        ("a6", "assistant", "Then only the fixture:"),
        ("toolu_c", "tool", 'mcp__tracker__close: {"issue": 7}'),
    ]
    assert abouts(records)[f"{SESSION}1"] == About(
        agent="claude-code",
        id=f"{SESSION}1",
        title="Why does the checkout test fail?",
        started="2026-11-02T09:00:01.000000Z",
        cwd="/home/ada/shop",
        branch="main",
        model="claude-opus-5",
    )


def test_a_call_that_may_be_running_waits_for_its_result(tmp_path: Path) -> None:
    """``toolu_d`` is the last of the sample; one call of a response does not overtake another."""
    lines = (FOLDER / "tools.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(lines[:6]))
    assert roles(only(read("claude-code", path))) == "u a"


def test_what_nobody_said_is_left_out() -> None:
    """Hooks, skills, command wrappers, notifications, errors, interruptions, unknown records."""
    records = read("claude-code", FOLDER / "injected.jsonl")
    assert told(only(records)) == [
        ("u1", "user", "Round prices to cents."),
        ("a1", "assistant", "Prices are rounded in cart.py now."),
    ]
    assert skipped(records) == []


def test_steering_counts_once_and_compaction_is_a_summary() -> None:
    """Queue and attachment say the same; an older release left it in the queue alone."""
    records = read("claude-code", FOLDER / "steered.jsonl")
    found = told(only(records))
    assert [(role, said) for _, role, said in found] == [
        ("user", "Move the shop to uv."),
        ("tool", "Bash: uv init\nok"),
        ("user", "and the README"),
        ("assistant", "Both are moved."),
        ("user", "keep poetry.lock for now"),
        ("assistant", "It stays."),
        ("user", "thanks"),
        (
            "summary",
            "This session is being continued from a previous conversation. The shop moved to uv.",
        ),
        ("assistant", "You are welcome."),
        ("assistant", "You are welcome."),  # the record stands there twice, under one id
    ]
    named = [id for id, _, _ in found]
    assert named[2] == "at1" and named[-2:] == ["a4", "a4"]
    assert skipped(records) == [], "the torn last line waits"
    assert abouts(records)[f"{SESSION}3"].title == "uv at last"


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("custom-title", "ai-title", "last-prompt", "summary"), "custom-title 2"),
        (("ai-title", "last-prompt", "summary"), "ai-title 2"),
        (("last-prompt", "summary"), "last-prompt 2"),
        (("summary",), "summary 2"),
        ((), "the prompt"),
    ],
)
def test_titles(tmp_path: Path, kinds: tuple[str, ...], expected: str) -> None:
    """The best kind wins, and of it the last one."""
    fields = {
        "custom-title": "customTitle",
        "ai-title": "aiTitle",
        "last-prompt": "lastPrompt",
        "summary": "summary",
    }
    said = {"type": "user", "uuid": "1", "message": {"content": "the prompt"}, "sessionId": "s"}
    named = [
        {"type": kind, fields[kind]: f"{kind} {n}", "sessionId": "s"}
        for n in (1, 2)
        for kind in reversed(kinds)
    ]
    path = written(tmp_path / "s.jsonl", named[0] if named else {}, said, *named)
    assert abouts(read("claude-code", path))["s"].title == expected


def test_subagents_within_a_file_are_sessions_of_their_own() -> None:
    """Older releases name them by nothing but the chain of their records."""
    records = read("claude-code", FOLDER / "sidechain.jsonl")
    found = turns(records)
    assert {id: roles(said) for id, said in found.items()} == {
        f"{SESSION}4": "u t t a",
        f"{SESSION}4/agent-s1": "u t a",
        f"{SESSION}4/agent-t1": "u a",
    }
    assert [turn.text for turn in found[f"{SESSION}4/agent-s1"]] == [
        "Read cart.py",
        "Read: cart.py\nclass Cart: ...",
        "cart.py holds the items.",
    ]
    assert found[f"{SESSION}4"][1].text == "Task: Read till\ntill.py sums the prices."
    about = abouts(records)[f"{SESSION}4/agent-t1"]
    assert (about.parent, about.title, about.cwd) == (
        f"{SESSION}4", "Read till.py", "/home/ada/shop",
    )  # fmt: skip


def test_a_subagents_own_file() -> None:
    (path,) = importer("claude-code").transcripts(FOLDER / f"{SESSION}1")
    records = read("claude-code", path)
    id = f"{SESSION}1/agent-ab94da7"
    assert {id: roles(said) for id, said in turns(records).items()} == {id: "u t a"}
    assert abouts(records)[id].parent == f"{SESSION}1"


def test_a_resumed_session_repeats_its_parents_records_under_their_ids() -> None:
    """Under a new session id, whoever keeps the rounds must know them by their own."""
    resumed, parent = read("claude-code", FOLDER / "resumed.jsonl"), FOLDER / "tools.jsonl"
    known = {turn.id for turn in only(read("claude-code", parent))}
    assert abouts(resumed).keys() == {f"{SESSION}6"}
    assert [turn.id for turn in only(resumed)] == ["u1", "a2", "u9", "a9"]
    assert [turn.id in known for turn in only(resumed)] == [True, True, False, False]


def test_records_that_keep_the_parents_session_id_are_the_parents() -> None:
    found = turns(read("claude-code", FOLDER / "forked.jsonl"))
    assert {id: [turn.id for turn in said] for id, said in found.items()} == {
        f"{SESSION}1": ["u1"],
        f"{SESSION}7": ["u8"],
    }


def test_a_file_of_usage_gives_nothing() -> None:
    assert read("claude-code", FOLDER / "usage.jsonl") == []


def test_a_session_of_claude_ai_has_derived_ids() -> None:
    records = read("claude-code", FOLDER / "claude-ai.json")
    found = told(only(records))
    assert [(role, said) for _, role, said in found] == [
        ("user", "Add two numbers."),
        ("assistant", "A function adds them."),
        ("tool", "Write: add.py\nwritten"),
        ("user", "Add two numbers."),
    ]
    assert [id for id, _, _ in found] == ["1-7829e81f", "2-14c9c9b9", "toolu_w", "3-7829e81f"]
    assert abouts(records)["claude-ai"].started == "2026-11-02T10:00:00.000000Z"


def test_json_that_is_no_session_gives_nothing_or_one_error(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[1]")
    assert read("claude-code", path) == []
    path.write_text("{")
    with pytest.raises(Unreadable):
        read("claude-code", path)


def test_places(tmp_path: Path) -> None:
    for config in (".claude", "elsewhere"):
        written(tmp_path / config / "projects/-home-ada-shop/s.jsonl")
        written(tmp_path / config / "projects/-home-ada-shop/s/subagents/agent-1.jsonl")
        written(tmp_path / config / "projects/-home-ada-shop/s/subagents/agent-1.meta.json")
    projects = "projects/-home-ada-shop"
    assert below("claude-code", at_home(tmp_path)) == [
        f".claude/{projects}/s/subagents/agent-1.jsonl",
        f".claude/{projects}/s.jsonl",
    ]
    for named in ("~/elsewhere", str(tmp_path / "elsewhere")):
        home = at_home(tmp_path, environ={"CLAUDE_CONFIG_DIR": named})
        assert below("claude-code", home)[1] == f"elsewhere/{projects}/s.jsonl"


def test_ours(tmp_path: Path) -> None:
    """By the directory of the records, through links and below; never by a name alone."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    home = at_home(tmp_path, tmp_path / "shop", tmp_path / "gone" / "worktree")
    ours = [str(tmp_path / name) for name in ("shop", "shop/src", "link", "link/src")]
    others = [str(tmp_path), str(tmp_path / "shopping"), "", "shop", "shop\0"]
    for cwd in [*ours, str(tmp_path / "gone/worktree/src"), *others]:
        about = About("claude-code", "s", cwd=cwd)
        assert importer("claude-code").ours(about, home) == (cwd not in others), cwd


# What the collected samples hold, read by a person: the roles in their order, how some begin.
COLLECTED = {
    "ccl-edge_cases": ("u a u t a u u", {3: "FailingTool: {", 5: "Testing special", 6: "wow"}),
    "ccl-representative_messages": ("u a u t a u t a u", {6: "Bash: python /tmp/decorator_e"}),
    "entire-2.0.76-compact-boundary": (
        "u a t t t t a u a t s a t a t a t a t a t a",
        {0: "for the change in cmd/entire", 10: "This session is being continued"},
    ),
    "entire-2.0.76-small": ("u t t t a", {1: "Glob: LICENSE*\nNo files found", 4: "Created `L"}),
    "entire-2.1.33-progress": ("u a u t t a", {1: "Hello! How can I", 2: "write a file about"}),
    "entire-2.1.38-meta-turn-duration": (
        "u a t t a t a t t a",
        {0: "mise run lint throws", 2: "Bash: mise run lint 2>&1", 3: "Read: /Users/dev/src/"},
    ),
    "entire-2.1.7-task-subagent": ("u a t a", {2: "Task: Create color file in docs\nI have"}),
    "gitai-claude-code-with-plan": ("u a t a t a t", {0: "Help me implement", 6: "Edit: "}),
    "gitai-claude-code-with-thinking": ("u a t a", {0: "add another hello world console"}),
    "gitai-example-claude-code": (
        "u a t t a t a t a t a t a t t a t a t a t t a t",
        {2: "Glob: **/*.css\n", 23: "Read: /Users/dev/Desktop/ghq/src/game/EvalBar.tsx\n"},
    ),
    "simonw-sample_session": ("u a t t u a", {2: "Write: /project/hello.py\nFile written"}),
}


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    expected, begin = COLLECTED[name]
    found = only(read("claude-code", collected(f"claude-code/{name}.jsonl")))
    assert roles(found) == expected
    for place, text in begin.items():
        assert found[place].text.startswith(text)


@needs_samples
def test_collected_without_rounds_or_written_for_this() -> None:
    assert read("claude-code", collected("claude-code/ccusage-chat.jsonl")) == []
    golden = collected("claude-code/EXPECTED-claude_agent_sdk-0.2.186.json")
    assert read("claude-code", golden) == []
    web = read("claude-code", collected("claude-code/simonw-sample_session.web-api.json"))
    assert roles(only(web)) == "u a t a t a t t a t u t t a t u t a u t t a s u t a"
    steered = collected("_synthetic/claude-code/compact-and-steering.jsonl")
    records = read("claude-code", steered)
    assert roles(only(records)) == "u a t u a s u a"
    assert {about.title for about in abouts(records).values()} == {"Move to uv"}


def says(record: dict[str, Any]) -> Iterator[str]:
    """Yield the ids under which a record's parts should be found."""
    content = record["message"].get("content", [])
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if isinstance(block, str) or block["type"] == "text" and block["text"].strip():
            yield record["uuid"]
        elif block["type"] in ("tool_use", "tool_result"):
            yield block["id"] if block["type"] == "tool_use" else block["tool_use_id"]


NOT_SAID = {  # in the SDK's chain, and left out here: two wrappers of /clear, an interruption
    "entire-2.1.38-meta-turn-duration.jsonl": {
        "3ad1dc24-7fcd-4606-8157-79e1a936afd3",
        "991fac9e-b48b-430f-85c9-fdc4a00a3863",
    },
    "gitai-example-claude-code.jsonl": {"c32e8b8d-2b5a-48ec-a3e6-4049c657ab54"},
}


@needs_samples
def test_the_full_history_holds_the_live_chain_of_the_sdk() -> None:
    """Claude's own SDK returns what the model still knows: the path from the last leaf upwards.

    It ends at a compaction (54 records, 23 messages) and where a parent is missing. What it has is
    here too, a message's calls under their own ids; title and branch agree.
    """
    golden = collected("claude-code/EXPECTED-claude_agent_sdk-0.2.186.json")
    for name, expected in json.loads(golden.read_text()).items():
        path = collected(f"claude-code/{name}")
        lines = map(json.loads, path.read_text().splitlines())
        raw = {line["uuid"]: line for line in lines if isinstance(line, dict) and "uuid" in line}
        live = {id for message in expected["messages"] for id in says(raw[message["uuid"]])}
        records = read("claude-code", path)
        found = {turn.id for said in turns(records).values() for turn in said}
        assert live - found == NOT_SAID.get(name, set()), name
        for about in abouts(records).values():
            title = " ".join(expected["summary"].split())
            assert about.title == (title if len(title) <= 120 else f"{title[:119]}…")
            assert about.branch == (expected["git_branch"] or "")


@needs_samples
def test_more_is_kept_than_the_live_chain_where_a_chain_breaks() -> None:
    path = collected("claude-code/entire-2.0.76-compact-boundary.jsonl")
    golden = json.loads(collected("claude-code/EXPECTED-claude_agent_sdk-0.2.186.json").read_text())
    found = only(read("claude-code", path))
    live = {message["uuid"] for message in golden[path.name]["messages"]}
    boundary = [turn.role for turn in found].index("summary")
    assert not live & {turn.id for turn in found[:boundary]}
