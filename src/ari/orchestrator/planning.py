"""What is tried next: the stagnation rule, the choice of a node, and the model's proposal below it.

The tree may not depend on how many workers there are, so the node of order k is planned from the results
of the nodes up to order k − lookahead and no others, whichever may have finished meanwhile. Up to
`lookahead` nodes are therefore under way at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ari.agent.ideas import plan_of
from ari.agent.task import Relative
from ari.checkpoint import Checkpoint, NodeState
from ari.formats.tree import normalise_label
from ari.orchestrator.bfts import SearchLimits, SearchNode, SearchView, select
from ari.orchestrator.lineage_decision import Decision, LineageDecision, StagnationRule, decide
from ari.orchestrator.node_report import read_relative
from ari.pipeline.experiment_spec import Experiment
from ari.settings import OFFLINE

MOST_PLAN = 500
"""Characters of an idea's plan that the model is told when it decides how the search goes on."""

FEWEST_TO_FAN_OUT = 3
"""Experiments that must be left before ideas may get studies of their own."""


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
        advice: How often the model may decide in place of the end.
        may_fan_out: Whether the study may have sub-experiments.
    """

    experiment: Experiment
    ideas: Sequence[Mapping[str, Any]]
    model: str
    repairs: int
    seed: int
    limits: SearchLimits
    rule: StagnationRule
    lookahead: int
    advice: int = 0
    may_fan_out: bool = False

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
        begun = _begun_switch(checkpoint, order)
        if begun is not None:
            return Plan(self._from_idea(begun, view, checkpoint, order))
        decision = decide(
            view,
            self.rule,
            ideas=len(self.ideas),
            used_ideas=_used_ideas(checkpoint),
            switched_at=_places(checkpoint, "switch_to_idea"),
            quiet_since=max(_places(checkpoint, "continue", "fanout"), default=-1),
        )
        chosen = select(view)
        if decision is not None and decision.decision == "terminate":
            decision = self._advised(decision, view, checkpoint, can_go_on=chosen is not None)
        if decision is not None and decision.decision in ("terminate", "fanout"):
            return Plan(decision=decision)
        if decision is not None and decision.idea_index is not None:
            return Plan(self._from_idea(decision.idea_index, view, checkpoint, order), decision)
        if chosen is None:
            return None
        return Plan(self._child(checkpoint.nodes[chosen.id], view, checkpoint, order, None), decision)

    def _from_idea(self, index: int, view: SearchView, checkpoint: Checkpoint, order: int) -> PlannedNode:
        root = checkpoint.nodes[checkpoint.root_node_id or ""]
        return self._child(root, view, checkpoint, order, index)

    def _advised(
        self, end: LineageDecision, view: SearchView, checkpoint: Checkpoint, *, can_go_on: bool
    ) -> LineageDecision:
        """What the model makes of the end that the rule has come to; the end where it is no help."""
        asked = sum(d.get("by") == "model" for d in checkpoint.state.decisions)
        if self.model == OFFLINE or asked >= self.advice:
            return end
        from ari.agent.asking import NoAnswerError
        from ari.agent.lineage import ask_for_advice

        left = self.limits.max_nodes - len(checkpoint.nodes)
        options: list[Decision] = ["continue"] if can_go_on else []
        options.append("switch_to_idea")
        if self.may_fan_out and left >= FEWEST_TO_FAN_OUT and len(self.ideas) > 1:
            options.append("fanout")
        options.append("terminate")
        facts = self._lineage_facts(end, view, checkpoint, left)
        try:
            advice = ask_for_advice(facts, self.model, checkpoint=checkpoint.path, options=options)
        except NoAnswerError as error:
            why = error.message.splitlines()[0][:200]
            return end._replace(rationale=f"{end.rationale} (the model gave no usable advice: {why})")
        return LineageDecision(
            end.node_id,
            advice.decision,
            f"{advice.rationale} (the rule: {end.rationale})",
            advice.idea_index if advice.decision == "switch_to_idea" else None,
            "model",
            tuple(advice.idea_indices) if advice.decision == "fanout" else (),
        )

    def _lineage_facts(
        self, end: LineageDecision, view: SearchView, checkpoint: Checkpoint, left: int
    ) -> dict[str, Any]:
        """The tree as it may be seen now, in short."""
        seen = [node for node in checkpoint.nodes.values() if view.nodes[node.id].finished]
        used = set(_used_ideas(checkpoint))
        return {
            "kind": "lineage",
            "node_id": end.node_id,
            "finding": end.rationale,
            "primary_metric": checkpoint.state.primary_metric,
            "higher_is_better": checkpoint.state.higher_is_better,
            "experiments_left": left,
            "ideas": [
                {
                    "index": index,
                    "title": idea["title"],
                    "plan": str(idea.get("experiment_plan", ""))[:MOST_PLAN],
                    "tried": index in used,
                }
                for index, idea in enumerate(self.ideas)
            ],
            "nodes": [
                {
                    "id": node.id,
                    "parent_id": node.parent_id,
                    "label": node.raw_label or node.label,
                    "status": node.status,
                    "score": node.score,
                    "metrics": node.metrics,
                    "summary": node.plan.get("summary", ""),
                    "idea_index": node.plan.get("idea_index"),
                    "error": node.error,
                }
                for node in seen
            ],
        }

    def _root(self) -> PlannedNode:
        idea = self.ideas[0]
        plan = plan_of(idea) | {"idea_index": 0, "summary": f"{idea['title']}: the first hypothesis."}
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
        if idea_index is not None:
            plan["idea_index"] = idea_index  # whatever the model makes of it: it was given this one
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


def _places(checkpoint: Checkpoint, *decisions: Decision) -> list[int]:
    """Orders of the nodes that decisions of these kinds led to."""
    places = (d.get("at_order") for d in checkpoint.state.decisions if d["decision"] in decisions)
    return [place for place in places if isinstance(place, int)]


def _begun_switch(checkpoint: Checkpoint, order: int) -> int | None:
    """The idea that was being turned to when the study was killed, before its node was created."""
    last = next(reversed(checkpoint.state.decisions), None)
    if last is None or last["decision"] != "switch_to_idea" or last.get("at_order") != order:
        return None
    index: int | None = last.get("idea_index")
    return index
