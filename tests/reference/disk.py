"""A disk with little room, for tests of what is written to it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def little_room(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a full disk would not."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
