"""The tool `validate_context_data`."""

from __future__ import annotations

from sr_harness.core import inspect_context_data
from sr_harness.errors import ToolError
from sr_harness.tools.context import Result, ToolContext


def validate_context_data(ctx: ToolContext, directory: str) -> Result:
    """Check a `context.data` directory below the caller's own folder: every fault in one pass.

    Args:
        ctx: The caller's data; only its folder is used.
        directory: Path relative to that folder.

    Returns:
        `valid`, `errors`, `warnings`.
    """
    root = ctx.work_dir.resolve()
    path = (root / directory).resolve()
    if not path.is_relative_to(root):
        raise ToolError(f"{directory!r} lies outside the folder of this experiment")
    report = inspect_context_data(path)
    return {"valid": report["valid"], "errors": list(report["errors"]), "warnings": list(report["warnings"])}
