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


def counted(n: int, noun: str) -> str:
    """Return a number and its noun: "1 graph", "2 graphs"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def were(n: int, noun: str) -> str:
    """Return a number, its noun and its verb: "1 graph was", "2 graphs were"."""
    return f"{counted(n, noun)} {'was' if n == 1 else 'were'}"


class PrintableFormatter(logging.Formatter):
    """Write the lines of a log with control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return printable(super().format(record))
