"""Mining on a Dask cluster: the same bytes as here, whoever joins, leaves or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gdlnn import (
    GraphDataset,
    MiningError,
    WorkerError,
    load_dataset,
    make_ba_2motifs,
    mine,
    workers,
)
from gdlnn.cli import main
from gdlnn.cluster import dask_executor
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.model.representation import stream_predictions
from reference.mining_cases import random_trees
from reference.models import quick

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, on its way out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def scheduler() -> Iterator[Any]:
    """Run a scheduler without workers in this process; give a client."""
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def worker_processes(
    client: Any, n: int
) -> Iterator[tuple[list[subprocess.Popen[bytes]], Callable[[], None]]]:
    """Start workers that nobody restarts; give their processes, and a call that starts another one."""
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
        processes.append(
            subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )

    for _ in range(n):
        start()
    client.wait_for_workers(n, timeout=60)
    try:
        yield processes, start
    finally:
        for process in processes:
            process.kill()
            process.wait()


def records(checkpoint: Path) -> int:
    return checkpoint.read_bytes().count(b"\n") - 1 if checkpoint.exists() else 0


def mine_through_a_death(
    dataset: GraphDataset, checkpoint: Path, after: int, **options: Any
) -> tuple[str, int]:
    """Mine on two workers; after so many records one is killed, and then another joins."""
    sent: list[int] = []
    with scheduler() as client, worker_processes(client, 2) as (processes, start):

        def disturb() -> None:
            while records(checkpoint) < after:
                time.sleep(0.005)
            processes[0].send_signal(signal.SIGKILL)
            sent.append(records(checkpoint))
            start()

        thread = threading.Thread(target=disturb)
        thread.start()
        found = mine(dataset, executor=client.get_executor(), checkpoint=checkpoint, **options)
        thread.join()
        assert processes[0].wait() == -signal.SIGKILL
    assert found.complete
    return found.to_text(), sent[0]


def test_a_killed_worker_and_a_new_one_change_nothing(tmp_path: Path) -> None:
    dataset = random_trees(400, nodes=18)
    expected = mine(dataset, n_jobs=2)
    found, at = mine_through_a_death(dataset, tmp_path / "run", 100)
    assert 100 <= at < expected.stats.tasks, "mining was over before the worker died"
    assert found == expected.to_text()
    assert records(tmp_path / "run") == expected.stats.tasks  # no result twice


@pytest.mark.long
def test_predictions_through_a_death(tmp_path: Path) -> None:
    model = quick().fit(make_ba_2motifs(24, seed=8))
    graphs = make_ba_2motifs(400, seed=9)
    graphs.save(tmp_path / "d.gdlds")
    with scheduler() as client, worker_processes(client, 2) as (processes, start):
        batches = batched_dataset(str(tmp_path / "d.gdlds"), 10).batches
        answers = stream_predictions([model], batches, client.get_executor())
        found = [next(answers)]
        processes[0].send_signal(signal.SIGKILL)
        start()
        found += answers
    labels = [one.label for answer in found for one in answer.predictions[0]]
    assert labels == model.predict(graphs).tolist()


@pytest.mark.long
@pytest.mark.data
def test_the_whole_of_bbbp_through_a_death(data_dir: Path, tmp_path: Path) -> None:
    train = load_dataset("BBBP", data_dir, download=False).split("paper")[0]
    assert len(train) == 1631
    expected = mine(train, n_jobs=2).to_text()
    found, at = mine_through_a_death(train, tmp_path / "run", 600)
    assert 600 <= at < 1500
    assert found == expected


def test_data_goes_to_each_worker_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = random_trees(30)
    sent: list[bool] = []
    submit = workers.Workers.submit

    def spied(self: workers.Workers, *arguments: Any, **options: Any) -> Any:
        sent.append(bool(options.get("with_data")))
        return submit(self, *arguments, **options)

    monkeypatch.setattr(workers.Workers, "submit", spied)
    with dask_executor("local:2") as (executor, said):
        assert said == "2 worker processes on this machine"
        found = mine(dataset, executor=executor)
        assert found.to_text() == mine(dataset).to_text()
        client = executor._client  # type: ignore[attr-defined]
        kept = client.run(lambda: len(workers._KEPT))
        assert list(kept.values()) == [1, 1]
    assert sent
    assert not any(sent)  # the scheduler had handed it out


def test_a_lost_scheduler_is_told(tmp_path: Path) -> None:
    dataset = random_trees(400, nodes=24)
    checkpoint = tmp_path / "run"
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    client = distributed.Client(cluster)

    def end() -> None:
        while records(checkpoint) < 5:
            time.sleep(0.01)
        client.close()

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(MiningError, match="or the scheduler"):
        mine(dataset, executor=client.get_executor(), checkpoint=checkpoint)
    thread.join()
    cluster.close()
    assert records(checkpoint) >= 5


@pytest.mark.long
def test_a_job_that_kills_its_workers_is_named() -> None:
    config = pytest.importorskip("dask").config
    with config.set({"distributed.scheduler.allowed-failures": 0}), dask_executor("local:1") as (executor, _):
        shared = workers.Shared("poison", lambda: b"", str)
        with workers.Workers(executor, shared, "test") as crew:
            done: workers.Done[Any, Any] = workers.Done(crew, _poison)
            done.send((), blames=workers.BLAMES)
            found: list[Any] = []
            while not found:
                found += [answer for _, answer in done.take(0.2)]
    assert isinstance(found[0], workers.WorkerDiedError)


def _poison(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random_trees(30).save(tmp_path / "trees.gdlds")
    words = ["mine", str(tmp_path / "trees.gdlds"), "--part", "all", "-o", str(tmp_path / "p.gdl")]
    with pytest.raises(SystemExit) as end:
        main([*words, "--dask", "local:1"])
    assert end.value.code == 0
    assert "1 worker processes on this machine" in capsys.readouterr().err
    assert (tmp_path / "p.gdl").read_text() == mine(random_trees(30)).to_text()


@pytest.mark.parametrize("where", ["local:", "local:none", "local:0", "local:-2"])
def test_a_bad_number_of_processes(where: str) -> None:
    with pytest.raises(WorkerError, match="expected local:N with a number"), dask_executor(where):
        pass


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdlnn.cluster.WAIT_SECONDS", 1)
    with (
        pytest.raises(WorkerError, match="expected local:N or a scheduler"),
        dask_executor("tcp://127.0.0.1:9"),
    ):
        pass
    with (
        scheduler() as client,
        pytest.raises(WorkerError, match="expected at least one worker"),
        dask_executor(client.scheduler.address),
    ):
        pass
