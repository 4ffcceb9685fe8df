"""What the commands share: their common options, where checkpoints are looked for, how output is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ari.checkpoint import Checkpoint

RUNS = Path("runs")
"""Where `ari run` puts checkpoints, relative to the current directory."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only, no progress.")]
CheckpointArgument = Annotated[
    Path | None,
    typer.Argument(metavar="CHECKPOINT", help="The checkpoint; default: the latest one below ./runs."),
]


def print_json(document: object) -> None:
    """Print one strict JSON document on standard output."""
    from ari.formats.jsonio import strict_dumps

    sys.stdout.write(strict_dumps(document, indent=True).decode("utf-8").rstrip("\n") + "\n")


def note(message: str) -> None:
    """Print a remark on standard error."""
    print(message, file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """Make a console that is plain where its stream is no terminal or `NO_COLOR` is set."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True, markup=False, emoji=False)


def checkpoint_path(given: Path | None) -> Path:
    """Turn the argument of a command into the directory of a checkpoint.

    Args:
        given: What the user gave; None for the latest below ./runs.

    Returns:
        An existing checkpoint.

    Raises:
        ConfigError: If there is none.
    """
    from ari.checkpoint.readers import locate
    from ari.checkpoint.standing import find_checkpoints
    from ari.errors import CheckpointError, ConfigError

    if given is None:
        found = find_checkpoints(RUNS) if RUNS.is_dir() else []
        if not found:
            raise ConfigError(
                f"there is no checkpoint below ./{RUNS}",
                cure="Name one, or start a run with: ari run EXPERIMENT.md",
            )
        return found[0]
    try:
        return locate(given)
    except CheckpointError as error:
        raise ConfigError(error.message, cure=error.cure) from None


def open_checkpoint(given: Path | None, *, quiet: bool = False) -> Checkpoint:
    """Open a checkpoint for reading and pass its warnings on.

    Args:
        given: What the user gave; None for the latest below ./runs.
        quiet: Leave the warnings out.

    Returns:
        The checkpoint, read only.

    Raises:
        ConfigError: If there is none.
        CheckpointError: If it cannot be read.
    """
    from ari.checkpoint import Checkpoint

    opened = Checkpoint.open(checkpoint_path(given), read_only=True)
    if not quiet:
        for warning in opened.warnings:
            note(f"warning: {warning}")
    return opened


def spending(checkpoint: Path) -> dict[str, Any] | None:
    """What a study has spent and may spend, in JSON types; None when it keeps no accounts."""
    from ari.budget import read_tally

    tally = read_tally(checkpoint)
    if tally is None:
        return None
    limits = tally.limits
    return {
        "calls": {"spent": tally.calls, "limit": limits.max_calls},
        "tokens": {"spent": tally.tokens, "limit": limits.max_tokens},
        "cost_usd": {"spent": round(tally.cost_usd, 6), "limit": limits.max_cost_usd},
        "wall_s": {"spent": round(tally.wall_s, 1), "limit": limits.max_wall_s},
        "unpriced_models": sorted(tally.unpriced),
        "counted_as_reserved": len(tally.unreported) + len(tally.open),
    }


def spending_lines(spent: dict[str, Any]) -> list[str]:
    """What `spending` says, for people: one line of sums, and one for each thing to know about them."""
    units = {"calls": "calls", "tokens": "tokens", "cost_usd": "US dollars", "wall_s": "s"}
    parts = []
    for name, unit in units.items():
        amount, limit = spent[name]["spent"], spent[name]["limit"]
        parts.append(f"{amount:,} {unit}" if limit is None else f"{amount:,} of {limit:,} {unit}")
    lines = [", ".join(parts)]
    if spent["unpriced_models"]:
        lines.append(f"without the money of {', '.join(spent['unpriced_models'])}: the price is not known")
    if spent["counted_as_reserved"]:
        lines.append(
            f"calls that did not report what they used count as reserved: {spent['counted_as_reserved']}"
        )
    return lines


def number(value: object) -> str:
    """Show a metric: six significant digits, more where that would round to 1; `null` for none."""
    if value is None:
        return "null"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return str(value)
    short = f"{value:.6g}"
    # An R² of 0.99999997 is not the same finding as 1.
    return short if float(short) != 1.0 or value == 1.0 else f"{value:.12g}"


def count(many: int, noun: str) -> str:
    """Count things in words: `1 error`, `2 errors`."""
    return f"{many} {noun}{'' if many == 1 else 's'}"


def duration(seconds: float) -> str:
    """Show a duration: `4.2 s`, `3 min 07 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def node_document(node: Any) -> dict[str, Any]:  # noqa: ANN401 - NodeState, imported for types only elsewhere
    """Turn a `NodeState` into JSON types."""
    from dataclasses import asdict

    document = asdict(node) | {"search_state": node.search_state.model_dump(mode="json")}
    extra = document.pop("extra", {})
    return {**extra, **document}
