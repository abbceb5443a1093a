"""Secrets: each kind is found wherever it stands, and ordinary text is left as it is."""

from __future__ import annotations

import os
import random
import re
from base64 import b64encode
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.text import secret_rules, secrets
from gitmem.text.secrets import Finding, Redacted, find, redact, without_private
from tests.text import secret_corpus
from tests.text.secret_corpus import HOSTILE, Secret, documents, ordinary, pem, sentences

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("GITMEM_SHARED_DATA", ROOT.parent / "shared" / "data"))
SECRETS = secret_corpus.secrets()
DICE = random.Random(secret_corpus.SEED)

EXAMPLES = {  # of credentials, in the documents the test below reads, and whose they are
    "geheim$parole": "urllib.request: a password in its docstring",
    r"\xa1\xa2": "test_netrc: a password of letters that are not ASCII",
    "p4ssw0rd": "git-imap-send(1)",
    "secr3t": "git-credential(1)",
    "_M8ViO_GK6TnZ9G9eqdlS7IpNWzhoGwaYYDQ3hEwwmA": "joserfc: the signature of a token",
}


def kept(text: str) -> list[str]:
    """Return what of `text` would be redacted, but for known examples."""
    found = [text[finding.start : finding.end] for finding in find(text)]
    return [secret for secret in found if not any(example in secret for example in EXAMPLES)]


# -- what is found ------------------------------------------------------------------------------


def test_there_are_secrets_enough() -> None:
    assert len({secret.secret for secret in SECRETS}) >= 200
    assert len({secret.rule for secret in SECRETS}) >= 40


@pytest.mark.parametrize("rule", dict.fromkeys(secret.rule for secret in SECRETS))
def test_every_kind_is_found_and_named(rule: str) -> None:
    for secret in (secret for secret in SECRETS if secret.rule == rule):
        redacted = redact(secret.text)
        assert secret.secret not in redacted.text, secret.text
        assert rule in redacted.found, secret.text


def test_every_rule_finds_something() -> None:
    tried = {secret.rule for secret in SECRETS} | {"private-key-body"}
    assert {rule.name for rule in secret_rules.rules()} == tried


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\n> ", "\\\\n"])
def test_private_keys(kind: str, newline: str) -> None:
    block = pem(kind, DICE, newline)
    assert redact(f"key: {block} end") == Redacted(
        "key: [redacted: private-key] end", ("private-key",)
    )
    half = len(block) // 2
    for torn in (f"key: {block[:half]}", f"{block[half:]} end", f"{block[:half]}\n...\nthe rest"):
        left = redact(torn).text.replace("\\n", " ")
        assert not [run for run in re.findall(r"[\w+/]{6,}", left) if run in block], left
    assert redact(f"{block[:half]}\n...\nthe rest").text.endswith("\n...\nthe rest")


def test_a_private_key_with_headers_and_two_in_a_row() -> None:
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    first, second = (pem("RSA ", DICE).split("\n", 1) for _ in range(2))
    torn = f"{first[0]}\n{headers}{first[1][:400]}"
    assert redact(f"{torn}\n\n{second[0]}\n{second[1]}").found == ("private-key", "private-key")
    assert redact(torn).text == "[redacted: private-key]"


@pytest.mark.parametrize(
    "start", ["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE", "MIIEpAIBAAKCAQEA", "MIIEvQIBADANBgkqhkiG"]
)
def test_the_body_of_a_private_key_alone(start: str) -> None:
    lines = pem("", DICE).split("\n")[1:-2]
    text = "\n".join([start + lines[0][len(start) :], *lines[1:], "and some words"])
    assert redact(text).text == "[redacted: private-key-body]\nand some words"


def test_a_private_key_with_numbered_lines() -> None:
    lines = pem("EC ", DICE).split("\n")
    shown = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
    assert redact(f"{shown}\n    24→done").text == "     1→[redacted: private-key]\n    24→done"
    torn = "\n".join(shown.split("\n")[:9])
    assert redact(f"{torn}\n[cut]").text == "     1→[redacted: private-key]\n[cut]"


def test_a_text_about_private_keys_is_no_key() -> None:
    dash = "-" * 5
    text = (
        f"{dash}BEGIN PRIVATE KEY{dash}\nis how a file begins that was written by openssl. "
        f"{'It may go on for a long time before it ends with ' * 5}\n{dash}END PRIVATE KEY{dash}\n"
    )
    assert redact(text) == Redacted(text)


def test_a_placeholder_does_not_hide_the_secret_behind_it() -> None:
    assert redact('secret: client_secret="abcd1234efgh5678"').found == ("secret",)
    assert redact("password: db.password=Tr0ub4dor3").found == ("password",)


