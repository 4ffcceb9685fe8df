"""The first message of a conversation: the same facts as prose for a reader and as JSON for a program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ari.agent.task import NodeTask
from ari.formats.jsonio import strict_dumps

MAX_FILES = 60
"""Files of the node's folder that the first message lists."""

TAIL = 2_000
"""Characters from the end of a failed parent's output that its repair is told."""

REMINDERS = {
    "symbolic": (
        "No formula has been handed in yet, and only a submitted formula counts. Work with the tools: call "
        "submit_formula with the best formula you have; only then end with words."
    ),
    "command": (
        "Nothing has been run yet, so nothing of this counts. Work with the tools: call run with a command "
        "that measures, then emit_results; only then end with words."
    ),
    "code": (
        "There is no results.json yet, so nothing of this counts. Work with the tools: write the "
        "program, call run "
        "with a command that measures, then emit_results; only then end with words."
    ),
}
"""What a model is told that ends a node of this kind without having handed anything in."""

_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)


def task_briefing(task: NodeTask) -> str:
    """The first message of a node's agent loop."""
    facts: dict[str, Any] = {
        "kind": "node",
        "experiment": task.experiment.model_dump(mode="json", exclude={"question"}),
        "higher_is_better": task.higher_is_better,
        "label": task.label,
        "depth": task.depth,
        "plan": task.plan,
        "seed": task.seed,
        "search_work": task.search_work,
        "ancestors": [ancestor.model_dump(mode="json") for ancestor in task.ancestors],
    }
    if task.experiment.kind != "symbolic":
        facts["files"] = _files(task)
    if task.label == "debug" and task.parent is not None:
        facts["parent_failure"] = _parent_failure(task)
    head = f"# {task.experiment.title}\n\n{task.experiment.question}"
    return f"{head}\n\nThis node: {task.label}. {task.plan.get('summary', '')}\n\n{_as_block(facts)}"


def _files(task: NodeTask) -> list[str]:
    """What lies in the node's folder before it begins."""
    folder = Path(task.checkpoint) / "experiments" / task.node_id
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return found if len(found) <= MAX_FILES else [*found[:MAX_FILES], f"… and {len(found) - MAX_FILES} more"]


def _parent_failure(task: NodeTask) -> dict[str, Any]:
    """Why the parent failed: its error, and the last of its commands that did, with the end of its output."""
    from ari.execution.records import load

    parent = task.parent
    assert parent is not None
    runs = load(Path(task.checkpoint) / "records" / parent.node_id, node_id=parent.node_id).runs
    last = next((run for run in reversed(runs) if run.outcome != "ok"), runs[-1] if runs else None)
    told: dict[str, Any] = {"error": parent.error}
    if last is not None:
        told |= {
            "command": last.command,
            "outcome": last.outcome,
            "exit_status": last.exit_status,
            "stdout_tail": last.stdout[-TAIL:],
            "stderr_tail": last.stderr[-TAIL:],
        }
    return told


def expansion_briefing(facts: dict[str, Any]) -> str:
    """The message that asks for the next experiment below a node."""
    ask = f"Propose the next experiment below node {facts['node']['node_id']}."
    return f"{ask}\n\n{_as_block({'kind': 'expansion', **facts})}"


def _as_block(facts: dict[str, Any]) -> str:
    return f"```json\n{strict_dumps(facts, indent=True).decode()}\n```"


def read_facts(text: str) -> dict[str, Any]:
    """The JSON facts of a briefing.

    Raises:
        ValueError: When the text is not a briefing.
    """
    match = _BLOCK.search(text)
    if match is None:
        raise ValueError("the message holds no ```json block of facts")
    facts: dict[str, Any] = json.loads(match.group(1))
    return facts
