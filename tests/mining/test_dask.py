"""Mining and predicting on a Dask cluster: the same bytes as here, whichever worker joins or dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import joblib
import pytest

from gdlnn import GraphDataset, make_ba_2motifs, mine
from gdlnn.cli import main, options
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.errors import WorkerError
from gdlnn.model.representation import stream_predictions
from reference.mining_cases import random_trees
from reference.models import quick

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when it closes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Cluster:
    """A scheduler in this process, and workers that nobody restarts."""

    def __init__(self, client: Any) -> None:
        self.client, self.workers = client, list[subprocess.Popen[bytes]]()

    @property
    def address(self) -> str:
        return str(self.client.scheduler.address)

    def start(self) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        given = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        self.workers.append(subprocess.Popen([*command, *given], stderr=subprocess.DEVNULL))

    def replace(self) -> None:
        """Kill the first worker and start another one."""
        self.workers[0].send_signal(signal.SIGKILL)
        self.start()


@contextmanager
def cluster(n_workers: int) -> Iterator[Cluster]:
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as scheduler,
        distributed.Client(scheduler) as client,
    ):
        found = Cluster(client)
        try:
            for _ in range(n_workers):
                found.start()
                client.wait_for_workers(len(found.workers), timeout=60)
            yield found
        finally:
            for process in found.workers:
                process.kill()
                process.wait()


def records(checkpoint: Path) -> int:
    return checkpoint.read_bytes().count(b"\n") - 1 if checkpoint.exists() else 0


def check_mining_through_a_death(dataset: GraphDataset, checkpoint: Path, after: int) -> None:
    """Mine on two workers, of which one is killed and replaced after so many records."""
    expected = mine(dataset, n_jobs=2)
    killed_at = []
    with cluster(2) as workers, joblib.parallel_config("dask"):

        def disturb() -> None:
            while records(checkpoint) < after:
                time.sleep(0.005)
            workers.replace()
            killed_at.append(records(checkpoint))

        thread = threading.Thread(target=disturb)
        thread.start()
        found = mine(dataset, checkpoint=checkpoint)
        thread.join()
    assert after <= killed_at[0] < expected.stats["tasks"], "mining was over before the worker died"
    assert found.complete
    assert found.to_text() == expected.to_text()
    assert records(checkpoint) == expected.stats["tasks"]  # no result twice


@pytest.mark.long
def test_mining_through_the_death_of_a_worker(tmp_path: Path) -> None:
    check_mining_through_a_death(random_trees(400, nodes=18), tmp_path / "run", 100)


@pytest.mark.long
def test_predictions_through_the_death_of_a_worker(tmp_path: Path) -> None:
    model = quick().fit(make_ba_2motifs(24, random_state=8))
    make_ba_2motifs(400, random_state=9).save(tmp_path / "d.jsonl")

    def batches() -> Any:
        return batched_dataset(str(tmp_path / "d.jsonl"), 10).batches

    expected = list(stream_predictions([model], batches()))
    with cluster(2) as workers, joblib.parallel_config("dask"):
        answers = stream_predictions([model], batches())
        found = [next(answers)]
        workers.replace()
        found += answers
    assert found == expected


def test_a_cluster_gives_the_same_file(tmp_path: Path) -> None:
    trees = random_trees(30)
    trees.save(tmp_path / "trees.jsonl")
    words = ["mine", str(tmp_path / "trees.jsonl"), "--split", "none", "-o", str(tmp_path / "p.gdl")]
    with cluster(2) as workers, pytest.raises(SystemExit) as end:
        main([*words, "--dask", workers.address])
    assert end.value.code == 0
    assert (tmp_path / "p.gdl").read_text() == mine(trees).to_text()


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "DASK_SECONDS", 1)
    with (
        pytest.raises(WorkerError, match=r"--dask: expected the address of a scheduler.*127\.0\.0\.1:9"),
        options.on_processes("tcp://127.0.0.1:9"),
    ):
        pass
    with (
        cluster(0),
        joblib.parallel_config("dask", wait_for_workers_timeout=1),
        pytest.raises(WorkerError, match="no worker after 1 seconds"),
    ):
        mine(random_trees(30))
