"""Precision and recall of the entity extraction, and its speed.

    python benchmarks/entities.py [--data DIR] [--json]

The sentences are those of `tests/data/entities/labels.jsonl`, read from the folder of transcripts
under DIR (default: $GITMEM_SHARED_DATA, else ../shared/data). docs/entities.md says how they were
drawn and labelled. A found entity is right when its span and its type are those of a label; for
technologies the name it is grouped under is counted besides. Several mentions count once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LABELS = ROOT / "tests" / "data" / "entities" / "labels.jsonl"

sys.path.insert(0, str(ROOT))

from gitmem.text.entities import Entity, EntityExtractor, load  # noqa: E402

Row = dict[str, float]


def sentence(root: Path, label: dict[str, Any]) -> str:
    """Return the text a label points to; raises ValueError where the file has changed."""
    text = (root / label["file"]).read_text(encoding="utf-8")
    if label["pointer"]:
        lines = text.split("\n") if label["file"].endswith(".jsonl") else [text]
        value: Any = json.loads(lines[label["record"]])
        for key in label["pointer"].split("/")[1:]:
            value = value[int(key)] if isinstance(value, list) else value[key]
        text = value
    text = str(text)[label["start"] : label["end"]]
    if hashlib.sha256(text.encode()).hexdigest()[:12] != label["digest"]:
        raise ValueError(f"the text of '{label['file']}' is not the one that was labelled")
    return text


def score(pairs: Iterable[tuple[list[Entity], list[dict[str, Any]]]]) -> dict[str, Row]:
    """Return precision, recall and F1 by type, of everything, and of technologies' names."""
    found, wanted, right = Counter[str](), Counter[str](), Counter[str]()
    for entities, labels in pairs:
        got, gold = set(_keys(entities)), set(_label_keys(labels))
        for counter, keys in ((found, got), (wanted, gold), (right, got & gold)):
            counter.update(kind for kind, *_ in keys)
    return {kind: _row(found[kind], wanted[kind], right[kind]) for kind in sorted(found | wanted)}


def _keys(entities: list[Entity]) -> Iterator[tuple[str, Any]]:
    for entity in entities:
        span = (entity.start, entity.end, entity.type)
        yield from ((entity.type, span), ("all", span))
        if entity.type == "technology":
            yield "technology, by name", entity.name


def _label_keys(labels: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    return _keys([Entity(e.get("name", ""), e["type"], e["start"], e["end"]) for e in labels])


def _row(found: int, wanted: int, right: int) -> Row:
    precision, recall = right / (found or 1), right / (wanted or 1)
    f1 = 2 * precision * recall / ((precision + recall) or 1)
    return {"labels": wanted, "found": found, "precision": precision, "recall": recall, "f1": f1}


def speed(extractor: EntityExtractor, texts: list[str], rounds: int = 5) -> float:
    """Return how many texts a second `extract_all` does, in the best of some rounds."""
    best = 0.0
    for _ in range(rounds):
        start = time.perf_counter()
        done = sum(1 for _ in extractor.extract_all(texts))
        best = max(best, done / (time.perf_counter() - start))
    return best


def measure(data: Path) -> dict[str, Any]:
    """Run it all; times in seconds."""
    start = time.perf_counter()
    extractor = load()
    loading = time.perf_counter() - start
    labels = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    texts = [sentence(data / "transcripts", label) for label in labels]
    found = list(extractor.extract_all(texts))
    result: dict[str, Any] = {}
    for split in ("held-out", "dev", "all"):
        chosen = [n for n, label in enumerate(labels) if split in (label["split"], "all")]
        scores = score((found[n], labels[n]["entities"]) for n in chosen)
        result[split] = {"sentences": len(chosen), "scores": scores}
    rate = speed(extractor, texts)
    return result | {"load_seconds": loading, "texts_per_second": rate}


def _print(result: dict[str, Any]) -> None:
    for split in ("held-out", "dev", "all"):
        print(f"\n**{split}: {result[split]['sentences']} sentences**\n")
        print("| | labels | found | precision | recall | F1 |\n|---|--:|--:|--:|--:|--:|")
        for kind, row in result[split]["scores"].items():
            shares = " | ".join(f"{row[key]:.2f}" for key in ("precision", "recall", "f1"))
            print(f"| {kind} | {row['labels']} | {row['found']} | {shares} |")
    print(f"\n{result['texts_per_second']:,.0f} texts/s; {result['load_seconds']:.2f} s to load")


def main() -> int:
    """Print the figures as Markdown, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("GITMEM_SHARED_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (options.data / "transcripts").is_dir():
        print(
            f"no transcripts under '{options.data}'; give the folder with --data", file=sys.stderr
        )
        return 2
    result = measure(options.data)
    print(json.dumps(result, indent=2)) if options.json else _print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
