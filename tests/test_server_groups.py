"""Small requests that wait for a worker are answered together; nobody pays for what others sent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from gdlnn.errors import ServerError
from gdlnn.model.model_folder import load_models
from gdlnn.server.answers import Answers
from gdlnn.server.grouping import MOST_TOGETHER, SMALL_BYTES, Predictions
from gdlnn.server.limits import Limits
from gdlnn.server.workers import (
    BAD_REQUEST,
    OK,
    Answer,
    BusyError,
    TooSlowError,
    _answered_each,
    packed,
    read_message,
)
from reference.server_models import molecules_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("rdkit")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    path: Path = molecules_file(tmp_path_factory.mktemp("molecules"))[0]
    return Answers(load_models(path), Limits(batch=3))


def test_each_request_of_a_group_gets_its_own_answer(answers: Answers) -> None:
    asked: list[dict[str, Any]] = [{"smiles": "CCO"}, {"smiles": ["C"] * 4}, {"smiles": ["C(", "Nc1ccccc1"]}]
    found = answers.predict_each(asked)
    assert isinstance(found[1], ServerError)
    for one, got in ((asked[0], found[0]), (asked[2], found[2])):
        expected = answers.predict(one)
        assert isinstance(got, dict)
        for row, other in zip(got["rows"], expected["rows"], strict=True):
            assert row.get("probability") == pytest.approx(other.get("probability"), abs=1e-6)
            assert {k: v for k, v in row.items() if not k.startswith(("prob", "unc"))} == {
                k: v for k, v in other.items() if not k.startswith(("prob", "unc"))
            }


def test_a_message_holds_the_answers_one_after_another(answers: Answers) -> None:
    import io

    bodies = [json.dumps({"smiles": text}).encode() for text in ("CCO", ["C"] * 4, "CCN")]
    message = _answered_each(answers, [len(body) for body in bodies], b"".join(bodies))
    header, body = read_message(io.BytesIO(message)) or ({}, b"")
    assert [part[0] for part in header["parts"]] == [OK, BAD_REQUEST, OK]
    assert json.loads(body[: header["parts"][0][2]])["rows"][0]["smiles"] == "CCO"


class FakePool:
    """A pool of one worker that answers with what it was asked, when it is let."""

    def __init__(self, group_fails: bool = False) -> None:
        self.limits, self.n_waiting, self.n_idle = Limits(waiting=20), 0, 0
        self.free = asyncio.Event()
        self.group_fails, self.groups, self.alone = group_fails, 0, 0

    async def ask(self, do: str, body: bytes) -> Answer:
        assert do == "predict"
        self.alone += 1
        if b"bad" in body:
            raise TooSlowError
        return Answer(OK, "", body)

    async def ask_for(self, message: Callable[[], bytes]) -> Answer:
        import io

        self.n_waiting += 1
        await self.free.wait()
        self.n_waiting -= 1
        header, body = read_message(io.BytesIO(message())) or ({}, b"")
        self.groups += 1
        if self.group_fails:
            raise TooSlowError
        return Answer(OK, "", body, [(OK, "", size) for size in header["options"]["sizes"]])


async def gathered(pool: FakePool, bodies: list[bytes], leave: int = 0) -> list[Any]:
    predictions = Predictions(pool)  # type: ignore[arg-type]
    tasks = [asyncio.create_task(predictions.ask(body)) for body in bodies]
    await asyncio.sleep(0.01)
    for task in tasks[:leave]:
        task.cancel()
    await asyncio.sleep(0.01)
    pool.free.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_what_waits_is_asked_together() -> None:
    async def run() -> None:
        pool = FakePool()
        bodies = [f"question {i}".encode() for i in range(MOST_TOGETHER + 2)]
        found = await gathered(pool, bodies)
        assert [answer.body for answer in found] == bodies
        assert (pool.groups, pool.alone, pool.n_waiting) == (2, 0, 0)

    asyncio.run(run())


def test_what_is_large_or_finds_a_worker_does_not_wait() -> None:
    async def run() -> None:
        pool = FakePool()
        found = await gathered(pool, [b"x" * (SMALL_BYTES + 1)])
        assert (len(found[0].body), pool.alone, pool.groups) == (SMALL_BYTES + 1, 1, 0)
        pool.n_idle = 1
        await gathered(pool, [b"x"])
        assert (pool.alone, pool.groups) == (2, 0)

    asyncio.run(run())


def test_a_group_that_fails_is_asked_one_by_one() -> None:
    async def run() -> None:
        pool = FakePool(group_fails=True)
        found = await gathered(pool, [b"good", b"bad", b"fine"])
        assert [found[0].body, found[2].body] == [b"good", b"fine"]
        assert isinstance(found[1], TooSlowError)

    asyncio.run(run())


def test_clients_that_leave_are_not_asked_for_and_too_many_are_told() -> None:
    async def run() -> None:
        pool = FakePool()
        found = await gathered(pool, [b"1", b"2", b"3"], leave=2)
        assert [type(one) for one in found[:2]] == [asyncio.CancelledError] * 2
        assert found[2].body == b"3"
        pool = FakePool()
        found = await gathered(pool, [b"1", b"2"], leave=2)
        assert (pool.groups, pool.n_waiting) == (0, 1)  # the fake counts; the question was given up
        pool = FakePool()
        found = await gathered(pool, [str(i).encode() for i in range(30)])
        assert sum(isinstance(one, BusyError) for one in found) > 0

    asyncio.run(run())


def test_a_message_is_read_as_it_was_packed() -> None:
    import io

    assert read_message(io.BytesIO(packed({"do": "x"}, b"abc"))) == ({"do": "x"}, b"abc")
