"""Entities of a text: what it names, so that memories can be found by it.

spaCy does the work, without a model: a tokeniser of our own (`entity_forms`) marks what has a
form, an entity ruler finds the gazetteer's technologies among the tokens, and `entity_senses`
drops the ordinary words among those. Where spans overlap the longest wins, of two equally long
ones the technology.
spaCy takes 0.6 s to import: only `load` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gitmem.text.entity_forms import TYPES, tokens
from gitmem.text.entity_names import gazetteer, normalise, technology
from gitmem.text.entity_senses import IDEOGRAPH, meant

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

__all__ = ["Entity", "EntityExtractor", "load", "normalise", "prose"]

LIMIT = 15
"""Most entities a text can have."""

RANK = ("technology", "issue", "person", "organisation", "path", "identifier", "url", "version")
"""What is kept first where a text names more than `LIMIT`."""

MODELS = ("en_core_web_sm", "zh_core_web_sm")
"""Statistical models that are used for people and organisations when they are installed."""

MODEL_TYPES = {"PERSON": "person", "ORG": "organisation"}

SURROGATE = re.compile("[\ud800-\udfff]")
VERSION_AFTER = re.compile(r" ?(\d+\.\d+)(?![\w.%-]*\w|%| ?(?:ms|s|[kMG]B|x|times|seconds)\b)")


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing a text names: the name it is grouped under, and where it stands (characters)."""

    name: str
    type: str
    start: int
    end: int


class EntityExtractor:
    """Finds entities; one instance serves a process (`load`)."""

    def __init__(self, nlp: Language, models: Iterable[Language] = ()) -> None:
        self._nlp = nlp
        self._models = tuple(models)

    def extract(self, text: str) -> list[Entity]:
        """Return the entities of `text` in reading order, each once, at most `LIMIT`."""
        return next(self.extract_all([text]))

    def extract_all(self, texts: Iterable[str]) -> Iterator[list[Entity]]:
        """Yield the entities of each text, in order."""
        valid = (SURROGATE.sub("\ufffd", text[: self._nlp.max_length]) for text in texts)
        for doc, text in self._nlp.pipe(((text, text) for text in valid), as_tuples=True):
            entities = _entities(doc, text)
            for model in self._models:
                if (model.lang == "zh") == bool(IDEOGRAPH.search(text)):
                    entities += _apart_from(entities, model(text).ents)
            yield _select(entities)


@cache
def load() -> EntityExtractor:
    """Build the extractor, once a process; takes about a second, most of it importing spaCy."""
    import spacy

    nlp = spacy.blank("en")
    nlp.tokenizer = _Tokenizer(nlp.vocab)
    ruler: Any = nlp.add_pipe(
        "entity_ruler", config={"phrase_matcher_attr": "LOWER", "overwrite_ents": True}
    )
    ruler.add_patterns(
        [{"label": "technology", "pattern": spelling} for spelling in gazetteer().names]
    )
    return EntityExtractor(nlp, filter(None, map(_model, MODELS)))


def _model(name: str) -> Language | None:
    if find_spec(name) is None:
        return None
    try:
        model: Language = import_module(name).load()
    except Exception:  # one made for another spaCy fails in many ways, and we do without as well
        return None
    return model


def prose(data: Any) -> str:
    """Return the words of a JSON value, one string a line: its keys are form, not content."""
    if isinstance(data, Mapping):
        data = list(data.values())
    if isinstance(data, list):
        return "\n".join(filter(None, map(prose, data)))
    return data if isinstance(data, str) else ""


class _Tokenizer:
    """Makes a Doc of `entity_forms.tokens`; the forms that are entities are its first `ents`."""

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = vocab

    def __call__(self, text: str) -> Doc:
        from spacy.tokens import Doc

        words: list[str] = []
        spaces: list[bool] = []
        ents: list[str] = []
        for match in tokens().finditer(text):
            word, form = match[0], match.lastgroup
            if form == "space" and words and not spaces[-1]:
                spaces[-1] = True
                word = word[1:]
            if word:
                words.append(word)
                spaces.append(False)
                ents.append(f"B-{form}" if form in TYPES else "O")
        return Doc(self.vocab, words=words, spaces=spaces, ents=ents)


def _entities(doc: Doc, text: str) -> list[Entity]:
    """Return the tokens with a form, the technologies that are meant, and their versions."""
    spans = meant(
        text,
        # The ruler compares tokens, not the space between them: "C # note" is not C#.
        [
            (span.start_char, span.end_char)
            for span in doc.ents
            if span.label_ == "technology" and technology(span.text)
        ],
    )
    found = [
        _entity(text, span.label_, span.start_char, span.end_char)
        for span in doc.ents
        if span.label_ != "technology" or (span.start_char, span.end_char) in spans
    ]
    for _, end in spans:
        if version := VERSION_AFTER.match(text, end):
            found.append(_entity(text, "version", *version.span(1)))
    return found


def _entity(text: str, type: str, start: int, end: int) -> Entity:
    sigil = "@" if type == "person" else ""
    return Entity(normalise(sigil + text[start:end]), type, start, end)


def _apart_from(entities: list[Entity], named: Iterable[Span]) -> list[Entity]:
    """Return the people and organisations a model `named` where nothing else was found."""
    return [
        Entity(normalise(span.text), MODEL_TYPES[span.label_], span.start_char, span.end_char)
        for span in named
        if span.label_ in MODEL_TYPES
        and all(span.end_char <= e.start or e.end <= span.start_char for e in entities)
    ]


def _select(entities: list[Entity]) -> list[Entity]:
    """Return the first mention of each entity, the `LIMIT` most telling ones, as they stand."""
    first: dict[tuple[str, str], Entity] = {}
    for entity in sorted(entities, key=lambda entity: entity.start):
        first.setdefault((entity.type, entity.name), entity)
    best = sorted(first.values(), key=lambda entity: RANK.index(entity.type))[:LIMIT]
    return sorted(best, key=lambda entity: entity.start)
