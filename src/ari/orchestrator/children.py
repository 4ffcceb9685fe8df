"""Sub-experiments: studies of their own that name the study they come from and inherit its ideas.

A child lies beside its parent (`runs/<parent>-child-<number>`), not inside it: it is a whole checkpoint that
can be read, resumed, published and deleted like any other. Its `meta.json` names the parent
(`parent_run_id`) and says how deep it lies; the ideas it inherits come first in its `idea.json` and are
pinned. Nothing of the parent is ever written.

A child on the parent's data seals the rows that the parent sealed. What the parent learnt has never seen
them, so what it hands down cannot give them away.

To run one: `ari.orchestrator.study.start(RunOptions(experiment, parent=checkpoint))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from ari.checkpoint import Checkpoint
from ari.errors import ExperimentError
from ari.formats.idea import pin_ideas
from ari.orchestrator.creation import Inheritance
from ari.paths import next_output

IDEAS = "idea.json"
NOT_HANDED_DOWN = ("experiment",)
"""What the journal keeps among the settings of a study and is none."""


def inherit(
    parent: Path, *, experiment: Path | None = None, ideas: Sequence[int] | None = None
) -> Inheritance:
    """What a child of a study takes from it.

    Args:
        parent: The parent's checkpoint; it may be running.
        experiment: The child's `experiment.md`. Where it is the parent's own, the child asks the question as
            the parent recorded it.
        ideas: Positions in the parent's `idea.json`; default: the idea it works on now.

    Raises:
        ExperimentError: When the parent lies too deep to have children, or has no such idea.
        CheckpointError: When the parent cannot be read.
    """
    checkpoint = Checkpoint.open(parent)
    meta = checkpoint.meta.to_dict()
    depth = int(meta.get("recursion_depth") or 0) + 1
    limit = meta.get("max_recursion_depth")
    if limit is None:
        limit = checkpoint.state.settings.get("max_recursion_depth")
    if limit is not None and depth > limit:
        raise ExperimentError(
            f"{parent} lies {depth - 1} studies below its first one; deeper than {limit} is not allowed",
            cure="Raise the setting max_recursion_depth in a new study, or ask the question there.",
        )
    document = orjson.loads((checkpoint.path / IDEAS).read_bytes())
    selected = checkpoint.state.idea_index or 0
    own_question = experiment is None or experiment.absolute() == source_of(checkpoint)
    return Inheritance(
        parent_run_id=str(meta["run_id"]),
        ideas=_pinned(document, [selected] if ideas is None else ideas, parent),
        recursion_depth=depth,
        max_recursion_depth=limit,
        text=(checkpoint.path / "experiment.md").read_text(encoding="utf-8") if own_question else None,
        source_sha256=meta.get("data", {}).get("source_sha256"),
        sealed_sha256=(meta.get("sealed") or {}).get("sha256"),
    )


def _pinned(document: dict[str, Any], ideas: Sequence[int], parent: Path) -> dict[str, Any]:
    count = len(document["ideas"])
    for index in ideas:
        if not 0 <= index < count:
            raise ExperimentError(
                f"{parent} has no idea {index}; its {IDEAS} holds {count}, counted from 0",
                cure=f"Give positions from 0 to {count - 1}.",
            )
    return {"ideas": pin_ideas(document, dict.fromkeys(ideas))["ideas"]}


def source_of(parent: Checkpoint) -> Path:
    """The `experiment.md` that a study was begun from; data and files are looked up beside it."""
    return Path(str(parent.meta.to_dict().get("source") or parent.path / "experiment.md"))


def settings_of(parent: Path, *, other_model: str | None = None) -> dict[str, Any]:
    """The settings that a study was begun with, as options of a new one.

    Args:
        parent: Its checkpoint.
        other_model: The model of the new study where it is not the parent's; provider and
            address follow from it.
    """
    recorded = Checkpoint.open(parent).state.settings
    left_out = {*NOT_HANDED_DOWN, *(("model", "provider", "base_url") if other_model is not None else ())}
    return {name: value for name, value in recorded.items() if name not in left_out}


def child_output(parent: Path) -> Path:
    """A directory beside the parent that does not exist yet; nothing is created."""
    return child_outputs(parent, 1)[0]


def child_outputs(parent: Path, count: int) -> list[Path]:
    """Several such directories, numbered one after another."""
    whole = parent.absolute()
    first = next_output(f"{whole.name} child", whole.parent)
    stem, _, number = first.name.rpartition("-")
    return [first.with_name(f"{stem}-{int(number) + step}") for step in range(count)]
