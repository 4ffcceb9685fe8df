"""Metrics that a program prints: which lines count, and what they say.

A line counts when it is `name: value`, `name = value` (an optional unit may follow) or a JSON object.
Of repeated names the last one counts. Booleans, empty values and texts are no metrics.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)"
_LINE = re.compile(
    rf"^\s*([^\W\d][\w.%/()\[\]-]*(?: [\w.%/()\[\]-]+){{0,3}})\s*[:=]\s*({_NUMBER})(?:\s+\S{{1,20}})?\s*$",
    re.IGNORECASE,
)


def parse_metrics(text: str) -> dict[str, float]:
    """Read the metrics out of a program's output.

    Returns:
        Name to value; values may be NaN or infinite, exactly as printed.
    """
    found: dict[str, float] = {}
    for line in text.splitlines():
        found.update(_json_metrics(line) if line.lstrip().startswith("{") else _plain_metric(line))
    return found


def _plain_metric(line: str) -> Iterator[tuple[str, float]]:
    match = _LINE.match(line)
    if match:
        yield match.group(1), float(match.group(2))


def _json_metrics(line: str) -> Iterator[tuple[str, float]]:
    try:
        loaded = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(loaded, dict):
        yield from numeric_items(loaded)


def numeric_items(mapping: dict[str, object]) -> Iterator[tuple[str, float]]:
    """The entries that are numbers; booleans are answers to yes-or-no questions and no metrics."""
    for name, value in mapping.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                yield name, float(value)
            except OverflowError:
                yield name, math.inf if value > 0 else -math.inf
