"""What is said at the end of a study: what was found, how good it is, where it lies, what to do next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ari.cli.common import (
    duration,
    node_document,
    note,
    number,
    print_json,
    spending,
    spending_lines,
)

if TYPE_CHECKING:
    from ari.orchestrator.study import StudyResult


def conclude(result: StudyResult, *, paper: bool, as_json: bool, quiet: bool) -> int:
    """Go on into the stages after the search, and print the end of both.

    Args:
        result: What the study returned.
        paper: Whether to run the stages; without a result, or when interrupted, they are not run.
        as_json: One JSON document instead of text.
        quiet: The formula (or the best metric) and the checkpoint only.

    Returns:
        Exit status: 0 with a result and every stage done, 1 otherwise (also when the budget is exhausted),
        130 when interrupted.
    """
    from ari.cli import paper as stages

    for warning in result.warnings:
        note(f"warning: {warning}")
    if not (as_json or quiet):
        print("\n".join(found(result)))
    ended = None
    if paper and result.best is not None and not result.interrupted:
        ended = stages.run_paper(result.checkpoint, silent=as_json or quiet)
    if as_json:
        print_json(document(result) | {"paper": stages.document(ended) if ended is not None else None})
    elif quiet:
        print(result.formula or _best_metric(result))
        print(result.checkpoint)
    else:
        print("\n".join([*(stages.lines(ended) if ended is not None else []), *outlook(result)]))
    if result.interrupted:
        return 130
    if result.best is None or result.exhausted:
        return 1
    return stages.status(ended) if ended is not None else 0


def document(result: StudyResult) -> dict[str, Any]:
    """Turn a result into JSON types."""
    return {
        "checkpoint": str(result.checkpoint),
        "reason": result.reason,
        "interrupted": result.interrupted,
        "exhausted": result.exhausted,
        "spending": spending(result.checkpoint),
        "goal": result.goal,
        "primary_metric": result.primary_metric,
        "higher_is_better": result.higher_is_better,
        "best": node_document(result.best) if result.best is not None else None,
        "formula": result.formula,
        "latex": result.latex,
        "sealed_metrics": dict(result.sealed_metrics),
        "parameters": dict(result.parameters),
        "root_value": result.root_value,
        "ceiling": result.ceiling,
        "warnings": list(result.warnings),
        "seconds": result.seconds,
    }


def found(result: StudyResult) -> list[str]:
    """Compose what the search found, for people."""
    ended = "Stopped" if result.interrupted or result.exhausted else "Finished"
    spent = spending(result.checkpoint)
    text = [
        "",
        f"{ended} after {duration(result.seconds)}: {result.reason}",
        *(f"Spent: {line}" for line in (spending_lines(spent) if spent is not None else [])),
    ]
    if result.best is None:
        text += ["", "No experiment gave a result that counts."]
    else:
        text += ["", "Found"]
        text += [f"  formula     {result.formula}"] if result.formula else []
        text += [f"  best node   {result.best.id} ({result.best.label}, depth {result.best.depth})"]
        better = "higher" if result.higher_is_better else "lower"
        text += [f"  metric      {_best_metric(result)}  ({better} is better)"]
        text += _against(result)
        text += _configuration(result)
        text += _sealed(result)
    return text


def outlook(result: StudyResult) -> list[str]:
    """Compose where everything lies and what can be done next."""
    steps = next_steps(result)
    width = max(len(command) for command, _ in steps)
    text = ["", f"Checkpoint: {result.checkpoint}", "", "Next"]
    return [*text, *(f"  {command:<{width}}  {why}" for command, why in steps), ""]


def _best_metric(result: StudyResult) -> str:
    if result.best is None:
        return "no result"
    return f"{result.primary_metric} = {number(result.best.metrics.get(result.primary_metric))}"


def _against(result: StudyResult) -> list[str]:
    """Where a command study began, and how near the measured ceiling it came."""
    value = result.best.metrics.get(result.primary_metric) if result.best is not None else None
    rows = []
    if result.formula is None and value is not None and result.root_value:
        rows.append(
            f"  root        {number(result.root_value)}, that is a factor of {value / result.root_value:.3g}"
        )
    if value is not None and result.ceiling:
        rows.append(
            f"  ceiling     {number(result.ceiling)} as measured; {value / result.ceiling:.1%} of it reached"
        )
    return rows


def _configuration(result: StudyResult) -> list[str]:
    shown = ", ".join(f"{name} = {value!r}" for name, value in result.parameters.items())
    return [f"  parameters  {shown}"] if shown else []


def _sealed(result: StudyResult) -> list[str]:
    if not result.sealed_metrics:
        return []
    width = max(len(name) for name in result.sealed_metrics)
    rows = [f"    {name:<{width}}  {number(value)}" for name, value in result.sealed_metrics.items()]
    return ["  on sealed data, which no experiment has seen:", *rows]


def next_steps(result: StudyResult) -> list[tuple[str, str]]:
    """Name the commands that make sense now, each with its purpose."""
    where = shlex.quote(str(result.checkpoint))
    steps = []
    if result.interrupted:
        steps.append((f"ari resume {where}", "go on from here"))
    if result.exhausted:
        steps.append((f"ari resume {where} {_larger(result)}", "go on with a larger budget"))
    steps.append((f"ari status {where}", "the whole tree"))
    if result.best is not None:
        steps.append((f"ari show best {where}", "everything about the best node"))
        steps.append((f"ari validate {where}", "check the checkpoint"))
    else:
        steps.append((f"ari show root {where}", "what the first experiment did, and why it failed"))
    if not (result.interrupted or result.exhausted):
        steps.append((f"ari resume {where} --nodes N", "carry the search further"))
    return steps


def _larger(result: StudyResult) -> str:
    """The option that raises what was spent to the end."""
    options = {"calls": "--max-calls", "tokens": "--max-tokens", "dollars": "--max-cost-usd"}
    word = next((word for word in options if word in result.reason), None)
    return f"{options[word] if word else '--max-wall-s'} N"
