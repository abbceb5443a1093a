"""Entities: what a text names. Samples are exact; docs/entities.md has the figures on real text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.text import entities
from gitmem.text.entities import LIMIT, Entity, EntityExtractor, load, normalise, prose
from gitmem.text.entity_forms import tokens
from gitmem.text.entity_names import gazetteer

DATA = Path(__file__).parents[1] / "data" / "entities"
ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("GITMEM_SHARED_DATA", ROOT.parent / "shared" / "data"))
LABELS = [json.loads(line) for line in (DATA / "labels.jsonl").read_text().splitlines()]
SAMPLES = [json.loads(line) for line in (DATA / "samples.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def extractor() -> EntityExtractor:
    return load()


def names(extractor: EntityExtractor, text: str) -> list[str]:
    return [entity.name for entity in extractor.extract(text)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["text"][:40])
def test_samples_are_extracted_exactly(extractor: EntityExtractor, sample: dict[str, Any]) -> None:
    assert extractor.extract(sample["text"]) == [Entity(**label) for label in sample["entities"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Words of the language that are technologies too: by case, by neighbours, by cue.
        ("Swift is fast. Make it work, express yourself.", []),
        ("I like Ruby, Go, and C.", ["Ruby", "Go", "C"]),
        ("in C, and the R package", ["C", "R"]),
        ("go 1.22 or later; a rust crate; the express app", ["Go", "1.22", "Rust", "Express"]),
        ("windows of opportunity vs Windows and Linux", ["Windows", "Linux"]),
        ("Run `make test`, then `go build ./...`", ["GNU Make", "Go"]),
        ("backend: Rust\nnote: Go away", ["Rust"]),
        ("选项C是对的，用C写", ["C"]),
        ("C/C++/Rust, React/Vue", ["C", "C++", "Rust", "React", "Vue.js"]),
        ("# C # note", []),
        # A technology's name within another name is not the technology.
        ("docker-registry-proxy beside a Docker-based build", ["Docker"]),
        ("docs/postgres/setup.md", ["docs/postgres/setup.md"]),
        # Prose that has the form of a name, and does not count.
        ("and/or n/a 24/7 w/o km/h he/she client/server", []),
        ("e.g. this, i.e. that, U.S. law, 9 a.m., etc.", []),
        ("I finished the task.Then I left.", []),
        ("UTF-8, SHA-256, RFC-2119, DevOps, PhD, 2026-11-20T10:11:12Z, #008080", []),
        ("me@example.com, @everyone, the @property decorator", []),
        ("_private_ *emphasis* **bold** __MySQL__", ["MySQL"]),
        ("10.0.0.1 is 0.75 of 3.14", []),
        # Versions need a form or a technology in front.
        ("Django 4.2, version 2.8, v2.x, Redis 0.5 ms", ["Django", "4.2", "2.8", "2.x", "Redis"]),
        ("claude-3-5-sonnet-20240620 and GPT-4o", ["Claude", "GPT"]),
        ("see GH-77, PR 31 and acme/shop#9", ["#77", "#31", "acme/shop#9"]),
        (
            "[docs](https://Example.com/a/) <https://x.io/y>.",
            ["https://example.com/a", "https://x.io/y"],
        ),
        (
            "file:///home/x/y.txt, git@example.com:a/b.git",
            ["file:///home/x/y.txt", "git@example.com:a/b.git"],
        ),
        ("`feature/login` is behind ./scripts/test.sh:12", ["feature/login", "scripts/test.sh"]),
        ("@types/node, node_modules/@types/x", ["@types/node", "node_modules/@types/x"]),
        ("@index.ts for @张伟 and @bob-2", ["index.ts", "张伟", "bob-2"]),
        ("#postgres #queue", ["PostgreSQL"]),
    ],
)
def test_what_counts(extractor: EntityExtractor, text: str, found: list[str]) -> None:
    assert names(extractor, text) == found


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("pg", "PostgreSQL"),
        ("  Postgres ", "PostgreSQL"),
        ("k8s", "Kubernetes"),
        ("go", "Go"),
        ("VS  code", "Visual Studio Code"),
        ("阿里云", "Alibaba Cloud"),
        ("#redis", "Redis"),
        ("@Alice", "alice"),
        ("v2.1.3", "2.1.3"),
        ("gh-12", "#12"),
        ("issue 12", "#12"),
        ("./src/", "src"),
        ("run()", "run"),
        ("/review", "/review"),
        ("HTTPS://Example.com/Docs/", "https://example.com/Docs"),
        ("cafe\u0301", "caf\u00e9"),
        ("getUserName", "getUserName"),
        ("", ""),
        ("/", "/"),
    ],
)
def test_names_are_normalised(spelled: str, name: str) -> None:
    assert normalise(spelled) == name


def test_normalising_loads_no_spacy() -> None:
    code = (
        "import sys; from gitmem.text.entities import normalise;"
        "assert normalise('pg') == 'PostgreSQL'; sys.exit('spacy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_text_has_at_most_fifteen_entities_the_most_telling_ones(
    extractor: EntityExtractor,
) -> None:
    versions = " ".join(f"v{n}.0" for n in range(20))
    known = ["Redis", "MySQL", "Kafka"]
    found = extractor.extract(f"{versions} {' '.join(known)} {versions}")
    assert len(found) == LIMIT
    assert [entity.name for entity in found if entity.type == "technology"] == known
    assert found == sorted(found, key=lambda entity: entity.start)


def test_each_entity_is_named_once_where_it_first_stands(extractor: EntityExtractor) -> None:
    assert extractor.extract("pg, Postgres and PostgreSQL") == [
        Entity("PostgreSQL", "technology", 0, 2)
    ]


def test_many_texts_give_what_each_gives_alone(extractor: EntityExtractor) -> None:
    texts = [sample["text"] for sample in SAMPLES]
    assert list(extractor.extract_all(texts)) == [extractor.extract(text) for text in texts]


def test_keys_of_a_json_object_are_no_content(extractor: EntityExtractor) -> None:
    data = {"use_redis": "yes, Redis", "nested": {"file_path": ["src/a.py", 3, None]}, "empty": ""}
    assert prose(data) == "yes, Redis\nsrc/a.py"
    assert names(extractor, prose(data)) == ["Redis", "src/a.py"]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\n", "\0", "\ud800 Redis", "🎉" * 100, "\u202eRedis\u202c שלום", "Redis " * 11000],
    ids=["empty", "space", "lines", "nul", "surrogate", "emoji", "rtl", "64 KiB"],
)
def test_odd_text_does_no_harm(extractor: EntityExtractor, text: str) -> None:
    assert set(names(extractor, text)) == ({"Redis"} if "Redis" in text else set())


@given(
    st.text(
        alphabet=st.characters(codec="utf-8") | st.sampled_from("aA1./_-@#`:~*(我"), max_size=80
    )
)
def test_what_is_found_stands_there(text: str) -> None:
    found = load().extract(text)
    assert len(found) <= LIMIT
    assert all(left.end <= right.start for left, right in zip(found, found[1:], strict=False))
    for entity in found:
        sigil = "@" if entity.type == "person" else ""
        assert normalise(sigil + text[entity.start : entity.end]) == entity.name != ""


@settings(max_examples=60)
@given(st.text(alphabet="aAb1./_-@#~*+:`()我=\\$ <v,[", min_size=1, max_size=6))
@example("a/a/a/")
@example("a.")
@example("a_")
@example("-a-@")
@example("~1**.")
@example(".@@")
@example("e@@._")
@example("http://!")
@example("@A/")
@example("go, ")
def test_long_runs_are_cut_in_linear_time(unit: str) -> None:
    # Each of the examples once took minutes for 64 KiB; were one quadratic again, this would hang.
    text = (unit * 65536)[:65536]
    assert "".join(match[0] for match in tokens().finditer(text)) == text


def test_the_gazetteer_is_sorted_and_unambiguous() -> None:
    data = tomllib.loads(files("gitmem.text").joinpath("gazetteer.toml").read_text("utf-8"))
    count: Counter[str] = Counter()
    for section in data["technologies"].values():
        assert list(section) == sorted(section, key=str.casefold)
        for name, others in section.items():
            count.update({spelling.casefold() for spelling in (name, *others)})
    assert [spelling for spelling, n in count.items() if n > 1] == []
    listed = {*data["senses"]["ordinary"], *data["senses"]["strict"]}
    assert {word for word in listed if word.casefold() not in count} == set()
    assert len(count) > 1000


def test_every_spelling_is_found(extractor: EntityExtractor) -> None:
    spellings = gazetteer().names
    found = extractor.extract_all(f"it is `{spelling}` here" for spelling in spellings)
    missed = {
        spelling: [entity.name for entity in entities]
        for (spelling, name), entities in zip(spellings.items(), found, strict=True)
        if [entity.name for entity in entities] != [name]
    }
    assert missed == {}


MODEL = """
import spacy

