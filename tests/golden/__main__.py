"""Make golden files, or train the cases anew and write down every bit.

::

    export PYTHONPATH=.:tests
    python -m golden write NAME ...   # train the models, ask them, keep both (all cases without a name)
    python -m golden answer NAME ...  # ask the stored models again and keep what they say
    python -m golden trained          # keep what models say that are trained on MUTAG by the tests
    python -m golden bits FILE        # train all cases and write what they say, floats as hexadecimal
"""

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

from gdlnn import load_model
from golden.cases import CASES, TRAINED, answer_file, answers, model_file, trained_on_mutag

DATA = Path(os.environ.get("GDLNN_DATA", "."))


def write_case(name: str, *, train: bool) -> None:
    """Write the files of a case."""
    case = CASES[name]
    train_on, inputs = case.data(DATA)
    if train:
        case.model().fit(train_on).save(model_file(name))
    found = answers(case, load_model(model_file(name)), inputs)
    text = json.dumps(found, separators=(",", ":")).encode()
    answer_file(name).write_bytes(gzip.compress(text, mtime=0))
    print(name, model_file(name).stat().st_size, answer_file(name).stat().st_size, flush=True)


def write_bits(file: Path) -> None:
    """Train every case and write its answers, with floats that lose nothing."""
    found = {}
    for name, case in CASES.items():
        train_on, inputs = case.data(DATA)
        found[name] = exact(answers(case, case.model().fit(train_on), inputs))
        print(name, flush=True)
    file.write_text(json.dumps(found, indent=0) + "\n")


def exact(value: Any) -> Any:
    """Return plain values with floats as hexadecimal text."""
    if isinstance(value, dict):
        return {name: exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return value.hex() if isinstance(value, float) else value


def main(words: list[str]) -> None:
    """Run one command."""
    command, *names = words
    if command == "trained":
        TRAINED.write_text(json.dumps(trained_on_mutag(DATA), indent=1) + "\n")
        return
    if command == "bits":
        write_bits(Path(names[0]))
        return
    for name in names or CASES:
        write_case(name, train=command == "write")


if __name__ == "__main__":
    main(sys.argv[1:])
