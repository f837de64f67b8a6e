"""The app that commands are added to, its global options, and what a failure looks like."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gdlnn.cli.shared import WANTED, Commands, DebugOption, VerboseOption, fall_silent
from gdlnn.cli.stopping import STOPPED, stopping, was_interrupted
from gdlnn.errors import GDLNNError

app = typer.Typer(
    name="gdlnn",
    cls=Commands,
    help="Graph classification that can be read: programs mined from graphs, explanations as subgraphs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Example: gdlnn demo, then open demo/report.html in a browser.",
)

BAD_INPUT = 2  # exit code; the same as that of a wrong option


def _show_version(value: bool) -> None:
    if value:
        from gdlnn import __version__

        typer.echo(f"gdlnn {__version__}")
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
    """Take the options that stand before the command; all but --version may stand after it too."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors that are no fault of the program become one line and exit code 2."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with stopping() as stop:
            app(args=given, prog_name="gdlnn")
    except SystemExit as end:
        if was_interrupted(end):
            typer.echo(STOPPED, err=True)
        raise SystemExit(stop.exit_code(end.code)) from None
    except (GDLNNError, OSError) as error:
        if WANTED.debug:
            raise
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(BAD_INPUT) from None
    finally:
        fall_silent()
