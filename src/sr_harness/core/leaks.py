"""placeholder until next step."""

from __future__ import annotations

from collections.abc import Mapping


def lint_descriptions(descriptions: Mapping[str, str]) -> list[str]:
    """Return warnings."""
    return []
