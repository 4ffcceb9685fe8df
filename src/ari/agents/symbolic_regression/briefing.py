"""What the agent's model is told: the first message of a conversation, and the answer to each reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ari.agent.prompts import Prompts
from ari.formats.jsonio import strict_dumps

if TYPE_CHECKING:
    from ari.agents.symbolic_regression.pool import Measured
    from ari.agents.symbolic_regression.toolbox import Toolbox

MOST_INPUTS = 40
"""Inputs that are described; of more, those most strongly related to the target."""

MOST_RESULT = 6_000
"""Characters of a tool's answer that go back to the model where it was called in text."""

NOTHING_FOUND = (
    "There was no formula in your reply. Write each formula as <formula>right side</formula>, or call a tool."
)

KIND = "symbolic_regression"


def instructions() -> str:
    """The standing instructions."""
    return Prompts().text("symbolic_regression")


def diagnostics(tools: Toolbox) -> dict[str, Any]:
    """What the statistics and relationship tools say about the data; the inputs most related come first."""
    described = tools.call("describe_data", {})
    related = tools.call("relationships", {})
    if "error" in described:
        return {"statistics": described}
    order = [pair["input"] for pair in related.get("pairs", [])]
    inputs = sorted(
        described["inputs"],
        key=lambda column: order.index(column["name"]) if column["name"] in order else len(order),
    )
    shown = {column["name"] for column in inputs[:MOST_INPUTS]}
    pairs = [pair for pair in related.get("pairs", []) if pair["input"] in shown]
    left_out = len(inputs) - len(shown)
    statistics = described | {"inputs": inputs[:MOST_INPUTS]}
    return {"statistics": statistics, "relationships": pairs} | (
        {"inputs_left_out": left_out} if left_out else {}
    )


def first_message(
    *,
    target: str,
    question: str,
    found: Mapping[str, Any],
    known: Sequence[Mapping[str, Any]],
    work: int,
) -> str:
    """The first message of a conversation.

    Args:
        target: What is to be explained.
        question: What the caller wants to know or to try, in words.
        found: The diagnostics.
        known: Formulas found before, the best first, as measured.
        work: Model evaluations that a tool call may spend.
    """
    facts = {"kind": KIND, "target": target, "known": list(known), "work": work, **found}
    asked = f"{question.strip()}\n\n" if question.strip() else ""
    start = (
        "These formulas have been found so far; do better, or find the same with a plainer structure."
        if known
        else "Nothing but simple families has been tried yet."
    )
    return f"{asked}Find a formula for {target}. {start}\n\n{_block(facts)}"


def answer(
    measured: Sequence[Measured],
    called: Sequence[tuple[str, Mapping[str, Any]]],
    best: Mapping[str, Any] | None,
    steps_left: int,
) -> str:
    """What the model is told after a reply.

    Args:
        measured: Its formulas as they were measured.
        called: Tools that it called in text, with their answers.
        best: The best formula of the restart.
        steps_left: Replies that this conversation still has.
    """
    lines = [f"{name} answered: {_short(result)}" for name, result in called]
    if measured:
        lines.append("Measured:\n" + "\n".join(_line(item.row()) for item in measured))
    else:
        lines.append(NOTHING_FOUND)
    if best is not None:
        lines.append(f"Best so far: {_line(best)}")
    lines.append(f"{steps_left} replies left in this conversation.")
    return "\n\n".join(lines)


def _line(document: Mapping[str, Any]) -> str:
    return strict_dumps(dict(document)).decode()


def _short(result: Mapping[str, Any]) -> str:
    text = _line(result)
    return text if len(text) <= MOST_RESULT else text[:MOST_RESULT] + " … (cut)"


def _block(facts: Mapping[str, Any]) -> str:
    return f"```json\n{strict_dumps(dict(facts), indent=True).decode()}\n```"
