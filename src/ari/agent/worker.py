"""What runs inside a node's own process: the agent loop, then the evaluator, then one answer on disk.

The process leads its own session, so that ending its process group ends everything it started. It is
given a `NodeTask` as JSON and leaves `records/<node_id>/outcome.json`; nothing is pickled and nothing it
raises can reach the search.
"""

from __future__ import annotations

import asyncio
import os
import resource
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.agent.models import key_mask
from ari.agent.task import NodeOutcome, NodeTask
from ari.checkpoint import replay_source
from ari.errors import AriError, BudgetExhausted, ReplayError
from ari.execution.child import (
    announce,
    end_with_the_run,
    keep_output_off_the_terminal,
    lead_own_session,
)
from ari.formats.jsonio import strict_dumps

if TYPE_CHECKING:
    from ari.agent.loop import LoopEnd
    from ari.skills.session import NodeSession

OUTCOME = "outcome.json"
CRASH_LOG = "crash.txt"
OUTPUT_LOG = "output.log"


def node_main(task_json: str, environment: dict[str, str]) -> None:
    """Entry point of a node's process.

    Args:
        task_json: The `NodeTask`.
        environment: Variables of the run; the fork server knows only those of the time when it was started.
    """
    lead_own_session()
    os.environ.clear()
    os.environ.update(environment)
    task = NodeTask.model_validate_json(task_json)
    presence = announce(Path(task.checkpoint))
    end_with_the_run()
    keep_output_off_the_terminal(Path(task.checkpoint) / "records" / task.node_id / OUTPUT_LOG)
    records_dir = Path(task.checkpoint) / "records" / task.node_id
    if task.memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (task.memory_bytes, task.memory_bytes))
    started = time.monotonic()
    outcome = _guarded(task, records_dir)
    outcome = outcome.model_copy(update={"duration_s": round(time.monotonic() - started, 3)})
    document = key_mask(Path(task.checkpoint)).value(outcome.model_dump(mode="json"))
    _write_atomically(records_dir / OUTCOME, strict_dumps(document, indent=True))
    os.close(presence)


def _guarded(task: NodeTask, records_dir: Path) -> NodeOutcome:
    """Run the node; whatever goes wrong becomes an errored outcome with its reason."""
    try:
        return run_node(task)
    except MemoryError:
        return errored(task.node_id, "out of memory")
    except ReplayError as error:
        return errored(task.node_id, str(error)).model_copy(update={"unrecorded": error.message})
    except AriError as error:
        return errored(task.node_id, str(error))
    except Exception as error:  # noqa: BLE001 - one node's failure of any kind must never end the run
        text = key_mask(Path(task.checkpoint)).text(traceback.format_exc())
        (records_dir / CRASH_LOG).write_text(text, encoding="utf-8")
        return errored(
            task.node_id, f"{type(error).__name__}: {error} (details in records/{task.node_id}/{CRASH_LOG})"
        )


def errored(node_id: str, reason: str) -> NodeOutcome:
    """The outcome of a node that could not be brought to its end."""
    return NodeOutcome(node_id=node_id, status="errored", error=reason, eval_summary=reason)


def run_node(task: NodeTask) -> NodeOutcome:
    """Run a node's agent loop and measure what came of it."""
    from ari.agent.loop import LoopEnd, run_node_loop
    from ari.agent.models import resolve_model
    from ari.agent.recording import ended_by
    from ari.agent.symbolic_driver import drive_symbolic_node, drives
    from ari.evaluation.evaluator import evaluate_node
    from ari.settings import OFFLINE

    session = build_session(task)
    records_dir = Path(task.checkpoint) / "records" / task.node_id
    model = resolve_model(task.model, checkpoint=Path(task.checkpoint), purpose=f"node {task.node_id}")
    try:
        if drives(task):
            end = drive_symbolic_node(session, model, records_dir)
        else:
            # What the offline researcher says, it says for good.
            repairs = 0 if task.model == OFFLINE else task.repairs
            end = asyncio.run(run_node_loop(session, model, records_dir, repairs=repairs))
    except BudgetExhausted as error:  # what the node has done by now is measured all the same
        end = LoopEnd(words=error.message)
    except ReplayError as error:  # a command that was refused comes before the request that tells of it
        raise session.runner.refusal or error from None
    # Those who drive a model may have taken a refusal for the end of their work, or for a failed tool call.
    refusal = session.runner.refusal or ended_by(model)
    if isinstance(refusal, ReplayError):
        raise refusal
    outcome = _with_words(evaluate_node(task), end)
    if not isinstance(refusal, BudgetExhausted):
        return outcome
    concerns = [*outcome.concerns, f"cut short: {refusal.message}"]
    return outcome.model_copy(update={"exhausted": refusal.message, "concerns": concerns})


def _with_words(outcome: NodeOutcome, end: LoopEnd) -> NodeOutcome:
    """Add how the loop ended; where nothing was handed in that is the best reason there is."""
    said = end.failure or end.words
    changes: dict[str, Any] = {"what_was_done": outcome.what_was_done or said}
    if outcome.error and not outcome.metrics and said:
        changes["error"] = changes["eval_summary"] = f"{outcome.error}: {said}"
    elif end.failure:
        # What was handed in before was measured all the same.
        changes["concerns"] = [*outcome.concerns, end.failure]
    return outcome.model_copy(update=changes)


def build_session(task: NodeTask) -> NodeSession:
    """The reach of the node's tools: its folder, its runner, and its training data."""
    from ari.execution.limits import Limits
    from ari.execution.replayed import ReplayedRunner
    from ari.execution.runner import Runner
    from ari.skills.session import NodeSession

    checkpoint = Path(task.checkpoint)
    work_dir = checkpoint / "experiments" / task.node_id
    records_dir = checkpoint / "records" / task.node_id
    limits = Limits(wall_s=task.command_limit_s)
    source = replay_source(checkpoint)
    if source is None:
        runner = Runner(records_dir, work_dir, limits=limits, node_id=task.node_id)
    else:
        runner = ReplayedRunner(
            records_dir,
            work_dir,
            source_records=source / "records" / task.node_id,
            source_work_dir=source / "experiments" / task.node_id,
            limits=limits,
            node_id=task.node_id,
        )
    symbolic = None
    if task.experiment.kind == "symbolic":
        from ari.evaluation.data import TRAIN, choose_inputs
        from sr_harness.core import AgentContext, load_context_data
        from sr_harness.tools import ToolContext

        context = AgentContext.from_loaded(load_context_data(checkpoint / TRAIN))
        target = task.experiment.target or ""
        symbolic = ToolContext(
            context=context,
            target=target,
            inputs=choose_inputs(context, target, task.experiment.inputs, time=task.experiment.time),
            seed=task.seed,
            work_dir=work_dir,
            time=task.experiment.time,
        )
    return NodeSession(task=task, work_dir=work_dir, runner=runner, symbolic=symbolic)


def _write_atomically(path: Path, content: bytes) -> None:
    scratch = path.with_name(path.name + ".tmp")
    scratch.write_bytes(content)
    scratch.replace(path)
