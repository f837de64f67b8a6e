"""The browser that the tests of pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium once; without it the tests are skipped."""
    from reference.chromium import started_browser

    with started_browser() as started:
        yield started
