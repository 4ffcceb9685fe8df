"""`idea.json`: the ideas of a study, pinned ones kept for ever.

An idea that is pinned (`_pinned`) came from the parent study and stays where it is; ideas of later rounds
are appended behind those that are there, never written over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from ari.formats.base import FormatModel


class Idea(FormatModel):
    """One idea."""

    title: str
    experiment_plan: str
    primary_metric: str
    alternatives_considered: list[str]
    pinned: bool = Field(alias="_pinned")


class Ideas(FormatModel):
    """The whole file."""

    ideas: list[Idea]


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Ideas are the same when title and plan are."""
    keys = ("title", "experiment_plan")
    return all(" ".join(str(a.get(k, "")).split()) == " ".join(str(b.get(k, "")).split()) for k in keys)


def merge_ideas(
    existing: Mapping[str, Any] | None, later: Mapping[str, Any] | Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Append the ideas of a later round to those that are there.

    Args:
        existing: The present content of `idea.json`, or None when there is none.
        later: The ideas of the later round: a content of `idea.json`, or the ideas alone.

    Returns:
        The new content: every idea that was there, unchanged and in its place, then the later ones that
        are not there yet. Other keys of the file are kept; new ones are added.
    """
    later_file: Mapping[str, Any] = later if isinstance(later, Mapping) else {"ideas": list(later)}
    kept = [dict(idea) for idea in (existing or {}).get("ideas", [])]
    for idea in later_file.get("ideas", []):
        if not any(_same(idea, known) for known in kept):
            kept.append({"_pinned": False, **idea})
    rest = {key: value for key, value in later_file.items() if key != "ideas"}
    return {**rest, **(existing or {}), "ideas": kept}


def pin_ideas(ideas: Mapping[str, Any], indices: Iterable[int]) -> dict[str, Any]:
    """Build the `idea.json` that a child study inherits: the chosen ideas alone, each pinned.

    Args:
        ideas: The parent's content of `idea.json`.
        indices: Positions of the ideas to hand down.

    Returns:
        The child's content.
    """
    chosen = [{**ideas["ideas"][index], "_pinned": True} for index in indices]
    return {**ideas, "ideas": chosen}