def test_only_the_secret_is_replaced() -> None:
    token = "gh" + "p_" + "a1B2" * 9
    assert redact(f"API_TOKEN='{token}' and postgres://app:hunter2@db/x") == Redacted(
        "API_TOKEN='[redacted: github-token]' and postgres://app:[redacted: url-password]@db/x",
        ("github-token", "url-password"),
    )
    assert find(f"x {token}") == [Finding("github-token", 2, 2 + len(token))]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\\n", "\\n"),
        ("%20", "%20"),
        ("\x1b[32m", "\x1b[0m"),
        ("key_", "."),
        ("密", "钥"),
        ("(", ")"),
    ],
)
def test_a_token_ends_where_its_alphabet_ends(before: str, after: str) -> None:
    token = "AK" + "IA" + "Q3EGRZ2S7LMNPT4X"
    assert redact(before + token + after).text == before + "[redacted: aws-access-key-id]" + after
    assert not redact(f"x{token}").found
    assert not redact(f"{token}A").found


def test_documented_examples_have_the_form_of_keys() -> None:
    """Nobody needs AWS' examples remembered; who tries gitmem out with them sees it work."""
    assert redact("AKIA" + "IOSFODNN7EXAMPLE").found == ("aws-access-key-id",)
    secret = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
    assert redact(f"aws_secret_access_key={secret}").found == ("aws-secret-access-key",)


@pytest.mark.parametrize(
    "text",
    [
        "password=hunter2",
        "password: 'hunter2'",
        "DB_PASS=SuperSecret123!",
        "PASSWORD=\"it's3cret\"",
        "passwd = b'x9!kkkkk'",
        "my_password2 = 'Tr0ub4dor&3'",
        'os.environ["DB_PASSWORD"] = "Tr0ub4dor&3"',
        "DB_PASS=Tr0ub4dor&3",
        "?user=ada&password=Tr0ub4dor3&x=1",
        "API_KEY=abcd1234efgh5678",
        'apiKey => "abcd1234efgh5678"',
        "secret: 7c4a8d09ca3762af",
        "token is 0123456789abcdef0123456789abcdef",
        'api_key: Optional[str] = "abcd1234efgh5678"',
        "Passwort ist Tr0ub4dor&3",
        "password: \"Tr0ub4dor",  # torn
    ],
)  # fmt: skip
def test_assignments(text: str) -> None:
    assert set(redact(text).found) <= {"password", "secret"} != set()
    assert redact(text).found, text


@given(
    st.lists(st.sampled_from(SECRETS), min_size=1, max_size=4), st.sampled_from(["\n", " ", ", "])
)
def test_what_is_redacted_stays_redacted(chosen: list[Secret], joint: str) -> None:
    once = redact(joint.join(secret.text for secret in chosen))
    assert redact(once.text) == Redacted(once.text)
    assert all(secret.secret not in once.text for secret in chosen)


@given(st.text(), st.sampled_from(SECRETS))
def test_findings_are_in_order_and_apart(text: str, secret: Secret) -> None:
    whole = f"{text}\n{secret.text}\n{text}"
    edges = [edge for finding in find(whole) for edge in (finding.start, finding.end)]
    assert edges == sorted(set(edges))
    assert secret.secret not in redact(whole).text


def test_characters_that_grow_in_lower_case_do_not_shift_what_is_redacted() -> None:
    assert redact("İİİ PASSWORD=Tr0ub4dor3 İ").text == "İİİ PASSWORD=[redacted: password] İ"


# -- what is not --------------------------------------------------------------------------------


def test_there_are_tricky_sentences_enough() -> None:
    assert len(set(ordinary())) >= 300


@pytest.mark.parametrize("sentence", ordinary())
def test_tricky_sentences_are_left_alone(sentence: str) -> None:
    assert redact(sentence) == Redacted(sentence)


def test_documents_of_this_machine_are_left_alone() -> None:
    """At most 40 sentences of a document, so that there are many documents."""
    texts = (islice(sentences(text), 40) for _, text in documents())
    chosen = dict.fromkeys(sentence for some in texts for sentence in some)
    assert len(chosen) >= 10_000
    assert [(sentence, kept(sentence)) for sentence in chosen if kept(sentence)] == []


@pytest.mark.long
def test_all_documents_of_this_machine_are_left_alone() -> None:
    """Whatever is installed may show examples of credentials, but they are few."""
    chosen = {sentence for _, text in documents(every=True) for sentence in sentences(text)}
    redacted = sorted(secret for sentence in chosen for secret in kept(sentence))
    print(f"{len(chosen)} sentences, redacted in them: {redacted}")
    assert len(redacted) <= len(chosen) / 10_000


