"""The symbolic-regression agent as the driver of a node: it searches, the best formula is handed in.

It drives nodes that look for a formula, where a model is configured. Ablations and validations, which test a
formula that is there, are left to the node loop, and so is everything where the setting `symbolic_driver`
says `loop`. What it hands in goes through the same tool as anyone's, and is measured by the evaluator.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.formats.jsonio import strict_dumps
from ari.settings import OFFLINE

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ari.agent.loop import LoopEnd
    from ari.agent.task import NodeTask
    from ari.agents.symbolic_regression import AgentResult
    from ari.skills.session import NodeSession

TESTS = frozenset({"ablation", "validation"})
TIME_SHARE = 0.8
"""No request is begun after this share of the node's time: handing in and measuring need some, too."""

TRACE = "trace.jsonl"


def drives(task: NodeTask) -> bool:
    """Whether the agent works on this node."""
    looks_for_a_formula = task.experiment.kind == "symbolic" and task.label not in TESTS
    return looks_for_a_formula and task.model != OFFLINE and task.symbolic_driver == "agent"


def drive_symbolic_node(session: NodeSession, model: Model, records_dir: Path) -> LoopEnd:
    """Search for the node's formula and hand it in.

    Where no reply was of use, the last one is kept as it came (`records/<node_id>/raw_reply.txt`).

    Returns:
        What was done, in a sentence or two; where nothing was handed in, why.
    """
    from ari.agent.loop import LoopEnd
    from ari.agent.prompts import Prompts
    from ari.agent.repairs import RAW_REPLY
    from ari.agents.symbolic_regression import Shape, Workbench, find_formula
    from ari.errors import SkillError
    from ari.skills import call_tool
    from sr_harness.errors import SRError

    task, context = session.task, session.symbolic
    if context is None:
        return LoopEnd(failure="there are no data to search")
    last_reply = ""
    trace = records_dir / TRACE
    trace.unlink(missing_ok=True)

    def record(role: str, content: str) -> None:
        nonlocal last_reply
        last_reply = content if role == "assistant" else last_reply
        with trace.open("ab") as stream:
            stream.write(strict_dumps({"role": role, "content": content}) + b"\n")

    try:
        bench = Workbench.of(
            context.context,
            context.target,
            inputs=context.inputs,
            seed=task.seed,
            work_dir=context.work_dir,
            time=context.time,
        )
        result = asyncio.run(
            find_formula(
                bench,
                model,
                shape=Shape(*task.sr_shape),
                seed=task.seed,
                question=_question(task),
                instructions=Prompts.of(Path(task.checkpoint)).text("symbolic_regression"),
                start=_start(task),
                work=task.search_work,
                seconds=TIME_SHARE * task.time_limit_s,
                on_record=record,
            )
        )
        if result.best is None:
            (records_dir / RAW_REPLY).write_text(last_reply, encoding="utf-8", errors="replace")
            return LoopEnd(failure=f"no formula was found: {_account(result)}")
        formula = result.best.formula()
        note = f"{_account(result)} Origin of the best: {result.best.origin}."
        call_tool("symbolic", session, "submit_formula", {"formula": formula, "note": note})
    except (SRError, SkillError) as error:
        return LoopEnd(failure=f"no formula could be handed in: {error}")
    record("assistant", f"submit_formula({formula})")
    return LoopEnd(f"Submitted {formula}. {note}")


def _question(task: NodeTask) -> str:
    """What the node is to try, for the model."""
    plan = {key: value for key, value in task.plan.items() if key not in ("summary", "idea_index", "formula")}
    lines = [task.experiment.question, f"This experiment ({task.label}): {task.plan.get('summary', '')}"]
    if plan:
        lines.append(f"Plan: {strict_dumps(plan).decode()}")
    if task.label == "debug" and task.parent is not None and task.parent.error:
        lines.append(f"The attempt before failed: {task.parent.error}")
    return "\n\n".join(line for line in lines if line.strip())


def _start(task: NodeTask) -> list[str]:
    """Formulas to go on from: none for a new hypothesis, else the planned one and those of the ancestors."""
    if task.label == "draft":
        return []
    texts: list[Any] = [task.plan.get("formula")]
    texts += [ancestor.submission.get("formula") for ancestor in reversed(task.ancestors)]
    return list(dict.fromkeys(text for text in texts if isinstance(text, str) and text))


def _account(result: AgentResult) -> str:
    """How the search went."""
    account = (
        f"{result.requests} requests brought {result.proposals} formulas, {result.measured} of them usable; "
        f"the search ended as {result.stop_reason}."
    )
    return " ".join([account, *(f"{note[:1].upper()}{note[1:]}." for note in result.notes)])
