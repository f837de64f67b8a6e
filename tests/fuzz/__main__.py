"""Fuzz a reader with atheris: ``python -m fuzz TARGET [SECONDS]`` in tests/; `make fuzz` runs all of them.

What is found on the way is kept in build/fuzz/TARGET, where the next run goes on; an input that breaks a
reader is written to build/fuzz/TARGET-crash-… and the run ends with an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent.parent
# Python files straight from src/: those that the editable installation loads cannot be instrumented.
sys.path.insert(0, str(ROOT / "src"))
sys.meta_path.sort(key=lambda finder: "Redirecting" in type(finder).__name__)

with atheris.instrument_imports(include=["gdlnn"]):
    from fuzz.targets import TARGETS, WORDS, seeds

FOLDER = ROOT / "build" / "fuzz"


def main(words: list[str]) -> None:
    """Run libFuzzer on one target; it ends the process itself."""
    if not words or words[0] not in TARGETS:
        sys.exit(f"fuzz: expected one of {', '.join(TARGETS)}, got {' '.join(words) or 'nothing'}")
    target, seconds = words[0], words[1] if len(words) > 1 else "600"
    corpus = FOLDER / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    dictionary = FOLDER / f"{target}.dict"
    entries = ('"' + "".join(f"\\x{byte:02x}" for byte in word.encode()) + '"\n' for word in WORDS[target])
    dictionary.write_text("".join(entries))
    options = [
        f"-max_total_time={seconds}",
        f"-dict={dictionary}",
        f"-artifact_prefix={FOLDER}/{target}-",
        *("-timeout=60", "-rss_limit_mb=3000", "-max_len=65536", "-print_final_stats=1", "-verbosity=1"),
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
