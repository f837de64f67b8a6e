"""The browser that the tests of pages share."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium once; without it the tests are skipped."""
    from reference.chromium import started_browser

    with started_browser() as started:
        yield started
