"""What is tried next: the stagnation rule, the choice of a node, and the model's proposal below it.

The tree may not depend on how many workers there are, so the node of order k is planned from the results
of the nodes up to order k − lookahead and no others, whichever may have finished meanwhile. Up to
`lookahead` nodes are therefore under way at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ari.agent.task import Relative
from ari.checkpoint import Checkpoint, NodeState
from ari.formats.tree import normalise_label
from ari.orchestrator.bfts import SearchLimits, SearchNode, SearchView, select
from ari.orchestrator.lineage_decision import LineageDecision, StagnationRule, decide
from ari.orchestrator.node_report import read_relative
from ari.pipeline.experiment_spec import Experiment


@dataclass(frozen=True)
class PlannedNode:
    """A node to be created."""

    id: str
    parent_id: str | None
    depth: int
    label: str
    order: int
    plan: dict[str, Any]

    def as_event(self) -> dict[str, Any]:
        """The node as the journal holds it."""
        known = normalise_label(self.label)
        node: dict[str, Any] = {
            "id": self.id,
            "parent_id": self.parent_id,
            "depth": self.depth,
            "label": known,
            "order": self.order,
            "plan": self.plan,
        }
        return node if known == self.label else node | {"raw_label": self.label}


@dataclass(frozen=True)
class Plan:
    """What planning came to: a node, a decision, both, or neither (results have to come in first)."""

    node: PlannedNode | None = None
    decision: LineageDecision | None = None


@dataclass(frozen=True)
class Planner:
    """Plans the nodes of one study.

    Attributes:
        experiment: What is studied.
        ideas: Entries of `idea.json`, strongest first.
        model: Name of the model that proposes.
        repairs: How many unusable proposals the model may mend.
        seed: Seed of the study.
        limits: Where the tree stops growing.
        rule: The stagnation rule.
        lookahead: How many nodes are planned without each other's results.
    """

    experiment: Experiment
    ideas: Sequence[Mapping[str, Any]]
    model: str
    repairs: int
    seed: int
    limits: SearchLimits
    rule: StagnationRule
    lookahead: int

    def next(self, checkpoint: Checkpoint) -> Plan:
        """Plan the next node from what may be seen now; an empty plan means: wait for results."""
        order = len(checkpoint.nodes)
        if order == 0:
            return Plan(self._root())
        if order >= self.limits.max_nodes:
            return Plan()
        for bound in range(max(0, order - self.lookahead), order):
            if not _finished_up_to(checkpoint, bound):
                return Plan()
            plan = self._plan_in(search_view(checkpoint, self.limits, bound), checkpoint, order)
            if plan is not None:
                return plan
        return Plan()

    def _plan_in(self, view: SearchView, checkpoint: Checkpoint, order: int) -> Plan | None:
        decision = decide(
            view,
            self.rule,
            ideas=len(self.ideas),
            used_ideas=_used_ideas(checkpoint),
            switched_at=_switches(checkpoint),
        )
        if decision is not None and decision.decision == "terminate":
            return Plan(decision=decision)
        if decision is not None and decision.idea_index is not None:
            root = checkpoint.nodes[checkpoint.root_node_id or ""]
            return Plan(self._child(root, view, checkpoint, order, decision.idea_index), decision)
        chosen = select(view)
        if chosen is None:
            return None
        return Plan(self._child(checkpoint.nodes[chosen.id], view, checkpoint, order, None))

    def _root(self) -> PlannedNode:
        idea = self.ideas[0]
        plan = {key: idea[key] for key in ("strategies", "params") if key in idea}
        plan |= {"idea_index": 0, "summary": f"{idea['title']}: the first hypothesis."}
        return PlannedNode(node_id(0), None, 0, "draft", 0, plan)

    def _child(
        self, parent: NodeState, view: SearchView, checkpoint: Checkpoint, order: int, idea_index: int | None
    ) -> PlannedNode:
        from ari.agent.expansion import ask_for_proposal

        facts = self._facts(parent, view, checkpoint, idea_index)
        proposal = ask_for_proposal(
            facts, self.model, checkpoint=checkpoint.path, for_node=node_id(order), repairs=self.repairs
        )
        plan = dict(proposal.plan) | {"summary": proposal.summary}
        return PlannedNode(node_id(order), parent.id, parent.depth + 1, proposal.label, order, plan)

    def _facts(
        self, parent: NodeState, view: SearchView, checkpoint: Checkpoint, idea_index: int | None
    ) -> dict[str, Any]:
        relatives = {
            node.id: (
                read_relative(checkpoint.path, node) if view.nodes[node.id].finished else _planned_only(node)
            ).model_dump(mode="json")
            for node in checkpoint.nodes.values()
        }
        unused = [index for index in range(len(self.ideas)) if index not in _used_ideas(checkpoint)]
        return {
            "experiment": self.experiment.model_dump(mode="json", exclude={"question"}),
            "seed": self.seed + len(checkpoint.nodes),
            "node": relatives[parent.id],
            "ancestors": [relatives[name] for name in ancestors_of(parent, checkpoint.nodes)],
            "children": [relatives[name] for name in parent.children],
            "tried": [{"label": item["label"], "plan": item["plan"]} for item in relatives.values()],
            "idea": dict(self.ideas[idea_index]) if idea_index is not None else None,
            "idea_index": idea_index,
            "next_idea": dict(self.ideas[unused[0]]) if unused else None,
            "next_idea_index": unused[0] if unused else None,
        }


def node_id(order: int) -> str:
    """Name of the node that is planned in this place."""
    return f"node_{order:04d}"


def search_view(checkpoint: Checkpoint, limits: SearchLimits, bound: int) -> SearchView:
    """The tree with the results of the nodes up to order `bound` only."""
    nodes = {
        node.id: SearchNode(
            id=node.id,
            parent_id=node.parent_id,
            depth=node.depth,
            label=node.raw_label or node.label,
            order=node.order,
            finished=node.finished and node.order <= bound,
            failed=node.status == "errored",
            score=node.score,
            sterile=node.search_state.sterile,
            idea_index=node.plan.get("idea_index"),
        )
        for node in checkpoint.nodes.values()
    }
    return SearchView(nodes, limits)


def ancestors_of(node: NodeState, nodes: Mapping[str, NodeState]) -> list[str]:
    """Ids from the root to the node's parent."""
    chain: list[str] = []
    current = node.parent_id
    while current is not None:
        chain.append(current)
        current = nodes[current].parent_id
    return chain[::-1]


def _planned_only(node: NodeState) -> Relative:
    return Relative(
        node_id=node.id,
        label=node.raw_label or node.label,
        status="pending",
        score=0.0,
        metrics={},
        plan=node.plan,
        submission={},
    )


def _used_ideas(checkpoint: Checkpoint) -> list[int]:
    used = (node.plan.get("idea_index") for node in checkpoint.nodes.values())
    return [index for index in used if index is not None]


def _finished_up_to(checkpoint: Checkpoint, bound: int) -> bool:
    return all(node.finished for node in checkpoint.nodes.values() if node.order <= bound)


def _switches(checkpoint: Checkpoint) -> list[int]:
    """Orders of the nodes that a switch to another idea led to."""
    places = (d.get("at_order") for d in checkpoint.state.decisions if d["decision"] == "switch_to_idea")
    return [place for place in places if isinstance(place, int)]