def load():
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Grace Hopper"},
                        {"label": "ORG", "pattern": "Acme"}, {"label": "ORG", "pattern": "Redis"},
                        {"label": "DATE", "pattern": "Monday"}])
    return nlp
"""


def test_an_installed_model_adds_people_and_organisations(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "stand_in_model.py").write_text(MODEL)
    (tmp_path / "stand_in_broken.py").write_text("def load(): raise OSError('made for spaCy 2')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(entities, "MODELS", ("stand_in_model", "stand_in_broken", "stand_in_none"))
    found = load.__wrapped__().extract("Grace Hopper of Acme met Redis on Monday")
    assert [(entity.name, entity.type) for entity in found] == [
        ("Grace Hopper", "person"),
        ("Acme", "organisation"),
        ("Redis", "technology"),
    ]


def test_labels_hold_addresses_and_no_text() -> None:
    assert Counter(label["split"] for label in LABELS) == {"held-out": 160, "dev": 80}
    keys = {"file", "record", "pointer", "start", "end", "split", "digest", "entities"}
    assert {key for label in LABELS for key in label} == keys
    assert {key for label in LABELS for entity in label["entities"] for key in entity} <= {
        "start", "end", "type", "name",
    }  # fmt: skip


@pytest.mark.skipif(
    not (SHARED / "transcripts").is_dir(),
    reason="the labelled sentences stand in ../shared/data/transcripts (or $GITMEM_SHARED_DATA)",
)
def test_real_sentences_keep_their_figures() -> None:
    script = [sys.executable, "benchmarks/entities.py", "--json", "--data", str(SHARED)]
    output = subprocess.run(script, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    overall = json.loads(output)["held-out"]["scores"]["all"]
    assert overall["precision"] >= 0.92 and overall["recall"] >= 0.95


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 matches ``(?:…)*+`` wrongly; ``(?>(?:…)*)`` is right everywhere."""
    wrong = re.findall(r"\)(?:[*+?]|\{[\d,]+\})\+", tokens().pattern)
    assert wrong == []
