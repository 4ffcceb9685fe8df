"""The first message of a conversation: the same facts as prose for a reader and as JSON for a program."""

from __future__ import annotations

import json
import re
from typing import Any

from ari.agent.task import NodeTask
from ari.formats.jsonio import strict_dumps

INSTRUCTIONS = (
    "You run one experiment of a tree of experiments. Work with the tools only: what you state without "
    "having measured it does not count. Finish with one or two sentences on what was done and found."
)

REMINDERS = {
    "symbolic": (
        "No formula has been handed in yet, so nothing of this counts. Work with the tools: call "
        "submit_formula with the best formula you have; only then end with words."
    ),
    "command": (
        "Nothing has been run yet, so nothing of this counts. Work with the tools: call run with a command "
        "that measures, then emit_results; only then end with words."
    ),
}
"""What a model is told that ends a node of this kind without having handed anything in."""

EXPANSION_INSTRUCTIONS = (
    "You propose the next experiment below a finished node of a tree of experiments. Choose a label (draft: "
    "a new hypothesis; improve: refine the node; debug: mend a failed node; ablation: take one part out; "
    "validation: repeat under other conditions) and plan exactly one experiment that has not been tried yet."
)

_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)


def task_briefing(task: NodeTask) -> str:
    """The first message of a node's agent loop."""
    facts = {
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
    head = f"# {task.experiment.title}\n\n{task.experiment.question}"
    return f"{head}\n\nThis node: {task.label}. {task.plan.get('summary', '')}\n\n{_as_block(facts)}"


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
