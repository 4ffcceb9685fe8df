"""The `coding` skill: files of the node's folder, contained commands, and results with their provenance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from ari.errors import AriError
from ari.evaluation.command import collect_results
from ari.evaluation.metrics_text import parse_metrics
from ari.formats.jsonio import strict_dumps
from ari.paths import inside

if TYPE_CHECKING:
    from ari.skills.session import NodeSession

MAX_TEXT = 20_000
"""Characters of a file or of an output that a tool hands back."""


def build(session: NodeSession) -> MCPServer:
    """The server of the skill, bound to one node."""
    server = MCPServer("ari-skill-coding", log_level="WARNING")
    tools = _CodingTools(session)
    for tool in (tools.write_file, tools.read_file, tools.list_files, tools.run, tools.emit_results):
        server.add_tool(tool)
    return server


class _CodingTools:
    def __init__(self, session: NodeSession) -> None:
        self._session = session

    def write_file(self, path: str, content: str) -> dict[str, Any]:
        """Write a text file in the node's folder, replacing what was there.

        Args:
            path: Relative path below the node's folder.
            content: The whole new text, UTF-8.
        """
        target = self._inside(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        except OSError as error:
            raise ToolError(f"{path} cannot be written: {error.strerror or error}") from error
        return {"path": path, "bytes": len(content.encode("utf-8"))}

    def read_file(self, path: str) -> dict[str, Any]:
        """Read a text file of the node's folder.

        Args:
            path: Relative path below the node's folder.
        """
        target = self._inside(path)
        try:
            text = target.read_bytes().decode("utf-8", errors="replace")
        except OSError as error:
            raise ToolError(f"{path} cannot be read: {error.strerror or error}") from error
        return {"path": path, "content": text[:MAX_TEXT], "truncated": len(text) > MAX_TEXT}

    def list_files(self) -> dict[str, Any]:
        """List the files of the node's folder with their sizes in bytes."""
        root = self._session.work_dir
        files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())
        return {"files": [{"path": p.relative_to(root).as_posix(), "size": p.stat().st_size} for p in files]}

    def run(self, command: str, label: str = "measure") -> dict[str, Any]:
        """Run a shell command in the node's folder, contained and recorded.

        Args:
            command: Text for bash; a failing step ends it.
            label: What the run is for: `build`, `measure`, `ceiling` or `check`.

        Returns:
            index, outcome (`ok`, `failed`, `timeout`, …), exit_status, duration_s, stdout, stderr, and the
            metrics that the program printed (a value that is not finite comes as null).
        """
        try:
            record = self._session.runner.run(command, label=label)
        except AriError as error:
            raise ToolError(str(error)) from error
        metrics = parse_metrics(record.stdout)
        return {
            "index": record.index,
            "outcome": record.outcome,
            "exit_status": record.exit_status,
            "duration_s": record.duration_s,
            "stdout": record.stdout[-MAX_TEXT:],
            "stderr": record.stderr[-MAX_TEXT:],
            "metrics": {
                name: value if abs(value) < float("inf") else None for name, value in metrics.items()
            },
        }

    def emit_results(
        self, params: dict[str, Any], provenance: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Write `results.json` from what the recorded runs of this node printed.

        Args:
            params: The parameter values of this node's configuration.
            provenance: Where a value comes from: `microbench` or `benchmark` for a measured ceiling,
                `correctness` or `reference` for a checked residual, `declared` or `constant` otherwise.
                The tags are checked against the run records when the node is evaluated.
        """
        results = collect_results(self._session.runner.runs, params=params, provenance=provenance or {})
        target = self._session.work_dir / "results.json"
        target.write_bytes(strict_dumps(results, indent=True))
        return results

    def _inside(self, path: str) -> Path:
        try:
            return inside(self._session.work_dir, path)
        except AriError as error:
            raise ToolError(str(error)) from error
