"""Commands that are killed at random times and started again: ``python -m fuzz.kills N [SEED [COMMAND …]]``.

Run it in tests/. Each command is killed with SIGKILL until it ends by itself. Its output must then have the
bytes of a run that was left alone; in between, nothing may be half-written and nothing printed may be a
traceback.
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
    "train": [
        *("train", "d.gdlds", "--split", "random", "--epsilon", "0.1", "--head", "linear", "-q"),
        *("-o", "out.gdlnn", "--checkpoint", "run"),
    ],
    "predict": ["predict", "m.gdlnn", "many.gdlds", "-o", "out.csv"],
    "explain": ["explain", "m.gdlnn", "some.gdlds", "--all", "-o", "out.json"],
}  # fmt: skip
MOST_KILLS = 11
"""Kills of one command before it is left alone."""


def output(folder: Path, words: list[str]) -> bytes | None:
    """Return what a command has written, or None."""
    path = folder / words[words.index("-o") + 1]
    return path.read_bytes() if path.exists() else None


def prepare(folder: Path) -> None:
    """Write a model and data: enough graphs that each checkpoint gets more than one record."""
    folder.mkdir()
    motifs = make_ba_2motifs(40, seed=8)
    motifs.save(folder / "d.gdlds")
    make_ba_2motifs(160, seed=9).save(folder / "some.gdlds")
    make_ba_2motifs(3000, seed=9).save(folder / "many.gdlds")
    quick().fit(motifs[:30]).save(folder / "m.gdlnn")


def start(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """Start a command in a folder."""
    command = [sys.executable, "-c", RUN, *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def run_alone(folder: Path, words: list[str]) -> tuple[bytes, float]:
    """Run a command to its end; return its output and how many seconds it took."""
    begin = time.monotonic()
    process = start(folder, words)
    said = process.communicate()[1]
    assert process.returncode == 0, said.decode()
    found = output(folder, words)
    assert found is not None
    return found, time.monotonic() - begin


def run_killed(
    folder: Path, words: list[str], expected: bytes, seconds: float, rng: random.Random
) -> list[float]:
    """Run a command until it ends by itself; return after how many seconds it was killed each time."""
    kills: list[float] = []
    while True:
        process = start(folder, words)
        patience = None if len(kills) == MOST_KILLS else rng.uniform(0.2, 1.3) * seconds
        try:
            said = process.communicate(timeout=patience)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            said = process.communicate()[1]
            kills.append(patience or 0.0)
        assert b"Traceback" not in said, said.decode()
        found = output(folder, words)
        if process.returncode == 0:
            assert found == expected, f"{words[0]}: other bytes"
            return kills
        assert process.returncode == -signal.SIGKILL, said.decode()
        assert found in (None, expected), f"{words[0]}: half a file"


def main(words: list[str]) -> None:
    """Kill the commands in turn until there were enough kills."""
    wanted, seed = (int(words[0]) if words else 100), (int(words[1]) if len(words) > 1 else 0)
    names = words[2:] or list(COMMANDS)
    rng, kills, runs = random.Random(seed), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        prepare(source)
        alone = {}
        for command in names:
            folder = Path(shutil.copytree(source, Path(name) / f"alone-{command}"))
            alone[command] = run_alone(folder, COMMANDS[command])
            print(f"{command}: {alone[command][1]:.1f} s left alone", flush=True)
        while kills.total() < wanted:
            command = names[runs.total() % len(names)]
            folder = Path(shutil.copytree(source, Path(name) / f"{command}-{runs.total()}"))
            after = run_killed(folder, COMMANDS[command], *alone[command], rng)
            kills[command] += len(after)
            runs[command] += 1
            at = " ".join(f"{one:.1f}" for one in after) or "never"
            print(f"{command}: killed at {at} s, equal bytes; {kills.total()} kills so far", flush=True)
            shutil.rmtree(folder)
    for command in names:
        print(f"{command:9} {kills[command]:4} kills, {runs[command]:3} runs: the bytes of a run alone")
    print(f"{kills.total()} kills, seed {seed}")


if __name__ == "__main__":
    main(sys.argv[1:])
