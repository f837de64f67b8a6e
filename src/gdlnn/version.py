"""The version of the package, which files and workers must match."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """Return the version of the package, or nothing if it is not installed."""
    try:
        return version("gdlnn")
    except PackageNotFoundError:
        return ""
