"""Answering the commands of a node from the records of another run of it, instead of running them.

What a command measures differs from run to run, so a study is replayed with the output, the files and the
times that were recorded. A command that is not the recorded one is refused.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ari.errors import ReplayError
from ari.execution import records, workdir
from ari.execution.limits import Limits
from ari.execution.records import RunRecord
from ari.execution.runner import Runner
from ari.execution.sandbox import Sandbox
from ari.paths import inside


class ReplayedRunner(Runner):
    """A runner that runs nothing.

    Args:
        records_dir: Where the records of the replay are kept.
        work_dir: The node's folder in the replay.
        source_records: The recorded node's records.
        source_work_dir: The recorded node's folder, from which files that commands wrote are taken.
        node_id: The node.
        limits: As of the recorded node.
    """

    def __init__(
        self,
        records_dir: Path,
        work_dir: Path,
        *,
        source_records: Path,
        source_work_dir: Path,
        node_id: str = "",
        limits: Limits | None = None,
    ) -> None:
        nothing = Sandbox("plain", "recorded runs are replayed")
        super().__init__(records_dir, work_dir, node_id=node_id, limits=limits, sandbox=nothing)
        self._recorded = records.load(source_records, node_id=node_id).runs
        self._source = source_work_dir

    def run(
        self,
        command: str | Sequence[str],
        *,
        label: str = "",
        limits: Limits | None = None,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
    ) -> RunRecord:
        """Give the recorded outcome of the next command, and leave the files that it left.

        A file that a later command overwrote is left with the content that it had at the end.

        Raises:
            ReplayError: When another command is recorded in this place, or none.
        """
        del label, limits, stdin, env
        number = len(self._content.runs)
        text = command if isinstance(command, str) else shlex.join(str(word) for word in command)
        if number >= len(self._recorded):
            raise self._refuse(f"run {number + 1}: the recording ends after {len(self._recorded)} runs")
        record = self._recorded[number]
        if record.command != text:
            raise self._refuse(
                f"run {number + 1}: the command is not the recorded one: "
                f"{text[:200]!r} instead of {record.command[:200]!r}"
            )
        for output in record.outputs:
            self._leave(output.path, output.sha256)
        for path in record.deleted:
            inside(self.work_dir, path).unlink(missing_ok=True)
        self._content.runs.append(record)
        records.save(self.records_dir, self._content)
        return record

    def _leave(self, path: str, sha256: str) -> None:
        source, target = inside(self._source, path), inside(self.work_dir, path)
        if source.is_file() and workdir.hash_file(source).sha256 == sha256:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target)

    def _refuse(self, what: str) -> ReplayError:
        self.refusal = ReplayError(
            f"{self.node_id}, {what}",
            cure="The study was recorded with another program, or its files have been changed.",
        )
        return self.refusal
