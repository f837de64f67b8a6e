"""What readers cost: the peak memory and the CPU time of reading files, in a process with a hard limit.

`READERS` has a function of a path for each. `measured` imports everything first, so that only reading is
counted, and gives for each file the bytes of memory at the peak, the seconds, and how it ended.
"""

import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

MB = 1 << 20
TIMES, PER_GRAPH, CONSTANT = 20, 2048, 50 * MB
"""What reading may take: so many times the content, so much for each graph, and a constant."""


class Cost(NamedTuple):
    """What reading a file took: "read", "refused" with one of our errors, or the name of another error."""

    memory: int
    seconds: float
    end: str


def most_memory(content: int, n_graphs: int = 0) -> int:
    """Return how many bytes reading may take, for the uncompressed content and the graphs in it."""
    return TIMES * content + PER_GRAPH * n_graphs + CONSTANT


def measured(jobs: Iterable[tuple[str, Path, int]]) -> list[Cost]:
    """Read files, each given as a reader, a path and the bytes of memory that it may take."""
    listed = [[reader, str(path), most] for reader, path, most in jobs]
    command = [sys.executable, "-m", "reference.reader_costs"]
    done = subprocess.run(
        command, input=json.dumps(listed), capture_output=True, text=True, check=False,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Cost(*row) for row in json.loads(done.stdout.splitlines()[-1])]


def read_model(path: Path) -> None:
    from gdlnn import load_model

    load_model(path)


def read_programs(path: Path) -> None:
    from gdlnn import ProgramSet

    ProgramSet.load(path)


def read_dataset(path: Path) -> None:
    """Read whatever the command line takes: a folder, a table, SDF or JSON Lines."""
    from gdlnn.datasets.resolve import resolve_dataset

    resolve_dataset(
        str(path), label="y" if path.suffix in (".csv", ".xlsx", ".parquet") else None, download=False
    )


def read_journal(path: Path) -> None:
    """Open a checkpoint of mining over 12 tasks and 12 graphs."""
    from gdlnn.mining.miner import Checkpoint

    Checkpoint(path, {"n_tasks": 12}, 12, 12).close()


READERS = {
    "model": read_model,
    "programs": read_programs,
    "dataset": read_dataset,
    "tables": read_dataset,
    "journal": read_journal,
}


def _status(key: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition(f"{key}:")[2].split()[0]) * 1024


def _cost(reader: str, path: Path, most: int) -> Cost:
    from gdlnn import GDLNNError

    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
    before, hard = _status("VmRSS"), resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + most + 64 * MB, hard))
    begin = time.process_time()
    try:
        READERS[reader](path)
        end = "read"
    except GDLNNError as error:
        end = f"refused: {error}"[:200]
        if "MemoryError" in repr(error.__cause__) or "llocate" in str(error):
            end = "MemoryError"
    except BaseException as error:
        end = type(error).__name__
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return Cost(_status("VmHWM") - before, time.process_time() - begin, end)


def _warm_parquet() -> None:
    """Read a small file, so that pyarrow starts its threads before memory is limited."""
    import pyarrow
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        parquet.write_table(pyarrow.table({"smiles": ["C", "CC"], "y": ["0", "1"]}), path)
        read_dataset(path)


def _warm(readers: set[str]) -> None:
    """Import what readers import; torch takes seconds, and only models need it."""
    for module in ("rdkit.Chem", "gdlnn.datasets.resolve", "gdlnn.gdl.parser", "gdlnn.mining.miner"):
        __import__(module)
    if "tables" in readers:
        _warm_parquet()
    if not readers.isdisjoint({"model", "explanation"}):
        import torch

        __import__("gdlnn.explain")
        from gdlnn import load_model

        torch.set_num_threads(1)
        load_model(Path(__file__).parent.parent / "golden" / "payments-paper.gdlnn")


def main() -> None:
    """Read the jobs from standard input, and write the costs."""
    jobs: list[Any] = json.load(sys.stdin)
    _warm({reader for reader, _, _ in jobs})
    print(json.dumps([_cost(reader, Path(path), most) for reader, path, most in jobs]))


if __name__ == "__main__":
    main()
