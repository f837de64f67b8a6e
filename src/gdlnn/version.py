"""The version of the package, as files and workers are asked to agree on it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """Return the version of the package, or nothing where it is used without being installed."""
    try:
        return version("gdlnn")
    except PackageNotFoundError:
        return ""
