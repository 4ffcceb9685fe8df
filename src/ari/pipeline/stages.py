"""The tools that stages of a workflow call, and how they are called: one table, one convention.

A stage tool is a plain function of a domain package:

    def generate_figures(*, checkpoint: Path, formats: Sequence[str] = ("pdf",)) -> dict[str, Any]: ...

*Called with* keywords only. `checkpoint` is the absolute path of the study; every other keyword is one of
the stage's `parameters` and has a default, unless a stage cannot do without. A tool that takes `inputs`,
`outputs` or `attempt` is also given the stage's files (paths relative to the checkpoint) and which turn of a
`loop_back_to` it is, from 0. Every stage runs in a process of its own and may be ended at any moment, so a
tool writes its files with `ari.checkpoint.files.atomic_write`, and it never opens the checkpoint for writing.

*Answers* with a mapping that JSON can hold. These keys are understood, all optional; others are recorded:

    summary        one line for people: what was done
    warnings       lines for people
    should_block   true: the stage is blocked, and what depends on it is not run
    reason         why it is blocked
    incomplete     why the stage has to be run again next time although nothing in the study has changed
                   (no TeX installed, …); it counts as done

*Says beforehand* what it will not be able to do on this machine, if it has an attribute `preflight`: a
function without arguments that returns lines for people. `ari run` shows them before the search begins.

*Fails* with an `AriError`: message and cure are shown, the stage is `failed`, dependants are not run.

The table names each tool by `package:function`, so that a workflow can be checked without loading what its
stages need; `ari.skills` serves the same functions over MCP.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ari.errors import SkillError

StageTool = Callable[..., Mapping[str, Any]]

STAGE_TOOLS: dict[str, dict[str, str]] = {
    "evaluator": {
        "claim_evidence_hard_gate": "ari.pipeline.claim_gate.stage:claim_evidence_hard_gate",
        "evidence_grounded_semantic_review": "ari.paper.reviews.semantic:evidence_grounded_semantic_review",
        "make_metric_spec": "ari.pipeline.metric_spec:make_metric_spec",
    },
    "memory": {"write_verified_context": "ari.pipeline.verified_context:write_verified_context"},
    "paper": {
        "link_paper_claims": "ari.pipeline.claim_gate.stage:link_paper_claims",
        "write_paper": "ari.paper.stage:write_paper",
        "review_paper": "ari.paper.reviews.rubric:review_paper",
        "merge_reviews": "ari.paper.reviews.merging:merge_reviews",
        "paper_refine": "ari.paper.reviews.refining:paper_refine",
        "render_paper": "ari.paper.stage:render_paper",
        "inject_code_availability": "ari.paper.availability:inject_code_availability",
    },
    "plot": {"generate_figures": "ari.figures.stage:generate_figures"},
    "transform": {"nodes_to_science_data": "ari.transform:nodes_to_science_data"},
}
"""Skill to its stage tools, each with the function that does the work."""

SEARCH_TOOLS: dict[str, tuple[str, ...]] = {
    "idea": ("generate_ideas",),
    "orchestrator": ("run",),
}
"""Tools whose stages are the tree search itself; `ari run` and `ari resume` do their work."""

GIVEN = frozenset({"checkpoint", "inputs", "outputs", "attempt"})
"""Keywords that the driver fills in; they are no parameters."""


class StageCall(NamedTuple):
    """One call of a stage's tool.

    Attributes:
        skill: Its skill.
        tool: Its name there.
        checkpoint: The study, absolute.
        inputs: Files it reads, relative to the checkpoint.
        outputs: Files it is to write, relative to the checkpoint.
        parameters: The stage's own parameters.
        attempt: Which turn of a `loop_back_to` this is, from 0.
    """

    skill: str
    tool: str
    checkpoint: Path
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    parameters: Mapping[str, Any] = {}
    attempt: int = 0


def resolve(skill: str, tool: str) -> StageTool:
    """Load the function behind a stage tool.

    Raises:
        SkillError: When there is no such skill or tool.
    """
    try:
        target = STAGE_TOOLS[skill][tool]
    except KeyError:
        raise SkillError(f"there is no stage tool {skill}.{tool}", cure=known_tools(skill)) from None
    return load(target)


def load(target: str) -> StageTool:
    """Load a function from its `package:function`."""
    module, _, name = target.partition(":")
    function: StageTool = getattr(import_module(module), name)
    return function


def known_tools(skill: str) -> str:
    """Name the tools there are, for the cure of an error."""
    if skill in STAGE_TOOLS:
        return f"Stage tools of {skill}: {', '.join(sorted(STAGE_TOOLS[skill]))}."
    return f"Skills with stage tools: {', '.join(sorted(STAGE_TOOLS))}."


def parameter_faults(function: StageTool, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Say which parameters a tool does not take, and which it misses.

    Args:
        function: The tool.
        parameters: What a stage gives it.

    Returns:
        Name of the parameter to what is wrong.
    """
    taken = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values()):
        return {}
    own = {name: p for name, p in taken.items() if name not in GIVEN}
    listed = ", ".join(sorted(own)) or "none"
    faults = {
        name: f"the tool takes no parameter {name!r} (it takes: {listed})"
        for name in parameters
        if name not in own
    }
    missing = [n for n, p in own.items() if p.default is inspect.Parameter.empty and n not in parameters]
    return faults | {name: f"the tool needs the parameter {name!r}" for name in missing}


def call(request: StageCall, function: StageTool | None = None) -> dict[str, Any]:
    """Call the tool of a stage, in this process.

    Args:
        request: The call.
        function: The tool, if it has been loaded already.

    Returns:
        What it answered.

    Raises:
        SkillError: When there is no such tool, or it does not take what it is given.
        AriError: Whatever the tool refuses with.
    """
    function = function or resolve(request.skill, request.tool)
    faults = parameter_faults(function, request.parameters)
    if faults:
        raise SkillError(f"{request.skill}.{request.tool}: {'; '.join(faults.values())}")
    given: dict[str, Any] = {
        "checkpoint": request.checkpoint,
        "inputs": tuple(request.inputs),
        "outputs": tuple(request.outputs),
        "attempt": request.attempt,
    }
    taken = inspect.signature(function).parameters
    answer = function(**{n: v for n, v in given.items() if n in taken}, **request.parameters)
    return dict(answer)
