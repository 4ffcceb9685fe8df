"""`ari show`: everything about one node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ari.cli.common import (
    CheckpointArgument,
    JsonOption,
    duration,
    node_document,
    number,
    open_checkpoint,
    print_json,
)

if TYPE_CHECKING:
    from ari.checkpoint import Checkpoint
    from ari.checkpoint.state import NodeState

_WIDTH = 13
_STREAM_LINES = 12


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="show", short_help="Everything about one node.")(show)


def show(
    node: Annotated[
        str,
        typer.Argument(metavar="NODE", help="Id of the node or the beginning of it; or `best` or `root`."),
    ],
    checkpoint: CheckpointArgument = None,
    as_json: JsonOption = False,
) -> int:
    """Show everything about one node: plan, metrics, formula, files changed, commands run, error."""
    opened = open_checkpoint(checkpoint, quiet=as_json)
    found = opened.nodes[find_node(opened, node)]
    files = {name: _read(opened, path) for name, path in _files(found).items()}
    if as_json:
        print_json({"checkpoint": str(opened.path), **node_document(found), **files})
    else:
        print("\n".join(_lines(opened, found, files)))
    return 0


def find_node(checkpoint: Checkpoint, wanted: str) -> str:
    """Find the node that a name means.

    Args:
        checkpoint: The checkpoint.
        wanted: An id, the beginning of exactly one id, `best` or `root`.

    Returns:
        The id.

    Raises:
        ConfigError: If no node or more than one is meant.
    """
    from ari.cli.status import best_id
    from ari.errors import ConfigError

    special = {"best": best_id(checkpoint), "root": checkpoint.root_node_id}
    if wanted in checkpoint.nodes:
        return wanted
    if wanted in special:
        found = special[wanted]
        if found is None:
            raise ConfigError(
                f"{checkpoint.path} has no {wanted} node yet", cure="`ari status` shows the tree."
            )
        return found
    matches = [node_id for node_id in checkpoint.nodes if node_id.startswith(wanted)] if wanted else []
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
        raise ConfigError(f"{wanted!r} may mean {len(matches)} nodes: {shown}", cure="Give more of the id.")
    hint = _nearest(wanted, checkpoint)
    raise ConfigError(
        f"{checkpoint.path} has no node {wanted!r}{hint}",
        cure="`ari status` lists the nodes; `best` and `root` work too.",
    )


def _nearest(wanted: str, checkpoint: Checkpoint) -> str:
    import difflib

    near = difflib.get_close_matches(wanted, list(checkpoint.nodes), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _files(node: NodeState) -> dict[str, str]:
    work_dir = node.work_dir or f"experiments/{node.id}"
    return {
        "node_report": f"{work_dir}/node_report.json",
        "submission": f"{work_dir}/formula.json",
        "run_record": f"records/{node.id}/run_record.json",
    }


def _read(checkpoint: Checkpoint, relpath: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read a file of the node; None where there is none, its fault where it cannot be read."""
    from ari.errors import AriError
    from ari.formats.base import read_json
    from ari.paths import inside

    try:
        path = inside(checkpoint.path, relpath)
        return read_json(path) if path.exists() else None
    except AriError as error:
        return {"unreadable": error.message}


def _lines(checkpoint: Checkpoint, node: NodeState, files: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(checkpoint, node)
    yield from _section("plan", _pairs(node.plan))
    yield from _section("metrics", _metrics(node))
    submission = files["submission"]
    if isinstance(submission, Mapping):
        wanted = ("formula", "latex", "complexity", "note", "unreadable")
        yield from _section(
            "formula", _pairs({key: submission[key] for key in wanted if submission.get(key)})
        )
    report = files["node_report"]
    if isinstance(report, Mapping):
        yield from _section("files changed", _changes(report))
    yield from _section("commands run", _runs(files["run_record"]))
    if node.eval_summary:
        yield from _section("evaluation", iter(node.eval_summary.splitlines()))
    if node.error:
        yield from _section("error", iter(node.error.splitlines()))


def _head(checkpoint: Checkpoint, node: NodeState) -> Iterator[str]:
    label = node.label if node.raw_label in {None, node.label} else f"{node.label} ({node.raw_label})"
    flags = [name for name in ("sterile", "pruned", "retired") if getattr(node.search_state, name)]
    rows: dict[str, str | None] = {
        "node": node.id,
        "checkpoint": str(checkpoint.path),
        "label": label,
        "status": node.status + (f" ({', '.join(flags)})" if flags else ""),
        "score": number(float(node.score)) + ("" if node.has_real_data else "  (no confirmed measurement)"),
        "parent": node.parent_id,
        "children": ", ".join(node.children),
        "depth": str(node.depth),
        "started": node.started_at,
        "took": duration(node.duration_s) if node.duration_s is not None else None,
        "attempt": str(node.attempt) if node.attempt > 1 else None,
        "work_dir": node.work_dir,
    }
    for name, value in rows.items():
        if value:
            yield f"{name:<{_WIDTH}}{value}"


def _section(title: str, rows: Iterator[str]) -> Iterator[str]:
    first = next(rows, None)
    if first is None:
        return
    yield ""
    yield title
    yield f"  {first}"
    for row in rows:
        yield f"  {row}"


def _pairs(document: Mapping[str, Any]) -> Iterator[str]:
    from ari.formats.jsonio import strict_dumps

    for name, value in document.items():
        shown = value if isinstance(value, str) else strict_dumps(value).decode("utf-8").strip()
        yield f"{name}: {shown}"


def _metrics(node: NodeState) -> Iterator[str]:
    width = max((len(name) for name in node.metrics), default=0)
    for name, value in node.metrics.items():
        about = node.metrics_with_metadata.get(name, {})
        notes = [str(about["non_finite"])] if about.get("non_finite") else []
        notes += [f"by {about['extractor']}"] if about.get("extractor") else []
        yield f"{name:<{width}}  {number(value)}" + (f"  ({', '.join(notes)})" if notes else "")


def _changes(report: Mapping[str, Any]) -> Iterator[str]:
    changed = report.get("files_changed")
    for kind in ("added", "modified", "deleted"):
        for item in (changed.get(kind) or []) if isinstance(changed, Mapping) else []:
            yield f"{kind:<9} {item.get('path') if isinstance(item, Mapping) else item}"
    if report.get("unreadable"):
        yield str(report["unreadable"])


def _runs(record: object) -> Iterator[str]:
    runs = record.get("runs", []) if isinstance(record, Mapping) else []
    for run in runs:
        label = f"{run['label']}: " if run.get("label") else ""
        yield f"{label}{run.get('command') or run.get('argv')}"
        status = run.get("exit_status")
        ended = f"exit status {status}" if status is not None else str(run.get("signal") or "no exit status")
        took = duration(float(run.get("duration_s") or 0.0))
        yield f"    {run.get('outcome', '?')}, {ended}, {took}" + (
            f": {run['reason']}" if run.get("reason") else ""
        )
        for stream in ("stdout", "stderr"):
            text = str(run.get(stream) or "").splitlines()
            shown = (
                text
                if len(text) <= _STREAM_LINES
                else [*text[: _STREAM_LINES // 2], "…", *text[-_STREAM_LINES // 2 :]]
            )
            yield from (f"    {stream} | {line}" for line in shown)
