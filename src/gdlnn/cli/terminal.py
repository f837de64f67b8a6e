"""What commands print, on both streams: names come from files, and must not drive the terminal.

Every command prints through `echo`, and the package's log through `PrintableFormatter`. Tables of rich have
cells that are escaped where they are made.
"""

from __future__ import annotations

import logging

import typer

from gdlnn.errors import printable


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text with its control characters as escapes.

    Parameters
    ----------
    text
        What to print; line breaks and tabs stay.
    err
        Whether to print it to standard error.
    nl
        Whether a line break follows.
    """
    typer.echo(printable(text), err=err, nl=nl)


class PrintableFormatter(logging.Formatter):
    """Write the lines of a log with control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return printable(super().format(record))
