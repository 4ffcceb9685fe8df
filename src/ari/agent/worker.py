"""What runs inside a node's own process: the agent loop, then the evaluator, then one answer on disk.

The process leads its own session, so that ending its process group ends everything it started. It is
given a `NodeTask` as JSON and leaves `records/<node_id>/outcome.json`; nothing is pickled and nothing it
raises can reach the search.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from ari.agent.task import NodeOutcome, NodeTask
from ari.errors import AriError, CheckpointError
from ari.formats.jsonio import strict_dumps

if TYPE_CHECKING:
    from ari.skills.session import NodeSession

OUTCOME = "outcome.json"
CRASH_LOG = "crash.txt"
OUTPUT_LOG = "output.log"
PRESENCE = ".nodes.lock"
_PR_SET_PDEATHSIG = 1


def node_main(task_json: str) -> None:
    """Entry point of a node's process."""
    _lead_own_session()
    task = NodeTask.model_validate_json(task_json)
    presence = announce(Path(task.checkpoint))
    _end_with_the_run()
    _keep_output_off_the_terminal(Path(task.checkpoint) / "records" / task.node_id / OUTPUT_LOG)
    records_dir = Path(task.checkpoint) / "records" / task.node_id
    if task.memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (task.memory_bytes, task.memory_bytes))
    started = time.monotonic()
    outcome = _guarded(task, records_dir)
    outcome = outcome.model_copy(update={"duration_s": round(time.monotonic() - started, 3)})
    _write_atomically(records_dir / OUTCOME, strict_dumps(outcome.model_dump(mode="json"), indent=True))
    os.close(presence)


def announce(checkpoint: Path) -> int:
    """Hold the presence lock, shared, for as long as this process lives; see `wait_until_alone`."""
    descriptor = os.open(checkpoint / PRESENCE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _end_with_the_run() -> None:
    """End this process at once when the process that runs the study is gone, now or at any later moment.

    Called once the presence lock is held: a study that is resumed either waits for this process, or has
    looked before the lock was taken, and then the old run is known to be dead here. So no two processes
    ever write the records of one node. (The parent-death signal alone does not do: nodes keep the fork
    server, their parent, alive.)
    """
    parent = multiprocessing.parent_process()
    if parent is None:  # started by hand
        return
    if not parent.is_alive():
        os._exit(1)
    threading.Thread(target=_end_after, args=(parent.sentinel,), name="end with the run", daemon=True).start()


def _end_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def wait_until_alone(checkpoint: Path, within_s: float = 15.0) -> None:
    """Wait until no process of an earlier, killed run is at work in the checkpoint.

    Such processes die with their parent, but not in the same instant; until then they could still write.

    Raises:
        CheckpointError: When one is still there after `within_s` seconds.
    """
    descriptor = os.open(checkpoint / PRESENCE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CheckpointError(
                        f"{checkpoint}: processes of the run that was killed are still at work",
                        cure="End them (they are called python), then resume again.",
                    ) from None
                time.sleep(0.05)
    finally:
        os.close(descriptor)


def _keep_output_off_the_terminal(log: Path) -> None:
    """Send what libraries print to a log of the node: nobody reads it live, and it would break a display."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def _lead_own_session() -> None:
    with contextlib.suppress(OSError):  # already a leader when started by hand
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # the fork server has died before the line above took hold
        os._exit(1)


def _guarded(task: NodeTask, records_dir: Path) -> NodeOutcome:
    """Run the node; whatever goes wrong becomes an errored outcome with its reason."""
    try:
        return run_node(task)
    except MemoryError:
        return errored(task.node_id, "out of memory")
    except AriError as error:
        return errored(task.node_id, str(error))
    except Exception as error:  # noqa: BLE001 - one node's failure of any kind must never end the run
        (records_dir / CRASH_LOG).write_text(traceback.format_exc(), encoding="utf-8")
        return errored(
            task.node_id, f"{type(error).__name__}: {error} (details in records/{task.node_id}/{CRASH_LOG})"
        )


def errored(node_id: str, reason: str) -> NodeOutcome:
    """The outcome of a node that could not be brought to its end."""
    return NodeOutcome(node_id=node_id, status="errored", error=reason, eval_summary=reason)


def run_node(task: NodeTask) -> NodeOutcome:
    """Run a node's agent loop and measure what came of it."""
    from ari.agent.loop import run_node_loop
    from ari.agent.models import resolve_model
    from ari.evaluation.evaluator import evaluate_node

    session = build_session(task)
    records_dir = Path(task.checkpoint) / "records" / task.node_id
    words = asyncio.run(run_node_loop(session, resolve_model(task.model), records_dir))
    outcome = evaluate_node(task)
    return _with_words(outcome, words)


def _with_words(outcome: NodeOutcome, words: str) -> NodeOutcome:
    """Add the agent's closing words; where nothing was handed in they are the best reason there is."""
    changes: dict[str, str] = {"what_was_done": outcome.what_was_done or words}
    if outcome.error and not outcome.metrics and words:
        changes["error"] = changes["eval_summary"] = f"{outcome.error}: {words}"
    return outcome.model_copy(update=changes)


def build_session(task: NodeTask) -> NodeSession:
    """The reach of the node's tools: its folder, its runner, and its training data."""
    from ari.execution.limits import Limits
    from ari.execution.runner import Runner
    from ari.skills.session import NodeSession

    checkpoint = Path(task.checkpoint)
    work_dir = checkpoint / "experiments" / task.node_id
    records_dir = checkpoint / "records" / task.node_id
    runner = Runner(
        records_dir=records_dir,
        work_dir=work_dir,
        limits=Limits(wall_s=task.command_limit_s),
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
            inputs=choose_inputs(context, target, task.experiment.inputs),
            seed=task.seed,
            work_dir=work_dir,
        )
    return NodeSession(task=task, work_dir=work_dir, runner=runner, symbolic=symbolic)


def _write_atomically(path: Path, content: bytes) -> None:
    scratch = path.with_name(path.name + ".tmp")
    scratch.write_bytes(content)
    scratch.replace(path)
