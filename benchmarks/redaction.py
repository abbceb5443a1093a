"""What the rules for secrets find and what they leave alone, and the time they take.

    python benchmarks/redaction.py [--each N] [--every]

The secrets are made from `tests/data/secrets/kinds.toml`, N of each form (default 100), at random
from a fixed seed. The ordinary sentences are those of documents on this machine: the standard
library's, git's manual, what packages say of themselves; with --every of all there are. The hostile
texts repeat one part: where their time more than doubles with their length, a rule runs away.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

sys.path.insert(0, str(ROOT))

from gitmem.text.fence import inert, unfenced  # noqa: E402
from gitmem.text.secrets import find, redact  # noqa: E402
from tests.text.secret_corpus import HOSTILE, documents, secrets, sentences  # noqa: E402

SIZES = tuple(1 << power for power in (14, 15, 16, 17, 18))


def recall(each: int) -> None:
    """Print how many secrets are found, and which kinds are not always."""
    made = secrets(each)
    missed = [secret.rule for secret in made if secret.secret in redact(secret.text).text]
    kinds = len({secret.rule for secret in made})
    print(f"secrets    {len(made) - len(missed)} of {len(made)} found, {kinds} kinds")
    for rule in sorted(set(missed)):
        print(f"           {rule}: {missed.count(rule)} missed")


def precision(every: bool) -> None:
    """Print how many ordinary sentences lose something, and what a sentence costs."""
    texts = sorted({s for _, text in documents(every=every) for s in sentences(text)})
    begin = time.perf_counter()
    touched = [text for text in texts if find(text)]
    took = time.perf_counter() - begin
    size = sum(map(len, texts))
    print(f"ordinary   {len(touched)} of {len(texts)} sentences lose something")
    print(f"time       {took / len(texts) * 1e6:.1f} µs a sentence, {size / took / 1e6:.1f} MB/s")


def growth() -> None:
    """Print the time of hostile texts of each size, and by what a doubling multiplies it."""
    print(f"hostile    ms for {', '.join(f'{size >> 10} KiB' for size in SIZES)}")
    for name, function in (("find", find), ("inert", inert), ("unfenced", unfenced)):
        for part in HOSTILE:
            times = [_best(function, (part * size)[:size]) for size in SIZES]
            if times[-1] > 0.05:
                ratio = (times[-1] / times[0]) ** (1 / (len(SIZES) - 1))
                shown = " ".join(f"{1e3 * seconds:7.1f}" for seconds in times)
                print(f"  {name:8} {part[:24]!r:28} {shown}  × {ratio:.2f}")


def _best(function: object, text: str) -> float:
    """Return the least processor time of three runs, in seconds."""
    assert callable(function)
    times = []
    for _ in range(3):
        begin = time.process_time()
        function(text)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--every", action="store_true")
    args = parser.parse_args()
    recall(args.each)
    precision(args.every)
    growth()


if __name__ == "__main__":
    main()
