"""The JSON Schemas of the checkpoint's files, generated from the models of `ari.formats`.

`python -m ari.schemas` rewrites the files beside this module; a test keeps them equal to the models.
`publish.schema.json` is the schema of `manifest.lock`. For `.jsonl` files the schema is that of one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from ari.errors import FormatError
from ari.formats.jsonio import strict_loads

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SUFFIX = ".schema.json"


def names() -> tuple[str, ...]:
    """Return the names of the schemas, without their ending."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(f.name.removesuffix(SUFFIX) for f in files if f.name.endswith(SUFFIX)))


def load(name: str) -> Mapping[str, Any]:
    """Read a schema.

    Args:
        name: Its name without the ending, such as `node_report`.

    Returns:
        The schema.

    Raises:
        FormatError: If there is none of that name.
    """
    if name not in names():
        raise FormatError(f"there is no schema {name!r}", cure=f"There are {', '.join(names())}.")
    schema: dict[str, Any] = strict_loads((resources.files(__package__) / f"{name}{SUFFIX}").read_bytes())
    return schema
