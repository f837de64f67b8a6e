"""Small requests that wait for a worker are answered together: many graphs take hardly longer than one.

A request that finds an idle worker does not wait for others. A group that fails is asked again one by one, so
that nobody pays for what somebody else sent.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gdlnn.server.workers import OK, Answer, BusyError, TooSlowError, WorkerGoneError, packed

if TYPE_CHECKING:
    from gdlnn.server.workers import WorkerPool

MOST_TOGETHER = 16
SMALL_BYTES = 2048  # of one request: a few molecules


class _Group:
    """Requests that wait for a worker together."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.answers: list[asyncio.Future[Answer]] = []
        self.task: asyncio.Task[None] | None = None

    def add(self, body: bytes) -> asyncio.Future[Answer]:
        """Take a request; its answer comes later."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(self._left)
        self.bodies.append(body)
        self.answers.append(answer)
        return answer

    def _left(self, _: asyncio.Future[Answer]) -> None:
        """Give up when every client has left."""
        if self.task is not None and all(answer.cancelled() for answer in self.answers):
            self.task.cancel()

    def waiting(self) -> list[tuple[bytes, asyncio.Future[Answer]]]:
        """Return the requests that somebody still waits for."""
        pairs = zip(self.bodies, self.answers, strict=True)
        return [(body, answer) for body, answer in pairs if not answer.done()]


class Predictions:
    """Asks a pool for predictions, small requests together.

    Parameters
    ----------
    pool
        The workers.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self._group: _Group | None = None

    async def ask(self, body: bytes) -> Answer:
        """Return the answer to a request; raises what `WorkerPool.ask` raises."""
        if len(body) > SMALL_BYTES or (self._group is None and self.pool.n_idle):
            return await self.pool.ask("predict", body)
        group = self._group
        if group is None or len(group.bodies) >= MOST_TOGETHER:
            group = self._group = _Group()
            answer = group.add(body)
            group.task = asyncio.create_task(self._run(group))
            return await answer
        if self.pool.n_waiting >= self.pool.limits.waiting:
            raise BusyError
        self.pool.n_waiting += 1  # the first of a group is counted by the pool
        try:
            return await group.add(body)
        finally:
            self.pool.n_waiting -= 1

    async def _run(self, group: _Group) -> None:
        asked: list[tuple[bytes, asyncio.Future[Answer]]] = []

        def message() -> bytes:
            """Close the group: a worker is there."""
            self._close(group)
            asked.extend(group.waiting())
            sizes = [len(body) for body, _ in asked]
            return packed({"do": "predict_each", "options": {"sizes": sizes}}, b"".join(b for b, _ in asked))

        try:
            found = await self.pool.ask_for(message)
        except BusyError:
            self._close(group)
            for _, answer in group.waiting():
                _fail(answer, BusyError())
            return
        except (TooSlowError, WorkerGoneError) as failure:
            if len(asked) == 1:
                _fail(asked[0][1], failure)
                return
            found = None
        finally:
            self._close(group)
        if found is None or found.status != OK:
            await asyncio.gather(*(self._alone(body, answer) for body, answer in asked))
            return
        start = 0
        for (_, answer), (status, reason, size) in zip(asked, found.parts, strict=True):
            if not answer.done():
                answer.set_result(Answer(status, reason, found.body[start : start + size]))
            start += size

    async def _alone(self, body: bytes, answer: asyncio.Future[Answer]) -> None:
        """Ask again for one of a group that failed."""
        if answer.done():
            return
        try:
            found = await self.pool.ask("predict", body)
        except (BusyError, TooSlowError, WorkerGoneError) as failure:
            _fail(answer, failure)
        else:
            if not answer.done():
                answer.set_result(found)

    def _close(self, group: _Group) -> None:
        if self._group is group:
            self._group = None


def _fail(answer: asyncio.Future[Answer], failure: Exception) -> None:
    if not answer.done():
        answer.set_exception(failure)
