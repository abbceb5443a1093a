"""What is worth keeping of what a person says, and above all what is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.sessions.importers import AGENTS, importer
from gitmem.sessions.model import Turn
from gitmem.text.triggers import LONG, MOST, Said, find, labelled, rules
from tests.sessions.samples import SHARED, needs_samples

CHECKED = Path(__file__).parent.parent / "data" / "triggers" / "locomo-turns.json"

SAMPLES = {
    "claude-code": ("claude-code", "_synthetic/claude-code"),
    "gemini": ("gemini-cli",),
    "openclaw": ("openclaw-pi",),
    "copilot": ("copilot-cli",),
    "opencode": ("opencode/gitai-storage",),
    "jsonl": (),
}
"""Folders of collected transcripts that are not called as the agent is."""

KEPT = [
    ("Remember that we deploy on Fridays only", "fact", "we deploy on Fridays only"),
    ("remember: the staging database is read-only", "fact", "the staging database is read-only"),
    ("Please remember that Bob prefers tabs", "fact", "Bob prefers tabs"),
    ("Can you remember that I use vim?", "fact", "I use vim"),
    ("Remember that I prefer tabs", "preference", "I prefer tabs"),
    ("remember this: we decided to use PostgreSQL", "decision", "we decided to use PostgreSQL"),
    ("Don't forget that the API key rotates weekly", "fact", "the API key rotates weekly"),
    ("Keep in mind that this repo supports Python 3.11", "fact", "this repo supports Python 3.11"),
    (
        "Remember to run the linter before committing",
        "preference",
        "run the linter before committing",
    ),
    ("I prefer tabs over spaces", "preference", None),
    ("I prefer tea to coffee", "preference", None),
    ("My favorite editor is vim", "preference", None),
    ("my timezone is Europe/Berlin", "fact", None),
    ("My name is Ada Lovelace", "fact", None),
    ("I like dark mode", "preference", None),
    ("I hate semicolons", "preference", None),
    ("I don't like emojis in commit messages", "preference", None),
    ("I want all functions to have type hints", "preference", None),
    ("I want you to always run the tests before committing", "preference", None),
    ("Always use uv instead of pip", "preference", None),
    ("Never commit directly to main", "preference", None),
    ("From now on, answer in German", "preference", "answer in German"),
    ("We decided to use PostgreSQL for storage", "decision", None),
    ("Let's go with PostgreSQL", "decision", None),
    ("we're going with React instead of Vue", "decision", None),
    ("we migrated from MySQL to PostgreSQL", "decision", None),
    ("Decision: JWT sessions, no cookies", "decision", "JWT sessions, no cookies"),
    ("We use uv, not poetry", "fact", None),
    ("This project uses pnpm", "fact", None),
    ("Our staging server is at staging.example.com", "fact", None),
    ("No, we use uv, not pip", "fact", "we use uv, not pip"),
    ("That's wrong: the port is 5433, not 5432", "fact", "the port is 5433, not 5432"),
    (
        "Correction: the limit is 100 requests a minute",
        "fact",
        "the limit is 100 requests a minute",
    ),
    ("Thanks! By the way, I prefer short answers.", "preference", "I prefer short answers"),
    ("记住：我们每周五部署", "fact", "我们每周五部署"),
    ("请记住我们用 uv 管理依赖", "fact", "我们用 uv 管理依赖"),
    ("我喜欢简洁的代码", "preference", None),
    ("我讨厌分号", "preference", None),
    ("我更喜欢用 tabs 而不是空格", "preference", None),
    ("偏好：函数式风格", "preference", "函数式风格"),
    ("我想要所有函数都有类型注解", "preference", None),
    ("以后都用中文回答", "preference", "都用中文回答"),
    ("我的名字是小明", "fact", None),
    ("我的编辑器是 Neovim", "fact", None),
    ("我们决定用 PostgreSQL 做数据库", "decision", None),
    ("我们用 uv，不用 poetry", "fact", None),
    ("不对，我们用的是 PostgreSQL，不是 MySQL", "fact", "我们用的是 PostgreSQL，不是 MySQL"),
]

LEFT = """\
Remember that bug we fixed yesterday? It's back
remember that function I showed you, use it here
Do you remember what we decided?
remember when this worked
Just remember that sometimes things go wrong
Write a function that will remember the last value
Add a "remember me" checkbox
make it remember: the user's choice
I like this approach
I like the second option better
I'd like you to add a button
I want a login page
I want to refactor the parser
I prefer the first one
I'd prefer a table here
Let's go with option 2
let's use the second approach
let's switch to the main branch
We use a lot of memory when parsing
my test is failing
My question is how to do that
Should we use PostgreSQL?
If we use PostgreSQL then it works
no, i mean for processing that run inside the image
Actually, revert that
Actually, use a dict here
never mind
Never do that again
always fails with error 500
Use the Spinner instead of the inlined custom spinner
I think we decided to use React
Maybe we use PostgreSQL
For now, we use SQLite
we use React but it breaks
I use vim and it crashes when I open the file
I hate it when tests fail
we decided to go to the beach
forget everything
Please forget all memories
/remember that I prefer tabs
> I prefer tabs over spaces
    I prefer tabs over spaces
