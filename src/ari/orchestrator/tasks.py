"""What a node's process is given, from what the checkpoint records about the node."""

from __future__ import annotations

from ari.agent.task import NodeTask
from ari.checkpoint import Checkpoint, NodeState
from ari.orchestrator.node_report import read_relative
from ari.orchestrator.planning import ancestors_of
from ari.pipeline.experiment_spec import Experiment
from ari.settings import Settings

COMMAND_SHARE = 0.5
"""A single command may use this share of its node's time, so that a hang leaves a record."""


def node_task(
    checkpoint: Checkpoint, node: NodeState, *, experiment: Experiment, settings: Settings
) -> NodeTask:
    """The task of a node."""
    nodes = checkpoint.nodes
    ancestors = [read_relative(checkpoint.path, nodes[name]) for name in ancestors_of(node, nodes)]
    return NodeTask(
        checkpoint=str(checkpoint.path.absolute()),
        node_id=node.id,
        parent_id=node.parent_id,
        label=node.raw_label or node.label,
        depth=node.depth,
        order=node.order,
        plan=node.plan,
        experiment=experiment,
        higher_is_better=bool(checkpoint.state.higher_is_better),
        ancestors=tuple(ancestors),
        seed=settings.seed * 1_000_003 + node.order,
        model=settings.model,
        repairs=settings.repairs,
        search_work=settings.search_work,
        symbolic_driver=settings.symbolic_driver,
        sr_shape=settings.sr_shape,
        time_limit_s=settings.node_time,
        command_limit_s=max(1.0, settings.node_time * COMMAND_SHARE),
    )
