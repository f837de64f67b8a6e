"""Options that every command takes, before its name or after it: --verbose and --debug."""

from __future__ import annotations

import logging
import platform
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

HANDLER = "gdlnn-verbose"
VERBOSE_HELP = "Tell on standard error what is done: what is read, split, mined, chosen, explained."
DEBUG_HELP = "Show the traceback of an error."


@dataclass
class Wanted:
    """What the options of the running command line ask for."""

    debug: bool = False


WANTED = Wanted()


def want_debug(value: bool) -> None:
    """Take --debug from wherever it stands."""
    WANTED.debug = WANTED.debug or value


def speak(value: bool) -> None:
    """Send what the package logs to standard error, once; the versions come first, for whoever helps."""
    logger = logging.getLogger("gdlnn")
    if not value or any(handler.name == HANDLER for handler in logger.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.name = HANDLER
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    from gdlnn import __version__

    logger.info("gdlnn %s, Python %s, %s", __version__, platform.python_version(), platform.machine())


def fall_silent() -> None:
    """Undo what the options did: the next command line of this process starts afresh."""
    WANTED.debug = False
    logger = logging.getLogger("gdlnn")
    for handler in [handler for handler in logger.handlers if handler.name == HANDLER]:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", callback=speak, help=VERBOSE_HELP)]
DebugOption = Annotated[bool, typer.Option("--debug", callback=want_debug, help=DEBUG_HELP)]


class Commands(TyperGroup):
    """The group of all commands: adds the options to each, groups within it included."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _add_options(self)


def _add_options(group: Any) -> None:
    for command in group.commands.values():
        if hasattr(command, "commands"):
            _add_options(command)
        else:
            command.params += _shared_options()


def _shared_options() -> list[Any]:
    """Return the options as typer makes them, for commands that need not know of them."""
    carrier = typer.Typer(add_completion=False)

    @carrier.command()
    def carry(verbose: VerboseOption = False, debug: DebugOption = False) -> None:
        """Carry the options."""

    options: list[Any] = list(get_command(carrier).params)
    for option in options:
        option.expose_value = False
    return options
