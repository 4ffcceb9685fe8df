"""The `coding` skill: files of a folder, contained commands and tests, and results with their provenance."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.errors import SkillError
from ari.evaluation.command import collect_results
from ari.evaluation.metrics_text import parse_metrics
from ari.formats.jsonio import strict_dumps
from ari.paths import inside
from ari.skills.boundary import SkillServer, tool
from ari.skills.session import NodeSession, WorkSession

if TYPE_CHECKING:
    from ari.execution.records import RunRecord

Session = NodeSession | WorkSession

MAX_TEXT = 20_000
"""Characters of a file or of an output that a tool hands back."""

_COUNTS = {
    "passed": re.compile(r"(\d+) passed"),
    "failed": re.compile(r"(?:(\d+) failed|failures=(\d+))"),
    "errors": re.compile(r"(?:(\d+) errors?\b|errors=(\d+))"),
    "skipped": re.compile(r"(?:(\d+) skipped|skipped=(\d+))"),
}
_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)


def build(session: Session | None) -> SkillServer:
    """The server of the skill, bound to one folder."""
    given = {"session": session}
    return SkillServer(
        "coding",
        [
            tool(write_file, given=given, read_only=False),
            tool(edit_file, given=given, read_only=False),
            tool(read_file, given=given, read_only=True),
            tool(list_files, given=given, read_only=True),
            tool(run, given=given, read_only=False),
            tool(run_tests, given=given, read_only=False),
            tool(emit_results, given=given, read_only=False),
        ],
    )


def write_file(session: Session, path: str, content: str) -> dict[str, Any]:
    """Write a text file in the folder, replacing what was there.

    Args:
        session: The folder.
        path: Relative path below the folder.
        content: The whole new text, UTF-8.

    Returns:
        `path`, `bytes`: its size.
    """
    return _write(_regular(session, path), path, content)


def edit_file(session: Session, path: str, old: str, new: str, everywhere: bool = False) -> dict[str, Any]:
    """Replace a piece of a text file of the folder; the rest stays as it is.

    Args:
        session: The folder.
        path: Relative path below the folder.
        old: The text to be replaced, exactly as it stands in the file, with enough around it to be unique.
        new: What is to stand there instead.
        everywhere: Replace every occurrence; otherwise there must be exactly one.

    Returns:
        `path`, `bytes`: its size; `replaced`: the number of occurrences.
    """
    target = _regular(session, path)
    try:
        text = target.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillError(f"{path} is no UTF-8 text: byte {error.start}", cure="Write it anew.") from error
    if not old:
        raise SkillError("the text to be replaced is empty", cure="Use write_file to write a whole file.")
    count = text.count(old)
    if count == 0:
        raise SkillError(
            f"{path} does not hold {old!r:.200}", cure="Read the file and copy the text exactly."
        )
    if count > 1 and not everywhere:
        lines = [str(text.count("\n", 0, found.start()) + 1) for found in re.finditer(re.escape(old), text)]
        raise SkillError(
            f"{path} holds {old!r:.200} {count} times, on lines {', '.join(lines[:20])}",
            cure="Give more of the text around the place, or set everywhere.",
        )
    return _write(target, path, text.replace(old, new)) | {"replaced": count}


def _write(target: Path, path: str, content: str) -> dict[str, Any]:
    data = content.encode("utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return {"path": path, "bytes": len(data)}


def read_file(session: Session, path: str) -> dict[str, Any]:
    """Read a text file of the folder.

    Args:
        session: The folder.
        path: Relative path below the folder.

    Returns:
        `path`, `content` (at most 20,000 characters), `truncated`: whether there is more.
    """
    target = _regular(session, path)
    with target.open("rb") as stream:
        data = stream.read(4 * MAX_TEXT + 4)  # a character has four bytes at most
        whole = not stream.read(1)
    text = data.decode("utf-8", errors="replace")
    return {"path": path, "content": text[:MAX_TEXT], "truncated": len(text) > MAX_TEXT or not whole}


def _regular(session: Session, path: str) -> Path:
    """A file of the folder that can be read or written at once; a pipe, say, would wait for its other end."""
    target = inside(session.work_dir, path)
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no regular file"
        raise SkillError(f"{path} is {what}", cure="Name a file; list_files has them all.")
    return target


def list_files(session: Session) -> dict[str, Any]:
    """List the files of the folder.

    Returns:
        `files`: per file its `path` relative to the folder and its `size` in bytes.
    """
    root = session.work_dir
    files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    return {"files": [{"path": p.relative_to(root).as_posix(), "size": p.stat().st_size} for p in files]}


def run(
    session: Session, command: str, label: str = "measure", time_limit_s: float | None = None
) -> dict[str, Any]:
    """Run a shell command in the folder, contained and recorded.

    Args:
        session: The folder.
        command: Text for bash; a failing step ends it.
        label: What the run is for: `build`, `measure`, `ceiling` or `check`.
        time_limit_s: Seconds after which it is ended; the limit of the session holds in any case.

    Returns:
        index, outcome (`ok`, `failed`, `timeout`, …), reason, exit_status, duration_s in seconds, stdout,
        stderr, and the metrics that the program printed.
    """
    record = _run(session, command, label, time_limit_s)
    return _answer(record) | {"metrics": parse_metrics(record.stdout)}


def run_tests(session: Session, command: str = "", time_limit_s: float | None = None) -> dict[str, Any]:
    """Run the tests of the folder, contained and recorded.

    Args:
        session: The folder.
        command: Text for bash; default: pytest where it is installed, else unittest, over the whole folder.
        time_limit_s: Seconds after which they are ended; the limit of the session holds in any case.

    Returns:
        `success`; `passed`, `failed`, `errors`, `skipped`: numbers of tests, null where the output does not
        say; and index, outcome, reason, exit_status, duration_s in seconds, stdout, stderr as of `run`.
    """
    record = _run(session, command or _test_command(), "check", time_limit_s)
    return {"success": record.ok, **_counts(f"{record.stdout}\n{record.stderr}"), **_answer(record)}


def _test_command() -> str:
    if importlib.util.find_spec("pytest") is not None:
        return "python -m pytest -q -p no:cacheprovider"
    return "python -m unittest discover"


def _counts(output: str) -> dict[str, int | None]:
    """Numbers of tests as pytest and unittest print them."""
    tail = "\n".join(output.splitlines()[-15:])
    found: dict[str, int | None] = {}
    for name, pattern in _COUNTS.items():
        match = pattern.search(tail)
        found[name] = int(next(group for group in match.groups() if group)) if match else None
    ran = _UNITTEST_RAN.search(tail)
    if ran is not None and found["passed"] is None:
        found["passed"] = int(ran[1]) - sum(found[name] or 0 for name in ("failed", "errors", "skipped"))
    if any(value is not None for value in found.values()):
        return {name: value or 0 for name, value in found.items()}
    return found


def _run(session: Session, command: str, label: str, time_limit_s: float | None) -> RunRecord:
    runner = session.runner
    if time_limit_s is not None and not time_limit_s > 0:
        raise SkillError(f"the time limit is {time_limit_s:g} s", cure="Give a number of seconds above zero.")
    return runner.run(command, label=label, limits=runner.limits.tightened(wall_s=time_limit_s))


def _answer(record: RunRecord) -> dict[str, Any]:
    return {
        "index": record.index,
        "outcome": record.outcome,
        "reason": record.reason,
        "exit_status": record.exit_status,
        "duration_s": record.duration_s,
        "stdout": record.stdout[-MAX_TEXT:],
        "stderr": record.stderr[-MAX_TEXT:],
    }


def emit_results(
    session: Session, params: dict[str, Any], provenance: dict[str, str] | None = None
) -> dict[str, Any]:
    """Write `results.json` from what the recorded runs of this folder printed.

    Args:
        session: The folder.
        params: The parameter values of this configuration.
        provenance: Where a value comes from: `microbench` or `benchmark` for a measured ceiling,
            `correctness` or `reference` for a checked residual, `declared` or `constant` otherwise.
            The tags are checked against the run records when the node is evaluated.

    Returns:
        What was written; `not_counted` says of a metric why it is no measurement.
    """
    results = collect_results(
        session.runner.runs,
        params=params,
        provenance=provenance or {},
        task=session.task if isinstance(session, NodeSession) else None,
    )
    (session.work_dir / "results.json").write_bytes(strict_dumps(results, indent=True))
    return results
