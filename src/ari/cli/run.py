"""`ari run`: start a study and watch it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ari.cli.common import JsonOption, QuietOption, checkpoint_path, note
from ari.paths import next_output

NodesOption = Annotated[int | None, typer.Option("--nodes", "-n", help="Experiments in the tree at most.")]
ParallelOption = Annotated[
    int | None, typer.Option("--parallel", "-j", help="Experiments at a time; default: one a core.")
]

ParentOption = Annotated[
    Path | None,
    typer.Option("--parent", metavar="CHECKPOINT", help="Make it a sub-experiment of this study."),
]
IdeasOption = Annotated[
    str,
    typer.Option("--ideas", metavar="0,2", help="Which of its ideas to hand down; default: its present one."),
]
MaxCallsOption = Annotated[
    int | None, typer.Option("--max-calls", help="Calls of models that the study may make.")
]
MaxTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", help="Tokens that the study may use, both ways.")
]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost-usd", help="US dollars that the study may spend.")
]
MaxWallOption = Annotated[
    float | None, typer.Option("--max-wall-s", help="Seconds that the search may take.")
]
PaperOption = Annotated[
    bool, typer.Option("--paper/--no-paper", help="Whether to go on into the stages after the search.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="run", short_help="Start a study and watch it.")(run)


def run(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT.md", help="What to study; or the directory it lies in.")
    ],
    *,
    nodes: NodesOption = None,
    parallel: ParallelOption = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of everything drawn at random.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Who proposes experiments: offline, or <provider>/<model>.")
    ] = None,
    node_time: Annotated[
        float | None, typer.Option("--node-time", help="Seconds one experiment may take.")
    ] = None,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost_usd: MaxCostOption = None,
    max_wall_s: MaxWallOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The new checkpoint; default: ./runs/<title>-<number>."),
    ] = None,
    parent: ParentOption = None,
    ideas: IdeasOption = "",
    paper: PaperOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Start a study: grow a tree of experiments until the question is answered or the budget is spent.

    The stages of workflow.yaml follow: science data, figures, paper.

    Ctrl-C stops it cleanly; `ari resume` goes on. So it does when a --max-… is reached, which ends the run as
    `budget exhausted` with what it has found (exit status 1).
    """
    from ari import settings
    from ari.cli.live import watch
    from ari.cli.report import conclude
    from ari.orchestrator.study import RunOptions, start
    from ari.pipeline.experiment_spec import parse_experiment, read_experiment_text
    from ari.pipeline.yaml_loader import load_workflow, preflight, workflow_file

    path = experiment / "experiment.md" if experiment.is_dir() else experiment
    limits = {
        "max_calls": max_calls,
        "max_tokens": max_tokens,
        "max_cost_usd": max_cost_usd,
        "max_wall_s": max_wall_s,
    }
    chosen = {
        "nodes": nodes,
        "parallel": parallel,
        "seed": seed,
        "model": model,
        "node_time": node_time,
        **limits,
    }
    budget = settings.load(output, options=chosen).settings.nodes
    study = parse_experiment(read_experiment_text(path), folder=path.parent, name=str(path))
    if paper:
        for line in preflight(load_workflow(workflow_file(path.parent))):
            note(f"note: {line}")
    options = RunOptions(
        experiment=path,
        output=output or (next_output(study.title) if parent is None else None),
        nodes=nodes,
        parallel=parallel,
        seed=seed,
        model=model,
        node_time=node_time,
        parent=checkpoint_path(parent) if parent is not None else None,
        ideas=_positions(ideas, parent),
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        max_wall_s=max_wall_s,
    )
    with watch(study.title, budget, silent=quiet or as_json) as on_event:
        result = start(options, on_event=on_event)
    return conclude(result, paper=paper, as_json=as_json, quiet=quiet)


def _positions(text: str, parent: Path | None) -> tuple[int, ...] | None:
    """The positions of ideas that are handed down; None for the parent's present one."""
    if not text:
        return None
    if parent is None:
        raise typer.BadParameter("ideas are handed down by a parent; give --parent too", param_hint="--ideas")
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list such as 0,2", param_hint="--ideas") from None
