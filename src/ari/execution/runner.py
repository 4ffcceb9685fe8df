"""Running a command in a node's folder and recording it.

A `Runner` belongs to one node. Each `run` is contained as the machine allows, held within its limits,
ended with everything it started, and written to `run_record.json` before it returns. A command that
fails, hangs or is cut off is a record too, not an exception; exceptions mean that the machinery itself
could not work. `run` may be called from any thread, `cancel` from any other.
"""

from __future__ import annotations

import ast
import marshal
import os
import secrets
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from ari.errors import ExecutionError, ReplayError
from ari.execution import records, workdir
from ari.execution.environment import child_environment, fingerprint
from ari.execution.limits import Limits
from ari.execution.outcome import KEEP_BYTES, Verdict, judge, stream_text
from ari.execution.processes import TOKEN_VARIABLE, kill_tree
from ari.execution.records import FileRecord, OutputRecord, RunRecord, SandboxRecord
from ari.execution.sandbox import Sandbox, detect, visible_temporary, wrap

_SHELL = ("bash", "-euo", "pipefail", "-c")
_START = "import sys; sys.path.append(sys.argv[1]); from ari.execution.supervisor import main; main()"
_SOURCE_ROOT = str(Path(__file__).resolve().parents[2])
# The supervisor needs up to 1.5 s to end everything after the limit.
_OVERTIME_S = 1.8
_START_ALLOWANCE_S = 15.0


@dataclass(frozen=True)
class _Prepared:
    """A command about to be run."""

    text: str
    argv: list[str]
    contained: list[str]
    env: dict[str, str]
    token: str
    limits: Limits
    stdin: bytes


@dataclass(frozen=True)
class _Seen:
    """What is known of a run when it is over."""

    started_at: datetime
    elapsed: float
    reply: Mapping[str, Any]
    before: workdir.Snapshot
    after: workdir.Snapshot
    readable: workdir.Snapshot


