"""`ari version`: which version this is, and on what it runs."""

from __future__ import annotations

import platform

import typer

from ari.cli.common import JsonOption, print_json

_LIBRARIES = ("numpy", "scipy", "sympy", "pydantic", "pydantic-ai-slim", "mcp", "pyoperon")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="version", short_help="Versions of what results depend on.")(version)


def version(as_json: JsonOption = False) -> int:
    """Show the versions of the program, of Python and of the libraries that results depend on."""
    document = {
        "ari": _version("ari-research"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: _version(name) for name in _LIBRARIES},
    }
    if as_json:
        print_json(document)
    else:
        print("\n".join(f"{name:<18}{value or 'not installed'}" for name, value in document.items()))
    return 0


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(name)
    except PackageNotFoundError:
        return None
