"""`ari status`: how a run stands, with its tree."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ari.cli.common import CheckpointArgument, JsonOption, QuietOption, number, open_checkpoint, print_json

if TYPE_CHECKING:
    from ari.checkpoint import Checkpoint


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="status", short_help="How a run stands, with its tree.")(status)


def status(
    checkpoint: CheckpointArgument = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, help="About how many nodes to draw; default: what the window holds, or 40."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Draw every node.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Show how a run stands: the stages of its paper, and its tree with labels, metrics and scores.

    Long trees are folded. Reading disturbs nobody; a run may be under way. With --quiet stages and tree are
    left out.
    """
    from ari.cli import paper_view

    opened = open_checkpoint(checkpoint, quiet=as_json)
    view = paper_view.paper_view(opened)
    if as_json:
        print_json(document(opened) | {"paper": paper_view.document(view)})
        return 0
    begun = bool(opened.state.stages) or opened.state.finished is not None
    head = [*summary(opened), *(paper_view.summary(view) if begun else ())]
    if not quiet:
        head += [*(paper_view.lines(view) if begun else ()), ""]
    print("\n".join(head))
    if not quiet:
        _print_tree(opened, len(opened.nodes) if everything else limit)
    return 0


def best_id(checkpoint: Checkpoint) -> str | None:
    """The best node: as recorded, or while the run goes on the one with the highest score so far."""
    from ari.cli.live import leading_node

    recorded = checkpoint.best_node_id
    if recorded in checkpoint.nodes:
        return recorded
    leader = leading_node(checkpoint)
    return leader.id if leader is not None else None


def summary(checkpoint: Checkpoint) -> list[str]:
    """Compose the lines above the tree."""
    from ari.budget import EXHAUSTED
    from ari.checkpoint.standing import holder, run_state
    from ari.cli.common import spending, spending_lines

    state = checkpoint.state
    spent = spending(checkpoint.path)
    best = checkpoint.nodes.get(best_id(checkpoint) or "")
    counts = ", ".join(f"{count} {name}" for name, count in sorted(checkpoint.status_counts.items()))
    how = run_state(checkpoint)
    why = {
        "finished": state.finished,
        EXHAUSTED: (state.finished or "").removeprefix(f"{EXHAUSTED}: "),
        "interrupted": state.interrupted,
        "running": holder(checkpoint.path),
    }.get(how)
    lines = [
        f"checkpoint  {checkpoint.path}",
        f"state       {how}{f' ({why})' if why else ''}",
        f"nodes       {len(checkpoint.nodes)} ({counts or 'none'}), depth {checkpoint.max_depth}",
    ]
    if state.goal:
        lines.insert(1, f"goal        {' '.join(state.goal.split())[:200]}")
    if state.primary_metric:
        direction = {True: " (higher is better)", False: " (lower is better)"}.get(
            bool(state.higher_is_better), ""
        )
        lines.append(
            f"metric      {state.primary_metric}{direction if state.higher_is_better is not None else ''}"
        )
    if best is not None:
        value = number(best.metrics.get(state.primary_metric))
        lines.append(
            f"best        {best.id}  {state.primary_metric} = {value}  score {number(float(best.score))}"
        )
    lines += [f"spent       {line}" for line in (spending_lines(spent) if spent is not None else [])]
    lines += [f"decision    {item['decision']}: {item.get('rationale', '')}" for item in state.decisions]
    return lines


def _print_tree(checkpoint: Checkpoint, limit: int | None) -> None:
    from ari.cli.common import console
    from ari.cli.tree_view import draw, glyphs_for, styled

    if limit is None:
        limit = max(10, shutil.get_terminal_size().lines - 10) if sys.stdout.isatty() else 40
    best = best_id(checkpoint)
    glyphs = glyphs_for(sys.stdout.encoding)
    lines = draw(checkpoint.nodes, best=best, limit=limit, glyphs=glyphs)
    out = console()
    for text in styled(lines, metric=checkpoint.state.primary_metric, best=best, glyphs=glyphs):
        out.print(text)


def document(checkpoint: Checkpoint) -> dict[str, Any]:
    """Turn the state of a run into JSON types: the summary and, for each node, what `tree.json` holds."""
    from ari.checkpoint.standing import run_state
    from ari.cli.common import spending
    from ari.formats.jsonio import encode_metrics

    state = checkpoint.state
    return {
        "checkpoint": str(checkpoint.path),
        "run_id": state.run_id,
        "state": run_state(checkpoint),
        "reason": state.finished or state.interrupted,
        "goal": state.goal,
        "primary_metric": state.primary_metric,
        "higher_is_better": state.higher_is_better,
        "root_node_id": checkpoint.root_node_id,
        "best_node_id": best_id(checkpoint),
        "status_counts": checkpoint.status_counts,
        "max_depth": checkpoint.max_depth,
        "decisions": list(state.decisions),
        "spending": spending(checkpoint.path),
        "warnings": list(checkpoint.warnings),
        "nodes": {
            node.id: {
                "parent_id": node.parent_id,
                "depth": node.depth,
                "status": node.status,
                "label": node.label,
                "raw_label": node.raw_label,
                "metrics": encode_metrics(node.metrics)[0],
                "score": node.score,
                "children": list(node.children),
                "error": node.error,
                "search_state": node.search_state.model_dump(mode="json"),
            }
            for node in checkpoint.nodes.values()
        },
    }
