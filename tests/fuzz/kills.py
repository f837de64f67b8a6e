"""Commands that are killed at random times and started again: ``python -m fuzz.kills N [SEED]`` in tests/.

Each command is killed with SIGKILL until it ends by itself. Its output must then have the bytes of a run that
was left alone; in between, nothing may be half-written and nothing printed may be a traceback.
"""

import itertools
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gdlnn import make_ba_2motifs
from reference.models import quick

RUN = "from gdlnn.cli import main; main()"
MINING = ("--checkpoint", "run", "-q")
COMMANDS = {
    "out.programs": ("mine", "d.jsonl", "--split", "none", *MINING),
    "out.gdlnn": ("train", "d.jsonl", "--split", "random", "--epsilon", "0.1", "--head", "linear", *MINING),
    "out.csv": ("predict", "m.gdlnn", "many.jsonl"),
    "out.json": ("explain", "m.gdlnn", "some.jsonl", "--all"),
}
MOST_KILLS = 11  # of one command before it is left alone


def prepare(folder: Path) -> None:
    """Write a model and data: enough graphs that each checkpoint gets more than one record."""
    folder.mkdir()
    motifs = make_ba_2motifs(40, random_state=8)
    motifs.save(folder / "d.jsonl")
    make_ba_2motifs(160, random_state=9).save(folder / "some.jsonl")
    make_ba_2motifs(3000, random_state=9).save(folder / "many.jsonl")
    quick().fit(motifs[:30]).save(folder / "m.gdlnn")


def run(folder: Path, output: str, seconds: float | None = None) -> bytes | None:
    """Run a command, and kill it after some seconds; return its output, or None if it was killed."""
    command = [sys.executable, "-c", RUN, *COMMANDS[output], "-o", output]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as killed:
        ended = subprocess.CompletedProcess(command, -9, stderr=killed.stderr or b"")
    assert b"Traceback" not in ended.stderr, ended.stderr.decode()
    assert ended.returncode in (0, -9), ended.stderr.decode()
    return (folder / output).read_bytes() if ended.returncode == 0 else None


def main(words: list[str]) -> None:
    """Kill the commands in turn until there were enough kills."""
    wanted, seed = (*map(int, words), *(100, 0)[len(words) :])
    rng, n_kills = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as name:
        source, folder = Path(name) / "source", Path(name) / "run"
        prepare(source)
        alone: dict[str, tuple[bytes | None, float]] = {}
        for output in itertools.cycle(COMMANDS):
            shutil.copytree(source, folder)
            begin, (expected, seconds) = time.monotonic(), alone.get(output, (None, None))
            for _ in range(MOST_KILLS):  # none the first time, when the command is left alone
                found = run(folder, output, seconds and rng.uniform(0.2, 1.3) * seconds)
                if found is not None:
                    break
                n_kills += 1
                assert not (folder / output).exists() or (folder / output).read_bytes() == expected
            found = found or run(folder, output)
            assert found == alone.setdefault(output, (found, time.monotonic() - begin))[0], output
            shutil.rmtree(folder)
            print(f"{output}: equal bytes; {n_kills} kills of seed {seed} so far", flush=True)
            if n_kills >= wanted:
                return


if __name__ == "__main__":
    main(sys.argv[1:])
