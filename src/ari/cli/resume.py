"""`ari resume`: go on with a study from its last finished step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ari.cli.common import JsonOption, QuietOption, checkpoint_path
from ari.cli.run import (
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    MaxWallOption,
    NodesOption,
    PaperOption,
    ParallelOption,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="resume", short_help="Go on with a study.")(resume)


def resume(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="The study to go on with.")],
    *,
    nodes: NodesOption = None,
    parallel: ParallelOption = None,
    max_calls: MaxCallsOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost_usd: MaxCostOption = None,
    max_wall_s: MaxWallOption = None,
    paper: PaperOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Go on with a study; nothing that was finished is done again.

    With a larger --nodes a finished study is carried further, with a larger --max-… one whose budget is
    spent. The stages of workflow.yaml follow.
    """
    from ari import settings
    from ari.checkpoint import Checkpoint
    from ari.cli.live import watch
    from ari.cli.report import conclude
    from ari.orchestrator import study

    path = checkpoint_path(checkpoint)
    before = Checkpoint.open(path, read_only=True)
    limits = {
        "max_calls": max_calls,
        "max_tokens": max_tokens,
        "max_cost_usd": max_cost_usd,
        "max_wall_s": max_wall_s,
    }
    chosen = {"nodes": nodes, "parallel": parallel}
    budget = settings.load(path, options=chosen).settings.nodes
    if nodes is None:
        budget = int(before.state.settings.get("nodes", budget))
    with watch(before.state.goal or path.name, budget, silent=quiet or as_json) as on_event:
        result = study.resume(path, nodes=nodes, parallel=parallel, limits=limits, on_event=on_event)
    return conclude(result, paper=paper, as_json=as_json, quiet=quiet)
