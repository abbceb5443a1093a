"""Secrets that are nobody's, and ordinary text, to try the rules of `gitmem.text.secrets` on."""

from __future__ import annotations

import gzip
import random
import re
import string
import sysconfig
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

DATA = Path(__file__).parents[1] / "data" / "secrets"
SEED = 20260101

HEX = "0123456789abcdef"
ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "b32": string.ascii_uppercase + "234567",
    "b64": string.ascii_letters + string.digits + "+/",
    "digits": string.digits,
    "hex": HEX,
    "HEX": HEX.upper(),
    "letters": string.ascii_letters,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "url": string.ascii_letters + string.digits + "-_",
}

SETTINGS = (
    "{}",
    "I put {} into the vault yesterday.",
    "line one\nvalue: {}\nline three",
    '{{"text": "first\\n{}\\nlast"}}',
    "`{}`",
    "用{}来部署",
)
"""Where a secret may stand: alone, in a sentence, in a file, in JSON, in Markdown, in Chinese."""


HOSTILE = (
    *("eyJ", "eyJ-", "eyJaaaaaaaaaa.", "password=", 'password = "', "token:token", "api_key="),
    *("://a:", "a://b:c", "AKIA", "ghp_", "glpat-", "sk-", "xoxb-1", "SG.", "Bearer ", "Basic "),
    *("machine a login ", "curl -u ", "--password ", "MIIEpAIBA", "MTMTMTMT.", "1:AA", "Q~", "İ"),
    *("a" * 32 + "-us", "sig=", "hooks.slack.com/services/", "heroku ", "PuTTY-User-Key-File-2:"),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n"),
    *("A" * 64 + "\n-----END PRIVATE KEY-----", "\\\\\\", "secret=a1-", "password is a1!"),
    *("<private>", "</private>", "`<private>`", "<gitmem-memory>\n\n", "\n</gitmem-memory>"),
    *("<gitmem-", "<" + " " * 99, "\x1b]", "\x1b[", "[system ", "_", "\nSystem", "\r\n \r\n"),
)
"""Parts whose repetition makes a careless expression take for ever."""


@dataclass(frozen=True)
class Secret:
    """A text with a secret in it, and the rule that has to find it."""

    rule: str
    text: str
    secret: str


def secrets(each: int = 2) -> list[Secret]:
    """Return `each` secrets of every form of every kind, in turn in another setting."""
    dice = random.Random(SEED)
    kinds = tomllib.loads((DATA / "kinds.toml").read_text(encoding="utf-8"))
    made = []
    for rule, forms in kinds.items():
        for form in forms * each:
            filled = fill(form, dice)
            secret = found[1] if (found := re.search("⟦(.*)⟧", filled, re.DOTALL)) else filled
            text = re.sub("[⟦⟧]", "", filled)
            setting = SETTINGS[len(made) % len(SETTINGS)] if text == secret else "{}"
            made.append(Secret(rule, setting.format(text), secret))
    return made


def fill(form: str, dice: random.Random) -> str:
    """Return `form` with its fields filled in at random."""

    def field(match: re.Match[str]) -> str:
        name, length = match[1], int(match[2] or 0)
        if name in ALPHABETS:
            return _mixed(ALPHABETS[name], length, dice)
        return _FIELDS[name](length, dice)

    return re.sub(r"\{(\w+)(?::(\d+))?\}", field, form)


def _mixed(alphabet: str, length: int, dice: random.Random) -> str:
    """Return a random string; one long enough has a digit, as nearly all have."""
    while True:
        text = "".join(dice.choices(alphabet, k=length))
        if length < 20 or alphabet == string.ascii_letters or re.search(r"\d", text):
            return text


def _password(length: int, dice: random.Random) -> str:
    must = [dice.choice(kind) for kind in (string.ascii_uppercase, string.digits, "!#$%^*+~")]
    rest = dice.choices(ALPHABETS["alnum"], k=length - len(must) - 1)
    dice.shuffle(must)
    return dice.choice(string.ascii_letters) + "".join([*must, *rest])


_FIELDS: dict[str, Callable[[int, random.Random], str]] = {
    "uuid": lambda _, dice: str(UUID(int=dice.getrandbits(128), version=4)),
    "password": _password,
    "basic": lambda _, dice: b64encode(f"ada:{_password(12, dice)}".encode()).decode(),
}


def pem(kind: str, dice: random.Random, newline: str = "\n") -> str:
    """Return a private key block of `kind` ("RSA "), of random content."""
    lines = [_mixed(ALPHABETS["b64"], 64, dice) for _ in range(20)]
    lines.append(_mixed(ALPHABETS["b64"], 38, dice) + "==")
    dash = "-" * 5
    name = f"{kind}PRIVATE KEY" + " BLOCK" * kind.startswith("PGP")
    return newline.join([f"{dash}BEGIN {name}{dash}", *lines, f"{dash}END {name}{dash}"])


# -- ordinary text ------------------------------------------------------------------------------


def ordinary() -> list[str]:
    """Return the project's own ordinary sentences, tricky ones: one a line."""
    lines = (DATA / "ordinary.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, between 15 and 600 characters long."""
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'(])", " ".join(paragraph.split())):
            if 15 <= len(sentence) <= 600:
                yield sentence


def documents(*, every: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield texts of this machine: the standard library's, git's manual, what packages say of
    themselves; with `every`, also the code of packages and all of /usr/share/doc.
    """
    standard, site = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    yield from _prose(standard.glob("*.py"))
    yield from _prose(standard.glob("*/*.py"))
    yield from _prose(Path("/usr/share/man/man1").glob("git*.gz"))
    about = site.glob("*.dist-info/METADATA")
    # PyJWT's own page shows a token, whole and well signed: that one is found, as it should be.
    yield from _prose(path for path in about if not path.parent.name.lower().startswith("pyjwt"))
    if every:
        yield from _prose(site.glob("*/**/*.py"))
        yield from _prose(Path("/usr/share/man").glob("man*/*.gz"))
        yield from _prose(Path("/usr/share/doc").rglob("*"))


def _prose(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for path in sorted(paths):
        if not path.is_file() or path.suffix in {".png", ".jpg", ".pdf", ".xz"}:
            continue
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode(errors="replace")
        if path.suffix == ".py":
            text = "\n\n".join(re.findall(r'"""(.*?)"""', text, re.DOTALL))
        if "/man/" in str(path):
            text = re.sub(r"\\f[BIRP]|^\.\w+ ?|\\", "", text, flags=re.MULTILINE)
        yield path, text