class Runner:
    """Runs the commands of one node.

    Args:
        records_dir: Where `run_record.json` is kept; must lie outside the work folder.
        work_dir: The node's folder: where commands start, and all they may write to.
        node_id: The node.
        limits: Limits of each command unless `run` is given others.
        read_only: Files and folders that commands may read besides.
        env: Variables added to the clean environment.
        sandbox: How to contain commands; default: what `detect()` finds.

    Attributes:
        refusal: Why a command was not run that is to be replayed; None where commands are really run.

    Raises:
        ExecutionError: If the folders are not as described.
    """

    def __init__(
        self,
        records_dir: Path,
        work_dir: Path,
        *,
        node_id: str = "",
        limits: Limits | None = None,
        read_only: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.records_dir = records_dir.resolve()
        self.work_dir = work_dir.resolve()
        if not self.work_dir.is_dir():
            raise ExecutionError(f"the work folder {work_dir} does not exist", cure="Create it first.")
        if self.records_dir.is_relative_to(self.work_dir):
            raise ExecutionError(
                f"the records folder {records_dir} lies inside the work folder, where commands can write",
                cure="Keep records beside the work folder.",
            )
        self.node_id = node_id
        self.limits = limits or Limits()
        self.read_only = tuple(path.absolute() for path in read_only)
        self.env = dict(env or {})
        self.sandbox = sandbox or detect()
        self._content = records.load(self.records_dir, node_id=node_id)
        self._known: dict[str, workdir.FileHash] = {}
        self._known_readable: dict[str, workdir.FileHash] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = threading.Event()
        self.refusal: ReplayError | None = None

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """All commands recorded for this node, oldest first."""
        return tuple(self._content.runs)

    def run(
        self,
        command: str | Sequence[str],
        *,
        label: str = "",
        limits: Limits | None = None,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
    ) -> RunRecord:
        """Run one command to its end, whatever end that is, and record it.

        Args:
            command: A list is executed as it is; a text is a Bash script that stops at its first error.
            label: A name for the record.
            limits: Limits for this command only.
            stdin: What it reads; by default standard input is at its end.
            env: Variables for this command only.

        Returns:
            The record, already written.

        Raises:
            ExecutionError: If the machinery fails (no record can be written, a file cannot be read).
            SandboxError: If a readable path does not exist.
        """
        with (
            self._lock,
            tempfile.TemporaryDirectory(prefix="ari-run-", ignore_cleanup_errors=True) as scratch,
        ):
            temporary = visible_temporary(self.sandbox) or scratch
            prepared = self._prepare(command, limits or self.limits, stdin, env, temporary)
            before = workdir.snapshot(self.work_dir, known=self._known)
            readable = self._hash_readable()
            started_at = datetime.now(UTC)
            began = time.monotonic()
            reply = self._supervise(prepared)
            elapsed = time.monotonic() - began
            after = workdir.snapshot(self.work_dir, known=before)
            self._known = after
            seen = _Seen(started_at, elapsed, reply, before, after, readable)
            record = self._record(prepared, seen, label)
            self._content.runs.append(record)
            records.save(self.records_dir, self._content)
            return record

    def cancel(self) -> None:
        """End the command that is running, if any, and refuse further ones; returns at once."""
        self._cancelled.set()
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError, ValueError):
                process.stdin.close()

    # -- before --------------------------------------------------------------------------------------

    def _prepare(
        self,
        command: str | Sequence[str],
        limits: Limits,
        stdin: str | bytes | None,
        env: Mapping[str, str] | None,
        temporary: str,
    ) -> _Prepared:
        argv = [*_SHELL, command] if isinstance(command, str) else [str(word) for word in command]
        if not argv or not argv[0]:
            raise ExecutionError("an empty command cannot be run", cure="Give a program and its arguments.")
        if any(not _is_text(word) for word in argv):
            raise ExecutionError(
                "the command holds a NUL or half a character, which no program can be given",
                cure="Write the command as plain UTF-8 text.",
            )
        token = secrets.token_hex(16)
        variables = child_environment(
            home=self.work_dir, temporary=temporary, extra={**self.env, **(env or {}), TOKEN_VARIABLE: token}
        )
        return _Prepared(
            text=command if isinstance(command, str) else shlex.join(argv),
            argv=argv,
            contained=wrap(argv, work_dir=self.work_dir, sandbox=self.sandbox, read_only=self.read_only),
            env=variables,
            token=token,
            limits=limits,
            stdin=stdin.encode() if isinstance(stdin, str) else stdin or b"",
        )

    def _hash_readable(self) -> dict[str, workdir.FileHash]:
        """Hash the readable paths, named relative to the work folder so that records can move with it."""
        found: dict[str, workdir.FileHash] = {}
        for path in self.read_only:
            prefix = os.path.relpath(path, self.work_dir)
            if path.is_dir():
                known = {
                    name.removeprefix(prefix + "/"): item
                    for name, item in self._known_readable.items()
                    if name.startswith(prefix + "/")
                }
                hashed = workdir.snapshot(path.resolve(), known=known)
                found |= {f"{prefix}/{name}": item for name, item in hashed.items()}
            else:
                earlier = self._known_readable.get(prefix)
                keep = earlier is not None and earlier.unchanged(path.stat())
                found[prefix] = earlier if keep and earlier else workdir.hash_file(path.resolve())
        self._known_readable = found
        return found

    # -- during --------------------------------------------------------------------------------------

    def _supervise(self, prepared: _Prepared) -> dict[str, Any]:
        if self._cancelled.is_set():
            return {"started": False, "error": "cancelled before it started"}
        request = marshal.dumps(
            {
                "argv": prepared.contained,
                "env": prepared.env,
                "cwd": str(self.work_dir),
                "limits": asdict(prepared.limits),
                "stdin": prepared.stdin,
                "keep_bytes": KEEP_BYTES,
                "parent": os.getpid(),
            }
        )
        # The supervisor itself gets no environment: in `/proc` a command may look at its parents.
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, _SOURCE_ROOT],
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._process = process
        if self._cancelled.is_set():
            self.cancel()
        try:
            return _converse(process, request, _time_allowed(prepared.limits))
        finally:
            self._process = None
            if process.poll() is None or process.returncode != 0:
                # It hangs or was killed, so its promise to leave nothing behind may be broken.
                kill_tree(root=process.pid, token=prepared.token)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    # -- after ---------------------------------------------------------------------------------------

    def _record(self, prepared: _Prepared, seen: _Seen, label: str) -> RunRecord:
        reply, before, after = seen.reply, seen.before, seen.after
        verdict: Verdict = judge(reply, prepared.limits, contained=self.sandbox.kind == "bubblewrap")
        outputs = _outputs(before, after)
        if verdict.exit_status and verdict.outcome == "failed" and _too_large(prepared.limits, outputs):
            verdict = replace(verdict, outcome="output_limit", reason="a file reached the size limit")
        stdout, stdout_info = stream_text(reply.get("stdout"))
        stderr, stderr_info = stream_text(reply.get("stderr"))
        return RunRecord(
            index=len(self._content.runs),
            label=label,
            command=prepared.text,
            argv=prepared.argv,
            exit_status=verdict.exit_status,
            signal=verdict.signal,
            outcome=verdict.outcome,
            reason=verdict.reason,
            started_at=seen.started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            duration_s=round(float(reply.get("duration_s", seen.elapsed)), 6),
            cpu_s=round(float(reply.get("cpu_s", 0.0)), 6),
            max_rss_bytes=int(reply.get("peak_rss", 0)),
            stdout=stdout,
            stdout_info=stdout_info,
            stderr=stderr,
            stderr_info=stderr_info,
            inputs=[_file_record(path, item) for path, item in sorted({**before, **seen.readable}.items())],
            outputs=outputs,
            deleted=sorted(before.keys() - after.keys()),
            environment=fingerprint(),
            limits=asdict(prepared.limits),
            sandbox=SandboxRecord(kind=self.sandbox.kind, reason=self.sandbox.reason),
        )


