"""`ari settings`: what is set, where it comes from, and whether it can be used, the model included."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ari.cli.common import JsonOption, note, print_json

if TYPE_CHECKING:
    from ari.agent.models.trial import Trial
    from ari.settings import Loaded

ACTIONS = ("show", "check")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="settings", short_help="What is set, and where it comes from.")(settings)


def settings(
    action: Annotated[
        str, typer.Argument(metavar="show|check", help="Show every setting, or only check them.")
    ] = "show",
    checkpoint: Annotated[
        Path | None,
        typer.Argument(metavar="CHECKPOINT", help="Its settings.json and .env count too."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Show the settings and where each comes from, or check them; secrets are masked.

    From weak to strong: defaults, the user's file, the checkpoint's settings.json, ARI_* variables (also
    from .env files), the command line.

    `check` also asks the model one tiny thing and says what works: whether its service answers and knows it,
    replies, tool calls, structured output, and how long that takes. It ends with status 1 where something
    looks wrong or does not work, and 2 where a setting cannot be used.
    """
    if action not in ACTIONS and checkpoint is None:
        action, checkpoint = "show", Path(action)
    if action not in ACTIONS:
        raise typer.BadParameter(f"{action!r} is neither {' nor '.join(ACTIONS)}")
    loaded = _load(checkpoint)
    return (
        _check(loaded, checkpoint, as_json=as_json) if action == "check" else _show(loaded, as_json=as_json)
    )


def _show(loaded: Loaded, *, as_json: bool) -> int:
    document = shown(loaded)
    if as_json:
        print_json(
            {
                "settings": document,
                "sources": loaded.sources,
                "files": [str(path) for path in loaded.files],
                "warnings": list(loaded.warnings),
            }
        )
        return 0
    print("\n".join(_table(document, loaded)))
    for warning in loaded.warnings:
        note(f"warning: {warning}")
    return 0


def _check(loaded: Loaded, checkpoint: Path | None, *, as_json: bool) -> int:
    from ari.agent.models.trial import try_model

    trial = try_model(loaded.settings.model, checkpoint=checkpoint)
    if as_json:
        print_json({"findings": list(loaded.warnings), "model": trial.to_document()})
    else:
        print("\n".join(loaded.warnings) or "every setting can be used")
        print("\n".join(_report(trial)))
    return 1 if loaded.warnings or not trial.works else 0


def _report(trial: Trial) -> list[str]:
    """What works of the model, a line each."""
    if not trial.address:
        return [f"model: {trial.model} (needs no service)"]
    answers = {True: "yes", False: "no", None: "it does not say"}
    lines = [f"model: {trial.model} at {trial.address}"]
    rows = [("answers", answers[trial.reachable]), ("knows the model", answers[trial.known])]
    if trial.reply:
        called = {"native": "native", "text": "explained in the prompt, read from the text", "none": "no"}
        rows += [
            ("replies", f"yes, after {trial.latency_s:.1f} s"),
            ("tool calls", called[trial.tool_calls]),
            ("structured output", answers[trial.structured_output]),
        ]
    lines += [f"  {name + ':':<19} {value}" for name, value in rows]
    return lines if trial.works else [*lines, f"fault: {trial.fault}", f"  {trial.cure}"]


def _load(checkpoint: Path | None) -> Loaded:
    from ari.errors import ConfigError
    from ari.settings import load

    if checkpoint is not None and not checkpoint.is_dir():
        raise ConfigError(
            f"{checkpoint} is no directory",
            cure="Name a checkpoint, or leave it out; to check: ari settings check",
        )
    return load(checkpoint)


def shown(loaded: Loaded) -> dict[str, Any]:
    """The settings as they may be printed."""
    from ari.settings import masked

    document = masked(loaded.settings.model_dump(mode="json"))
    return {**document, "provider": loaded.settings.effective_provider}


def _table(document: dict[str, Any], loaded: Loaded) -> list[str]:
    from ari.formats.jsonio import strict_dumps
    from ari.settings import Settings

    rows = [("SETTING", "VALUE", "FROM", "MEANING")]
    for name, value in document.items():
        field = Settings.model_fields.get(name)
        text = value if isinstance(value, str) else strict_dumps(value).decode("utf-8").strip()
        rows.append(
            (name, text, loaded.sources.get(name, ""), field.description or "" if field else "(not ours)")
        )
    widths = [min(48, max(len(row[column]) for row in rows)) for column in range(3)]
    lines = []
    for *cells, meaning in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([*padded, meaning]).rstrip())
    files = [f"read: {path}" for path in loaded.files] or ["read: no file"]
    return [*lines, "", *files]
