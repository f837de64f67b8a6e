"""Crafted files for every reader: ``python -m fuzz.readers FILES SEED`` in tests/ counts how they end."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzz.targets import TARGETS, seeds

PIECES = (
    b"", b"nan", b"NaN", b"Infinity", b"1e39", b"1e308", b"-1", b"0", b"1_0", b"99999999999999999999", b"\0",
    b"\xff", b"{}", b"[]", b"[[", b'"', b"\n", b",", b"null", b"true", b'"no"', b"\x1b[2J",
    b"0-999999999", b"$$$$\n", b"\t",
)  # fmt: skip


def crafted(rng: random.Random, data: bytes) -> bytes:
    """Return a file with a few pieces cut, doubled, moved or replaced."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        at, length = rng.randrange(len(changed) + 1), rng.choice((0, 1, 2, 5, 20, 200))
        kind = rng.randrange(5)
        if kind == 0:
            changed[at : at + length] = rng.choice(PIECES)
        elif kind == 1:
            changed[at : at + length] = changed[at : at + length] * rng.randint(2, 50)
        elif kind == 2:
            changed[at : at + length] = rng.randbytes(length)
        elif kind == 3:
            del changed[at:][: rng.randrange(1 + len(changed))]
            changed = changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.2 else changed
        else:
            other = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[other : other + length]
    return bytes(changed)


def main(words: list[str]) -> None:
    """Craft files over all readers; one that ends otherwise than it may is kept and ends the run."""
    n_files, seed = (int(words[0]) if words else 2000), (int(words[1]) if len(words) > 1 else 0)
    rng, counts, slowest = random.Random(seed), Counter[tuple[str, str]](), (0.0, "")
    for number in range(n_files):
        name = list(TARGETS)[number % len(TARGETS)]
        data = crafted(rng, rng.choice(seeds(name)))
        begin = time.process_time()
        try:
            counts[name, TARGETS[name](data)] += 1
        except BaseException:
            kept = Path(tempfile.gettempdir()) / f"crafted-{name}-{seed}-{number}"
            kept.write_bytes(data)
            print(f"{name}: file {number} of seed {seed} ended otherwise; it is {kept}", flush=True)
            raise
        slowest = max(slowest, (time.process_time() - begin, f"{name} {number}"))
    for name in TARGETS:
        print(f"{name:12} {counts[name, 'read']:6} read {counts[name, 'refused']:6} refused")
    print(f"{n_files} files, seed {seed}; the slowest took {slowest[0]:.2f} s ({slowest[1]})")


if __name__ == "__main__":
    main(sys.argv[1:])
