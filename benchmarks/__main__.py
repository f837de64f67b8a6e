"""Run the benchmarks: all of them, or those whose names are given."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

KNOWN = sorted(
    module.name
    for module in pkgutil.iter_modules([str(Path(__file__).parent)])
    if not module.name.startswith("_")
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        print(f"benchmarks: expected names out of {', '.join(KNOWN)}, got {unknown[0]}", file=sys.stderr)
        return 2
    for name in names or KNOWN:
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
