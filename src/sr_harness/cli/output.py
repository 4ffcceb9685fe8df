"""How the commands write results: the `--json` option and one strict JSON document."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]


def print_json(document: object) -> None:
    """Print one strict JSON document on standard output.

    Raises:
        ValueError: the document holds NaN or an infinity.
    """
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
