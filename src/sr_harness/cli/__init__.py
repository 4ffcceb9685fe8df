"""The command line `sr-harness`: one module a command, and one way to report errors and exit.

Exit status: 0 done; 1 a finding, or a goal that was not reached; 2 misuse (an option, a file or a name that
does not exist); 130 interrupted. Errors go to standard error as one message that says what, where, why and
what to do, without a stack trace unless `--debug` is given. Results go to standard output. A command module
has a function `register(app)`, and its command returns its exit status.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

EXIT_DONE = 0
EXIT_FINDING = 1
EXIT_MISUSE = 2
EXIT_INTERRUPTED = 130

COMMANDS = ("validate", "import_", "discover", "tool", "benchmark", "synthetic")

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="sr-harness",
    help="Structured data, formulas, and the discovery of laws in data.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the stack trace of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Structured data, formulas, and the discovery of laws in data."""


for _command in COMMANDS:
    if find_spec(f"{__name__}.{_command}") is not None:
        import_module(f"{__name__}.{_command}").register(app)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; those of the process by default.

    Returns:
        The exit status.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    _never_fail_on_characters()
    try:
        status = app([a for a in arguments if a != "--debug"], prog_name="sr-harness", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of the output is gone (`sr-harness … | head`): nothing is wrong and nobody listens.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except Exception as error:  # the one place where any error becomes a message and a status
        if debug:
            raise
        return _report(error)
    if status == EXIT_INTERRUPTED:  # typer turns an interrupt inside a command into this status
        _complain("interrupted")
    return int(status or EXIT_DONE)


def _never_fail_on_characters() -> None:
    """A terminal that cannot show a character shows a substitute instead."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _report(error: Exception) -> int:
    from sr_harness.errors import SRError, UnknownChoiceError

    if isinstance(error, typer.Abort):
        _complain("nothing was done")
        return EXIT_FINDING
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        command = "sr-harness" if context is None else context.command_path
        _complain(f"{error.format_message()}\n  `{command} --help` lists what it takes.")  # type: ignore[attr-defined]
        return EXIT_MISUSE
    if isinstance(error, (SRError, OSError)):
        _complain(str(error))
        return EXIT_MISUSE if isinstance(error, UnknownChoiceError) else EXIT_FINDING
    _complain(
        f"{type(error).__name__}: {error}\n"
        "  This is a fault of the program; run the command again with --debug to see where it happened."
    )
    return EXIT_FINDING


def _complain(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
