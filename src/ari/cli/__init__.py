"""The command line `ari`: one module a command, and one way to report errors and exit.

Exit status: 0 done; 1 a finding, or a goal that was not reached; 2 misuse (an option, a file or a setting
that cannot be used); 130 interrupted. Errors go to standard error as a message and its cure, without a
stack trace unless `--debug` is given. Results go to standard output, progress to standard error.

Nothing heavy is imported here or at the top of a command's module, so that `ari --help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ari.cli import (
    agent,
    delete,
    gate,
    migrate,
    paper,
    projects,
    repair,
    replay,
    resume,
    run,
    settings,
    show,
    skills,
    status,
    validate,
    version,
)

EXIT_DONE = 0
EXIT_FINDING = 1
EXIT_MISUSE = 2
EXIT_INTERRUPTED = 130

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_COMMANDS = (
    run,
    resume,
    paper,
    agent,
    status,
    show,
    projects,
    delete,
    validate,
    gate,
    replay,
    repair,
    migrate,
    skills,
    settings,
    version,
)

app = typer.Typer(
    name="ari",
    help="From data and a question to a discovered law, by a tree of real experiments.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for _command in _COMMANDS:
    _command.register(app)


@app.callback()
def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the stack trace of an error; may stand anywhere.")
    ] = False,
) -> None:
    """From data and a question to a discovered law, by a tree of real experiments.

    Start with: ari run examples/kepler/experiment.md
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments without the program's name; default: those of the process.

    Returns:
        The exit status.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--version"]:
        arguments[0] = "version"
    debug = "--debug" in arguments
    _never_fail_on_characters()
    try:
        status_code = app([a for a in arguments if a != "--debug"], prog_name="ari", standalone_mode=False)
        sys.stdout.flush()
        return int(status_code or EXIT_DONE)
    except KeyboardInterrupt:
        _complain("interrupted", "")
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:  # typer turns a broken pipe into an exit of its own
        if not isinstance(
            error if isinstance(error, BrokenPipeError) else error.__context__, BrokenPipeError
        ):
            raise
        return _nobody_listens()
    except Exception as error:  # the one place where any error becomes a message and a status
        if debug:
            raise
        return _report(error)


def _nobody_listens() -> int:
    """The reader of our output has gone (`ari status | head`): nothing is wrong, and nothing more is said."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter complains when it flushes at its end
    return EXIT_DONE


def _never_fail_on_characters() -> None:
    """A terminal that cannot show a character shows a question mark instead."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _report(error: Exception) -> int:
    from ari.errors import AriError, ConfigError, ExperimentError, PathEscapeError
    from sr_harness.errors import SRError

    if isinstance(error, typer.Abort):
        _complain("nothing was done", "")
        return EXIT_FINDING
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "ari"
        _complain(error.format_message(), f"`{command} --help` lists what it takes.")  # type: ignore[attr-defined]
        return EXIT_MISUSE
    if isinstance(error, AriError):
        _complain(error.message, error.cure)
        misuse = isinstance(error, (ConfigError, ExperimentError, PathEscapeError))
        return EXIT_MISUSE if misuse else EXIT_FINDING
    if isinstance(error, OSError) and error.filename is not None:
        _complain(f"{os.fsdecode(error.filename)}: {error.strerror}", "")
        return EXIT_FINDING
    if isinstance(error, (SRError, OSError)):
        _complain(str(error), "")
        return EXIT_FINDING
    _complain(
        f"{type(error).__name__}: {error}",
        "This is a fault of the program. Run the command again with --debug to see where it happened.",
    )
    return EXIT_FINDING


def _complain(message: str, cure: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    if cure:
        print(f"  {cure}", file=sys.stderr)
