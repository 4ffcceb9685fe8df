"""One process a node: started from a warm fork server, ended as a whole, heard only through its outcome file.

A node's process may crash, hang, be killed or fill its memory; the pool turns each of these into an
errored outcome with its reason, and the search goes on.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ari.agent.task import NodeOutcome, NodeTask
from ari.agent.worker import OUTCOME, errored, node_main
from ari.errors import ExecutionError
from ari.execution.child import describe_death
from ari.settings import OFFLINE

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

PRELOAD = (
    "ari.agent.loop",
    "ari.agent.models.offline.researcher",
    "ari.agent.recording",
    "ari.evaluation.evaluator",
    "ari.evaluation.symbolic",
    "ari.execution.runner",
    "ari.skills.coding.server",
    "ari.skills.symbolic.server",
    "sr_harness.tools",
    "scipy.optimize",
    "genai_prices.data",  # the agent library and the MCP client load these two at their first use,
    "jsonschema",  # which would then be in every node: 0.25 s of processor time
)
"""Loaded once in the fork server, so that a node's process starts in milliseconds."""


FOR_SERVICES = (
    "ari.budget.metered",
    "ari.agent.models.service",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai_compatible",
)
"""Loaded too where a model service is asked: half a second of every node."""


def warm_up(model: str = OFFLINE) -> None:
    """Start the fork server, which loads the libraries while the caller goes on.

    Args:
        model: Who drives the nodes.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the agent library greets on terminals
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        [*PRELOAD, *(() if model == OFFLINE else FOR_SERVICES)]
    )
    with _interrupts_ignored():
        multiprocessing.forkserver.ensure_running()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let what is started here ignore SIGINT from its first moment on.

    Ctrl-C goes to every process of the terminal's group, and the fork server ignores it only once it has
    loaded its libraries.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may choose; there, nobody presses Ctrl-C for us either
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


GRACE_S = 5.0
"""How long an ended process is waited for before it is reported as unkillable."""


@dataclass
class RunningNode:
    """A node under way."""

    task: NodeTask
    process: ForkServerProcess
    started: float

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self.started

    @property
    def overdue(self) -> bool:
        """Whether the node has used up its time."""
        return self.seconds > self.task.time_limit_s


class WorkerPool:
    """Runs up to `size` nodes at a time.

    Promises: `finished` yields each node once; after `close` no process of any node is left.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.running: dict[str, RunningNode] = {}
        self._context = multiprocessing.get_context("forkserver")

    @property
    def free(self) -> int:
        """How many more nodes may be started now."""
        return self.size - len(self.running)

    def start(self, task: NodeTask) -> None:
        """Start a node; its folders exist already.

        Raises:
            ExecutionError: When no process can be started, even by a fresh fork server.
        """
        outcome_path(task).unlink(missing_ok=True)
        try:
            process = self._process(task)
        except (EOFError, OSError):  # the fork server has died; the next use starts another
            try:
                process = self._process(task)
            except (EOFError, OSError) as error:
                raise ExecutionError(f"no process can be started for {task.node_id}: {error}") from error
        self.running[task.node_id] = RunningNode(task, process, time.monotonic())

    def _process(self, task: NodeTask) -> ForkServerProcess:
        arguments = (task.model_dump_json(), dict(os.environ))  # through a pipe: no file ever holds the keys
        process = self._context.Process(target=node_main, args=arguments, daemon=False)
        process.start()
        return process

    def finished(self, timeout_s: float) -> Iterator[NodeOutcome]:
        """Wait at most `timeout_s` and yield the outcomes of nodes that have ended, in node order."""
        sentinels = [node.process.sentinel for node in self.running.values()]
        if sentinels:
            multiprocessing.connection.wait(sentinels, timeout=timeout_s)
        for node in sorted(self.running.values(), key=lambda node: node.task.order):
            if not node.process.is_alive():
                yield self._collect(node)
            elif node.overdue:
                end_node(node)
                limit = f"the node ran into its time limit of {node.task.time_limit_s:g} s and was ended"
                del self.running[node.task.node_id]
                yield errored(node.task.node_id, limit)

    def _collect(self, node: RunningNode) -> NodeOutcome:
        end_node(node)  # whatever the node started must not outlive it
        del self.running[node.task.node_id]
        outcome = read_outcome(node.task)
        if outcome is not None:
            return outcome
        return errored(
            node.task.node_id, describe_death(node.process.exitcode, whose="the node's", owed="outcome")
        )

    def close(self) -> None:
        """End every node that is still running."""
        for node in list(self.running.values()):
            end_node(node)
            del self.running[node.task.node_id]


def outcome_path(task: NodeTask) -> Path:
    """Where a node's process leaves its answer."""
    return Path(task.checkpoint) / "records" / task.node_id / OUTCOME


def read_outcome(task: NodeTask) -> NodeOutcome | None:
    """The answer that a node's process left, or None when there is none that can be used."""
    try:
        outcome = NodeOutcome.model_validate_json(outcome_path(task).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        return errored(task.node_id, f"the node's outcome cannot be read: {error}")
    return outcome if outcome.node_id == task.node_id else None


def end_node(node: RunningNode) -> None:
    """End the node's process and everything it started; only then return.

    A command's own supervisor notices that the node is gone and cleans up, so this also holds for a node
    that has died by itself.
    """
    from ari.execution.processes import kill_tree

    pid = node.process.pid
    if pid is not None and node.process.is_alive():
        kill_tree(root=pid, pgid=pid)
    node.process.join(GRACE_S)
