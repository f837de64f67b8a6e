"""Commands that are killed at random times and started again: ``python -m fuzz.kills N [SEED]`` in tests/.

Each is killed with SIGKILL until it ends by itself; its output must be the bytes of a run that was left
alone, nothing half-written may be there in between, and nothing it prints may be a traceback.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from gdlnn import make_ba_2motifs
from reference.models import quick

RUN = "from gdlnn.cli import main; main()"
COMMANDS: dict[str, list[str]] = {
    "mine": ["mine", "d.gdlds", "--part", "all", "-q", "-o", "out.gdl", "--checkpoint", "run"],
    "train": ["train", "d.gdlds", "--split", "random", "-q", "-o", "out.gdlnn", "--checkpoint", "run"],
    "predict": ["predict", "m.gdlnn", "many.gdlds", "-o", "out.csv", "--checkpoint", "run"],
    "explain": ["explain", "m.gdlnn", "d.gdlds", "--all", "-o", "out.json", "--checkpoint", "run"],
    "evaluate": [
        *("evaluate", "accuracy", "--datasets", "synthetic:ba-2motifs:30:1", "--jobs", "1"),
        *("--methods", "majority,gdlnn", "--runs", "2", "--out", "out"),
    ],
}  # fmt: skip


def output(folder: Path, words: list[str]) -> bytes | None:
    """Return what a command has written, or None."""
    path = folder / words[-1] if words[0] == "evaluate" else folder / words[words.index("-o") + 1]
    if path.is_dir():  # times differ from run to run; which cells are done does not
        return b" ".join(sorted(str(file.relative_to(path)).encode() for file in path.rglob("*.json")))
    return path.read_bytes() if path.exists() else None


def prepare(folder: Path) -> None:
    """Write a model and data."""
    motifs = make_ba_2motifs(40, seed=8)
    motifs.save(folder / "d.gdlds")
    make_ba_2motifs(3000, seed=9).save(folder / "many.gdlds")
    quick().fit(motifs[:30]).save(folder / "m.gdlnn")


def start(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """Start a command in a folder."""
    command = [sys.executable, "-c", RUN, *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main(words: list[str]) -> None:
    """Kill the commands in turn until there were enough kills."""
    wanted, seed = (int(words[0]) if words else 100), (int(words[1]) if len(words) > 1 else 0)
    names = words[2:] or list(COMMANDS)
    rng, kills, runs = random.Random(seed), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.mkdir()
        prepare(source)
        expected: dict[str, bytes | None] = {}
        seconds: dict[str, float] = {}
        for command in names:
            begin = time.monotonic()
            alone = Path(shutil.copytree(source, Path(name) / f"alone-{command}"))
            process = start(alone, COMMANDS[command])
            said = process.communicate()[1]
            assert process.returncode == 0, said.decode()
            expected[command], seconds[command] = output(alone, COMMANDS[command]), time.monotonic() - begin
        while kills.total() < wanted:
            command = names[runs.total() % len(names)]
            folder = Path(shutil.copytree(source, Path(name) / f"{command}-{runs.total()}"))
            for attempt in range(12):
                process = start(folder, COMMANDS[command])
                try:
                    patience = None if attempt == 11 else rng.uniform(0.2, 1.3) * seconds[command]
                    said = process.communicate(timeout=patience)[1]
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    said = process.communicate()[1]
                    kills[command] += 1
                assert b"Traceback" not in said, said.decode()
                found = output(folder, COMMANDS[command])
                if process.returncode == 0:
                    break
                assert process.returncode == -signal.SIGKILL, said.decode()
                assert command == "evaluate" or found in (None, expected[command]), f"{command}: half a file"
            assert found == expected[command], f"{command}: other bytes"
            runs[command] += 1
            print(f"{command}: the same bytes; {kills.total()} kills so far", flush=True)
            shutil.rmtree(folder)
    for command in names:
        print(f"{command:9} {kills[command]:4} kills, {runs[command]:3} runs: the bytes of a run alone")
    print(f"{kills.total()} kills, seed {seed}")


if __name__ == "__main__":
    main(sys.argv[1:])
