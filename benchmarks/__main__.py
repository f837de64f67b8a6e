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
    """Run the benchmarks named before the first option; the options go to those that take any."""
    n_names = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:n_names], words[n_names:]
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        print(f"benchmarks: expected names out of {', '.join(KNOWN)}, got {unknown[0]}", file=sys.stderr)
        return 2
    for name in names or KNOWN:
        print(f"== {name}")
        run = importlib.import_module(f"benchmarks.{name}").run
        # A benchmark that is asked for by name may take options; among all others it runs in short.
        if names and inspect.signature(run).parameters:
            run(options)
        else:
            run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
