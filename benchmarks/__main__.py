"""Run the benchmarks: all of them, or those whose names are given."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

KNOWN = sorted(
    module.name
    for module in pkgutil.iter_modules([str(Path(__file__).parent)])
    if not module.name.startswith("_")
)


def main(words: list[str]) -> int:
    """Run the benchmarks named before the first option; the options go to those that take any.

    Returns the largest exit code of those that give one.
    """
    n_names = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:n_names], words[n_names:]
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        print(f"benchmarks: expected names out of {', '.join(KNOWN)}, got {unknown[0]}", file=sys.stderr)
        return 2
    exit_code = 0
    for name in names or KNOWN:
        print(f"== {name}")
        run = importlib.import_module(f"benchmarks.{name}").run
        # A benchmark that is asked for by name may take options; among all others it runs in short.
        result = run(options) if names and inspect.signature(run).parameters else run()
        exit_code = max(exit_code, result or 0)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