def _is_text(word: str) -> bool:
    try:
        return b"\0" not in word.encode()
    except UnicodeEncodeError:
        return False


def _too_large(limits: Limits, outputs: Sequence[OutputRecord]) -> bool:
    return limits.file_bytes is not None and any(item.size >= limits.file_bytes for item in outputs)


def _time_allowed(limits: Limits) -> float | None:
    return None if limits.wall_s is None else limits.wall_s + _OVERTIME_S


def _converse(process: subprocess.Popen[bytes], request: bytes, allowed_s: float | None) -> dict[str, Any]:
    """Hand over the request and wait for the reply; the lifeline stays open meanwhile."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    with suppress(BrokenPipeError, ValueError):  # it died, or `cancel` was faster: told by the reply
        process.stdin.write(len(request).to_bytes(4, "big") + request)
        process.stdin.flush()
    deadline = None if allowed_s is None else time.monotonic() + allowed_s + _START_ALLOWANCE_S
    text = _read_all(process.stdout, deadline)
    if text is None:
        return {"started": True, "status": None, "stop": "wall", "error": "the supervisor did not answer"}
    try:
        reply = ast.literal_eval(text.decode("ascii"))
    except (ValueError, SyntaxError, UnicodeDecodeError):
        reply = None
    if isinstance(reply, dict):
        process.wait()
        return reply
    complaint = (_read_all(process.stderr, time.monotonic() + 1.0) or b"").decode(errors="replace").strip()
    process.wait()
    how = _how_it_ended(process.returncode)
    last_line = complaint.splitlines()[-1] if complaint else "no message"
    return {"started": True, "status": None, "stop": "lost", "error": f"the supervisor {how}: {last_line}"}


def _how_it_ended(returncode: int) -> str:
    if returncode < 0:
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"ended with status {returncode}"


def _read_all(pipe: IO[bytes], deadline: float | None) -> bytes | None:
    """Read to the end; None if that takes longer than the deadline."""
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    chunks: list[bytes] = []
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poller.poll(left):
            return None
        chunk = os.read(pipe.fileno(), 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def _file_record(path: str, item: workdir.FileHash) -> FileRecord:
    return FileRecord(path=path, sha256=item.sha256, size=item.size)


def _outputs(before: workdir.Snapshot, after: workdir.Snapshot) -> list[OutputRecord]:
    outputs = []
    for path, item in after.items():
        earlier = before.get(path)
        if earlier is not None and not item.written_since(earlier):
            continue
        if earlier is None:
            change: records.Change = "added"
        else:
            change = "modified" if earlier.sha256 != item.sha256 else "rewritten"
        outputs.append(OutputRecord(path=path, sha256=item.sha256, size=item.size, change=change))
    return outputs
