"""The app that commands are added to: how a command prints, and how it ends.

Every command takes --verbose, before its name or after it. Errors in the input become one line and exit
code 2. SIGTERM and SIGHUP end a command as Ctrl-C does, without a half-written file. Names come from files
and must not drive the terminal: commands print through `echo`, and the log through `PrintableFormatter`.
"""

from __future__ import annotations

import logging
import os
import platform
import resource
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from gdlnn.errors import GDLNNError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

BAD_INPUT = 2  # exit code; the same as that of a wrong option
OUT_OF_MEMORY = 1  # exit code
LEAST_MEMORY = 1 << 30  # what libraries, threads and a small table take, in bytes
INTERRUPTED = 130  # exit code, as shells give it after Ctrl-C
NO_MEMORY = ("llocate memory", "failed to map segment", "can't start new thread", "bad_alloc")
STOPPED = (
    "stopped: nothing was written; an existing output file is unchanged. What a checkpoint holds is kept: "
    "the same command goes on from it."
)
HANDLER = "gdlnn-verbose"


# --- printing -----------------------------------------------------------------------------------------------


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, to standard error with `err`, with its control characters as escapes."""
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


def _send_log(formatter: PrintableFormatter | None) -> None:
    """Send the package's log to standard error; None ends that.

    Without a handler Python prints warnings itself, with whatever characters a file's names have.
    """
    logger = logging.getLogger("gdlnn")
    for handler in [handler for handler in logger.handlers if handler.name == HANDLER]:
        logger.removeHandler(handler)
    if formatter is not None:
        handler = logging.StreamHandler(sys.stderr)
        handler.name = HANDLER
        handler.setFormatter(formatter)
        first: dict[str, logging.LogRecord] = {}  # a dataset is read again for each of several models

        def is_new(record: logging.LogRecord) -> bool:
            of_data = record.name.startswith(("gdlnn.datasets", "gdlnn.graphs"))
            return not of_data or first.setdefault(record.getMessage(), record) is record

        handler.addFilter(is_new)
        logger.addHandler(handler)


# --- the option of every command ----------------------------------------------------------------------------


def is_verbose() -> bool:
    """Return whether the running command line has --verbose."""
    return logging.getLogger("gdlnn").level == logging.INFO


def _be_verbose(value: bool) -> None:
    """Send the whole log of the package to standard error, with the versions first for bug reports."""
    if not value or is_verbose():
        return
    logger = logging.getLogger("gdlnn")
    _send_log(PrintableFormatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    logger.setLevel(logging.INFO)
    from gdlnn import __version__

    logger.info("gdlnn %s, Python %s, %s", __version__, platform.python_version(), platform.machine())


def _reset() -> None:
    """Undo what the option did, for the next command line of this process."""
    _send_log(None)
    if is_verbose():
        logging.getLogger("gdlnn").setLevel(logging.NOTSET)


VerboseOption = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        callback=_be_verbose,
        expose_value=False,
        help="Log each step to standard error, and the traceback of an error.",
    ),
]


def _only_verbose(verbose: VerboseOption = False) -> None:
    """Carry the option, so that typer makes it."""


class Command(TyperCommand):
    """A command that takes --verbose besides its own options."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **settings)
        carrier = typer.Typer(add_completion=False)
        carrier.command()(_only_verbose)
        self.params += get_command(carrier).params

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless a limit on memory is too low for the libraries.

        OpenBLAS tries forever to get memory, other libraries abort, and threads end without a word.
        """
        limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
        limit = min((one for one in limits if one != resource.RLIM_INFINITY), default=None)
        if limit is not None and limit < LEAST_MEMORY:
            needed = f"the limit is {limit >> 20:,} MB, and gdlnn needs at least {LEAST_MEMORY >> 20:,} MB"
            echo(f"error: out of memory: {needed}; raise it with `ulimit`", err=True)
            raise typer.Exit(OUT_OF_MEMORY)
        if limit is not None:
            import numpy as np
            from scipy.linalg.lapack import dpotrf

            np.linalg.cholesky(np.eye(2))  # NumPy and SciPy have an OpenBLAS each, which keeps its buffer
            dpotrf(np.eye(2))
        return super().invoke(ctx)


# --- signals ------------------------------------------------------------------------------------------------


@dataclass
class Stop:
    """The signal other than Ctrl-C's that ended a command."""

    signal: int = 0


@contextmanager
def _handled_signals() -> Iterator[Stop]:
    """Treat SIGTERM and a lost terminal as Ctrl-C."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def end(number: int, frame: FrameType | None) -> None:
        stop.signal = number
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt  # shells ignore Ctrl-C in background jobs of scripts

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    # What is ignored stays ignored: `nohup` ignores SIGHUP.
    handled = [number for number, handler in before.items() if handler not in (None, signal.SIG_IGN)]
    for number in handled:
        signal.signal(number, end)
    try:
        yield stop
    finally:
        for number in handled:
            signal.signal(number, before[number])


def _was_interrupted(end: SystemExit) -> bool:
    """Return whether typer made this exit from a Ctrl-C that the command did not handle itself."""
    return isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt)


# --- the app ------------------------------------------------------------------------------------------------


app = typer.Typer(
    name="gdlnn",
    help="Predict classes or numbers of molecules and other graphs, and see which places decided.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: gdlnn demo, then open demo/report.html in a browser.",
)


def _show_version(value: bool) -> None:
    if value:
        from gdlnn import __version__

        echo(f"gdlnn {__version__}")
        raise typer.Exit


@app.callback()
def options(
    verbose: VerboseOption = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Read the options given before the command; --verbose may also follow it."""


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error comes from a lack of memory; libraries say so in different ways.

    A SystemError is that of a library which failed without a reason.
    """
    while error is not None:
        if isinstance(error, MemoryError | SystemError) or any(words in str(error) for words in NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors in the input become one line and exit code 2, a lack of memory 1."""
    if arguments is None:  # no process that this one starts imports from the current folder
        os.environ["PYTHONSAFEPATH"] = "1"
    given = sys.argv[1:] if arguments is None else arguments
    _send_log(PrintableFormatter())
    try:
        with _handled_signals() as stop:
            app(args=given, prog_name="gdlnn")
    except SystemExit as end:
        if _was_interrupted(end):
            echo(STOPPED, err=True)
        is_signalled = stop.signal and end.code == INTERRUPTED
        raise SystemExit(128 + stop.signal if is_signalled else end.code) from None  # as shells give it
    except Exception as error:
        is_out_of_memory = _is_out_of_memory(error)
        if not is_out_of_memory and not isinstance(error, GDLNNError | OSError):
            raise
        if is_verbose():
            echo(traceback.format_exc(), err=True, nl=False)
        reason = "out of memory; use fewer graphs, or fewer --jobs" if is_out_of_memory else error
        echo(f"error: {reason}", err=True)
        raise SystemExit(OUT_OF_MEMORY if is_out_of_memory else BAD_INPUT) from None
    finally:
        _reset()