@pytest.mark.skipif(
    not (SHARED / "transcripts").is_dir(),
    reason="the transcripts stand in ../shared/data/transcripts (or $GITMEM_SHARED_DATA)",
)
def test_transcripts_are_left_alone() -> None:
    paths = [path for path in (SHARED / "transcripts").rglob("*") if path.is_file()]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in paths}
    assert sum(map(len, texts.values())) > 100_000
    assert {path.name: kept(text) for path, text in texts.items() if kept(text)} == {}


# -- the time it takes --------------------------------------------------------------------------


def test_ordinary_text_compiles_few_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule is tried where one of its anchors stands, and nowhere else."""
    tried: Counter[str] = Counter()
    pattern = secret_rules.Rule.pattern.func
    counting = property(lambda rule: (tried.update([rule.name]), pattern(rule))[1])
    monkeypatch.setattr(secret_rules.Rule, "pattern", counting)
    find("Chose PostgreSQL for persistence, in src/app.py, because the team knows it. " * 99)
    assert not tried
    find("the password is asked for twice")
    assert tried.keys() == {"password", "connection-string-password"}


@pytest.mark.parametrize("rule", secret_rules.rules(), ids=lambda rule: rule.name)
def test_no_rule_can_run_away(rule: secret_rules.Rule) -> None:
    """No endless repetition has anything behind it, and none has another one in it."""
    parser: Any = pytest.importorskip("re._parser")
    assert _endless(parser.parse(rule.expression, rule.flags), last=True) == []


def _endless(items: Any, *, last: bool, inside: bool = False) -> list[Any]:
    """Return the repetitions without a bound that something follows that can fail."""
    found: list[Any] = []
    for place, (code, argument) in enumerate(items):
        final = last and place == len(items) - 1
        name = str(code)
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            endless = str(argument[1]) == "MAXREPEAT"
            if endless and (inside or not (final or name == "POSSESSIVE_REPEAT")):
                rest = items[place + 1 :]
                found += [] if _optional(rest) and not inside else [(name, argument)]
            found += _endless(argument[2], last=False, inside=inside or argument[1] > 1)
        elif name == "SUBPATTERN":
            found += _endless(argument[3], last=final, inside=inside)
        elif name == "BRANCH":
            for branch in argument[1]:
                found += _endless(branch, last=final, inside=inside)
    return found


def _optional(items: Any) -> bool:
    return all("REPEAT" in str(code) and argument[0] == 0 for code, argument in items)


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_repetitions_end(part: str) -> None:
    """64 KiB of each; benchmarks/redaction.py shows that the time grows with the length."""
    text = (part * (1 << 16))[: 1 << 16]
    assert len(redact(text).text) <= 2 * len(text)
    assert len(without_private(text)) <= len(text)


# -- private spans ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b\n\nc</Private> d", "a  d"),
        ("a<private>b<private>c</private>d</private>e", "ae"),
        ("a<private>b</private>c<private>d</private>e", "ace"),
        ("a <private>open to the end", "a "),
        ("a </private> b", "a </private> b"),
        ("The `<private>` tag hides text.", "The `<private>` tag hides text."),
        ("`<private>x</private>`", "``"),
        ("nothing private", "nothing private"),
        ("", ""),
    ],
)
def test_private_spans_are_dropped(text: str, left: str) -> None:
    assert without_private(text) == left
    assert without_private(left) == left


# -- the data -----------------------------------------------------------------------------------


def test_the_rules_are_well_formed() -> None:
    rules = secret_rules.rules()
    names = Counter(rule.name for rule in rules)
    assert {name for name, count in names.items() if count > 1} == {"password", "secret"}
    assert len(names) >= 100
    for rule in rules:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        assert rule.pattern and rule.anchors and all(rule.anchors)
        assert rule.token or all(anchor == anchor.lower() for anchor in rule.anchors)
        assert rule.check in {"", *secrets.CHECKS}


def test_the_word_lists_are_sorted_and_say_a_thing_once() -> None:
    data = secret_rules.data()
    for words in (data["ordinary"]["words"], data["assigned"]["key"]):
        assert words == sorted(set(words))


def test_basic_authorization_is_decoded() -> None:
    assert redact("Basic " + b64encode(b"ada:pw").decode()).found == ("basic-authorization",)
    assert not redact("Basic " + b64encode(b"no colon in it").decode()).found