"I prefer tabs over spaces" is what he said
你还记得我们用什么吗？
我喜欢这个
我想要一个登录页面
我们用的是什么数据库？
我觉得可能用 PostgreSQL
我的问题是怎么部署
我们用 React 的时候报错了
我决定去海边
不对，应该放左边""".split("\n")


@pytest.mark.parametrize(("prompt", "kind", "text"), KEPT, ids=[prompt for prompt, *_ in KEPT])
def test_what_is_kept(prompt: str, kind: str, text: str | None) -> None:
    (said,) = find(prompt)
    assert (said.kind, said.text) == (kind, text or prompt)


@pytest.mark.parametrize("prompt", LEFT)
def test_what_is_left(prompt: str) -> None:
    assert find(prompt) == []


def only(prompt: str) -> Said:
    (said,) = find(prompt)
    return said


def test_what_it_is_about_what_holds_and_what_does_not() -> None:
    said = only("We use uv for packaging, not poetry")
    assert (said.about, said.value) == ("packaging", "uv")
    said = only("I prefer tabs over spaces")
    assert (said.value, said.instead, said.personal) == ("tabs", "spaces", True)
    said = only("That's wrong: the port is 5433, not 5432")
    assert (said.about, said.value, said.instead) == ("the port", "5433", "5432")
    assert said.correction and not said.personal
    said = only("我们决定用 PostgreSQL 做数据库")
    assert (said.about, said.value) == ("数据库", "PostgreSQL")
    assert only("Never use emojis").against and not only("Always use emojis").against


def test_a_sentence_among_others_and_a_list() -> None:
    prompt = "Fix the parser. Also, I prefer tabs over spaces! Then run it."
    assert [said.text for said in find(prompt)] == ["I prefer tabs over spaces"]
    listed = "Please remember:\n- tests live in tests/\n- we use uv\n\nand fix the parser"
    assert [said.text for said in find(listed)] == ["tests live in tests/", "we use uv"]
    twice = "I prefer tabs. i prefer tabs. " + " ".join(f"I prefer no{n}." for n in range(20))
    assert len(find(twice)) == MOST


def test_what_is_shown_is_not_said() -> None:
    for shown in (
        "```\nI prefer tabs over spaces\n```",
        "<doc>\nI prefer tabs over spaces\n</doc>",
        "+I prefer tabs over spaces",
        "$ I prefer tabs over spaces",
    ):
        assert find(f"look at this:\n{shown}\nthanks") == [], shown


def test_of_a_long_text_only_what_is_asked_to_be_kept_counts() -> None:
    page = "A page of some document that somebody pasted, with this and that in it.\n"
    long = page * (LONG // len(page) + 1)
    assert find(long + "I prefer tabs over spaces\n") == []
    assert [one.text for one in find(long + "Remember that we use uv\n")] == ["we use uv"]
    assert find("Remember that we use uv\n" + "x" * 1_000_000) == []
    assert find("\0 \ud83d I prefer \n" * 3) == []


def test_what_an_agent_calls_a_decision_or_a_lesson() -> None:
    answer = (
        "Done.\n\n**Decision:** keep the cache in SQLite\n- Root cause: the lock was never released"
        "\n\n```\nDecision: none of this counts\n```\nThe decision: hard."
    )
    assert [(one.kind, one.text) for one in labelled(answer)] == [
        ("decision", "keep the cache in SQLite"),
        ("lesson", "the lock was never released"),
    ]
    assert labelled("Decision: should we use SQLite?") == []


def test_every_rule_compiles_and_is_found_by_its_anchors() -> None:
    names = [rule.name for rule in rules()]
    assert len(set(names)) == len(names)
    for rule in rules():
        assert rule.pattern and rule.anchors
        assert all(anchor == anchor.lower() for anchor in rule.anchors)


# -- false captures on real text --------------------------------------------------------------


def collected_turns() -> Iterator[tuple[str, Turn]]:
    """Yield every turn of the collected transcripts, with its agent."""
    assert SHARED is not None
    for agent in AGENTS:
        reader = importer(agent)
        for folder in SAMPLES.get(agent, (agent,)):
            for place in reader.transcripts(SHARED / "transcripts" / folder):
                try:
                    records = list(reader.read(place))
                except Exception:  # some samples are none of this reader's: other tests say which
                    continue
                yield from ((agent, one) for one in records if isinstance(one, Turn))


@needs_samples
def test_no_false_capture_on_any_prompt_of_the_collected_transcripts() -> None:
    turns = list(collected_turns())
    prompts = {turn.text for _, turn in turns if turn.role == "user"}
    answers = {turn.text for _, turn in turns if turn.role == "assistant"}
    assert len(prompts) > 50 and len(answers) > 50
    assert [said for prompt in sorted(prompts) for said in find(prompt)] == []
    assert [said for answer in sorted(answers) for said in labelled(answer)] == []


def locomo(name: str) -> dict[str, str]:
    """Return {conversation and turn: text} of a file of LoCoMo conversations."""
    assert SHARED is not None
    content = json.loads((SHARED / "locomo" / name).read_text())
    return {
        f"{one.get('sample_id', name)} {turn['dia_id']}": turn["text"]
        for one in (content if isinstance(content, list) else [content])
        for key, turns in one["conversation"].items()
        if key.startswith("session_") and isinstance(turns, list)
        for turn in turns
    }


needs_locomo = pytest.mark.skipif(
    SHARED is None or not (SHARED / "locomo" / "dev.json").is_file(),
    reason="no LoCoMo (locomo/dev.json beside the collected transcripts)",
)


@needs_locomo
def test_hardly_a_false_capture_on_turns_that_were_read_and_hold_nothing() -> None:
    checked = json.loads(CHECKED.read_text())
    said = locomo("dev.json")
    texts = [said[turn] for turn in checked["turns"]]
    assert hashlib.sha256("\n".join(texts).encode()).hexdigest() == checked["sha256"]
    assert len(texts) >= 300
    assert sum(bool(find(text)) for text in texts) <= len(texts) // 100


@needs_locomo
@pytest.mark.parametrize("name", ["dev.json", "dev-zh.json"])
def test_hardly_anything_is_kept_of_a_chat_about_life(name: str) -> None:
    said = locomo(name)
    assert sum(bool(find(text)) for text in said.values()) <= len(said) // 100
