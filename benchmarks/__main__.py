"""Run the benchmarks: all of them in short, or those whose names are given, with their options."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
from pathlib import Path

import typer

from gdlnn.errors import DatasetError

KNOWN = sorted(
    module.name
    for module in pkgutil.iter_modules([str(Path(__file__).parent)])
    if not module.name.startswith("_")
)


def main(words: list[str]) -> int:
    """Run the benchmarks named before the first option, each with the options.

    A module has a function `run`, whose parameters are the options, and may have `SHORT`, the values of some
    for a run of all benchmarks. Returns 1 if a benchmark lacks its data, 2 for an unknown name.
    """
    n_names = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:n_names], words[n_names:]
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        print(f"benchmarks: expected names out of {', '.join(KNOWN)}, got {unknown[0]}", file=sys.stderr)
        return 2
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    exit_code = 0
    for name in names or KNOWN:
        print(f"== {name}", flush=True)
        module = importlib.import_module(f"benchmarks.{name}")
        try:
            if names:
                app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
                app.command()(module.run)
                app(options, prog_name=f"python -m benchmarks {name}", standalone_mode=False)
            else:
                module.run(**getattr(module, "SHORT", {}))
        except DatasetError as error:
            print(f"{name}: nothing is measured: {error}", file=sys.stderr)
            exit_code = 1
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
