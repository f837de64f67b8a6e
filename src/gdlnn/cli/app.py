"""The app that commands are added to: options of every command, and how a command ends.

Every command takes --verbose and --debug, before its name or after it. Errors in the input become one line
and exit code 2. SIGTERM and SIGHUP end a command as Ctrl-C does, without a half-written file.
"""

from __future__ import annotations

import logging
import platform
import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from gdlnn.cli.late import LateCommand, LateGroup
from gdlnn.cli.terminal import PrintableFormatter, echo
from gdlnn.errors import GDLNNError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

BAD_INPUT = 2  # exit code; the same as that of a wrong option
INTERRUPTED = 130  # exit code, as shells give it after Ctrl-C
STOPPED = (
    "stopped: nothing was written; an existing output file is unchanged. What a checkpoint holds is kept: "
    "the same command goes on from it."
)
HANDLER = "gdlnn-verbose"


# --- options of every command -------------------------------------------------------------------------------


@dataclass
class _State:
    """What the options of the running command line ask for."""

    debug: bool = False
    verbose: bool = False


STATE = _State()


def _set_debug(value: bool) -> None:
    STATE.debug = STATE.debug or value


def _take_log(formatter: PrintableFormatter | None) -> None:
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
        logger.addHandler(handler)


def _log_to_stderr(value: bool) -> None:
    """Send the whole log of the package to standard error, with the versions first for bug reports."""
    if not value or STATE.verbose:
        return
    STATE.verbose = True
    logger = logging.getLogger("gdlnn")
    _take_log(PrintableFormatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    logger.setLevel(logging.INFO)
    from gdlnn import __version__

    logger.info("gdlnn %s, Python %s, %s", __version__, platform.python_version(), platform.machine())


def _reset() -> None:
    """Undo what the options did, for the next command line of this process."""
    _take_log(None)
    if STATE.verbose:
        logging.getLogger("gdlnn").setLevel(logging.NOTSET)
    STATE.debug = STATE.verbose = False


VerboseOption = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        callback=_log_to_stderr,
        help="Log each step to standard error.",
    ),
]
DebugOption = Annotated[
    bool, typer.Option("--debug", callback=_set_debug, help="Show the traceback of an error.")
]


class Commands(LateGroup):
    """The group of all commands; adds --verbose and --debug to each, also to those of inner groups."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with the options of every command."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and not isinstance(found, LateCommand):
            _add_options(found)
        return found


def _add_options(command: Any) -> None:
    if hasattr(command, "commands"):
        for inner in command.commands.values():
            _add_options(inner)
    elif not any(option.name == "debug" for option in command.params):
        command.params += _common_options()


def _common_options() -> list[Any]:
    """Return the options as typer makes them, for commands that do not declare them."""
    carrier = typer.Typer(add_completion=False)

    @carrier.command()
    def carry(verbose: VerboseOption = False, debug: DebugOption = False) -> None:
        """Carry the options."""

    options: list[Any] = list(get_command(carrier).params)
    for option in options:
        option.expose_value = False
    return options


# --- signals ------------------------------------------------------------------------------------------------


@dataclass
class Stop:
    """The signal other than Ctrl-C's that ended a command."""

    signal: int = 0

    def exit_code(self, code: object) -> object:
        """Return the exit code of a command that ended with `code`: 128 plus the signal, as in shells."""
        return 128 + self.signal if self.signal and code == INTERRUPTED else code


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

    # Keep `nohup` working.
    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {n: signal.getsignal(n) for n in wanted}
    taken = [n for n in wanted if before[n] not in (None, signal.SIG_IGN)]
    for number in taken:
        signal.signal(number, end)
    try:
        yield stop
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _was_interrupted(end: SystemExit) -> bool:
    """Say whether typer made this exit from a Ctrl-C that the command did not handle itself."""
    return isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt)


# --- the app ------------------------------------------------------------------------------------------------


app = typer.Typer(
    name="gdlnn",
    cls=Commands,
    help="Interpretable graph classification: programs mined from graphs, explanations as subgraphs.",
    no_args_is_help=True,
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
    debug: DebugOption = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Read the options given before the command; all but --version may also follow it."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors in the input become one line and exit code 2."""
    given = sys.argv[1:] if arguments is None else arguments
    _take_log(PrintableFormatter())
    try:
        with _handled_signals() as stop:
            app(args=given, prog_name="gdlnn")
    except SystemExit as end:
        if _was_interrupted(end):
            echo(STOPPED, err=True)
        raise SystemExit(stop.exit_code(end.code)) from None
    except (GDLNNError, OSError) as error:
        if STATE.debug:
            raise
        echo(f"error: {error}", err=True)
        raise SystemExit(BAD_INPUT) from None
    finally:
        _reset()
