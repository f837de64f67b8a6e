"""RDKit, where it is installed, and without its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.errors import require

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType


def chem(purpose: str) -> ModuleType:
    """Return RDKit's Chem module, or raise an error that says how to install it."""
    return require("rdkit.Chem", "chem", purpose)


def without_messages(purpose: str) -> AbstractContextManager[Any]:
    """Return a context in which RDKit writes no messages: GDLNN reports what it finds itself."""
    return require("rdkit.rdBase", "chem", purpose).BlockLogs()  # type: ignore[no-any-return]
