"""`results*.json` of a node: the values that its own programs report.

Keys by custom: `params`, `measurements`, `predictions`, `scores`; a program may write others. `_provenance`
says where a value comes from (`microbench`, `benchmark`, `correctness`, `reference`, `declared`,
`constant`) and is left out when empty. Programs of nodes may print `NaN` and `Infinity`, which are no JSON:
`read_node_results` takes them and keeps them in the documented encoding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from ari.errors import FormatError
from ari.formats.base import FormatModel
from ari.formats.jsonio import Json, NonFinite, encode_document

Provenance = Literal["microbench", "benchmark", "correctness", "reference", "declared", "constant"]
"""Where a reported value comes from."""

PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)


class NodeResults(FormatModel):
    """The whole file."""

    params: dict[str, Any] = Field(default_factory=dict)
    measurements: dict[str, Any] = Field(default_factory=dict)
    predictions: dict[str, Any] = Field(default_factory=dict)
    scores: dict[str, Any] = Field(default_factory=dict)
    provenance: dict[str, Provenance] = Field(alias="_provenance", default_factory=dict)
    non_finite: dict[str, NonFinite] = Field(alias="_non_finite", default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the document; `_provenance` and `_non_finite` are left out when empty."""
        document = super().to_dict()
        return {
            key: value
            for key, value in document.items()
            if value or key not in {"_provenance", "_non_finite"}
        }


def loads_lenient(data: bytes) -> Json:
    """Read JSON as programs print it: `NaN`, `Infinity` and numbers too large for a float are taken.

    Args:
        data: UTF-8 bytes; a byte-order mark is passed over.

    Returns:
        The value, non-finite floats included.

    Raises:
        FormatError: If it is no JSON even so.
    """
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None


def node_results(document: Mapping[str, Any], *, source: str = "results.json") -> NodeResults:
    """Build the model from values that may be non-finite.

    Args:
        document: What was reported.
        source: Name for the message.

    Returns:
        The model, non-finite numbers encoded as documented.

    Raises:
        FormatError: If the document is not in the documented shape.
    """
    return NodeResults.from_document(encode_document(document), source=source)


def read_node_results(path: Path) -> NodeResults:
    """Read what a node's program wrote.

    Args:
        path: A `results*.json`.

    Returns:
        The model.

    Raises:
        FormatError: If the file cannot be read or is no JSON object in the documented shape.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        document = loads_lenient(data)
    except FormatError as error:
        raise FormatError(f"{path}: {error.message}") from None
    if not isinstance(document, dict):
        raise FormatError(f"{path} holds no JSON object", cure="Write one object: name to value.")
    return node_results(document, source=str(path))


def has_non_finite(document: Json) -> bool:
    """Say whether a parsed document holds a number that strict JSON cannot.

    Args:
        document: A result of `loads_lenient`.

    Returns:
        True when there is one.
    """
    stack = [document]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and not math.isfinite(item):
            return True
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False
