r"""What validation finds, and the notebook in which the checks write it.

Codes: `json.invalid`, `jsonl.bad_line`, `gzip.invalid`, `schema.required|enum|const|type`,
`ref.unknown_node`, `tree.cycle|depth|id_mismatch`, `lineage.broken`, `artifact.sha256`, `bundle.sha256`,
`bundle.codedigest`, `expr.forbidden`, `path.escape`, `secret.in_settings`, and for `workflow.yaml` those of
`ari.pipeline.workflow.Fault`. `where` is empty, a JSON pointer,
`line N`, `line N /pointer`, or `\codedigest`. A message never repeats a value of `settings.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel

from ari.checkpoint.store import file_sha256
from ari.errors import FormatError, PathEscapeError
from ari.formats.base import Problem, problems
from ari.formats.jsonio import Json, strict_loads
from ari.paths import inside

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a checkpoint.

    Attributes:
        file: File relative to the checkpoint.
        code: What kind of fault, from the vocabulary above.
        where: Where in the file.
        severity: `error`, or `warning` for what can be read and mended without loss.
        message: What is wrong there, in words.
    """

    file: str
    code: str
    where: str
    severity: Severity
    message: str


class Line(NamedTuple):
    """A sound line of a `.jsonl` file.

    Attributes:
        number: From 1.
        document: The parsed line.
    """

    number: int
    document: Json


@dataclass(slots=True)
class Study:
    """The checkpoint under validation and the findings so far.

    Attributes:
        directory: The checkpoint.
        legacy: Whether its files are in the legacy shapes.
        findings: What was found, in order.
        parents: Id to parent of every known node.
        work_dirs: Id to recorded work_dir.
        depths: Id to true depth, counted along the parents.
        seen: Files that a check has looked at.
    """

    directory: Path
    legacy: bool = False
    findings: list[Finding] = field(default_factory=list)
    parents: dict[str, str | None] = field(default_factory=dict)
    work_dirs: dict[str, str] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, file: str, code: str, where: str, message: str, severity: Severity = "error") -> None:
        """Note a finding, once."""
        finding = Finding(file, code, where, severity, message)
        if finding not in self.findings:
            self.findings.append(finding)

    def read(self, file: str) -> bytes | None:
        """Read a file; None when it is absent or unreadable, the latter with a finding."""
        self.seen.add(file)
        path = self.directory / file
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.add(file, "json.invalid", "", f"cannot be read: {error.strerror or error}")
            return None

    def load(self, file: str) -> Json:
        """Parse a file of strict JSON; None when it is absent or no JSON, the latter with a finding."""
        data = self.read(file)
        if data is None:
            return None
        try:
            document = strict_loads(data)
        except FormatError as error:
            self.add(file, "json.invalid", "", error.message)
            return None
        if document is None:
            self.add(file, "schema.type", "", "the file holds null")
        return document

    def check_model(self, file: str, model: type[BaseModel], document: Json) -> None:
        """Note every fault of a document against its model."""
        self.note(file, problems(model, document))

    def note(self, file: str, faults: Iterable[Problem], *, line: int | None = None) -> None:
        """Note faults of a document or of one line of a file."""
        for fault in faults:
            where = fault.where if line is None else f"line {line} {fault.where}".rstrip()
            self.add(file, fault.code, where, fault.message)

    def lines(self, file: str, data: bytes) -> Iterator[Line]:
        """Parse the lines of a `.jsonl` file; bad ones become findings, a cut-off last one a warning."""
        pieces = data.split(b"\n")
        for number, raw in enumerate(pieces, start=1):
            if not raw.strip():
                continue
            try:
                document = strict_loads(raw)
            except FormatError as error:
                cut = number == len(pieces)
                message = f"{error.message}; an append was cut off" if cut else error.message
                self.add(file, "jsonl.bad_line", f"line {number}", message, "warning" if cut else "error")
            else:
                yield Line(number, document)

    def check_lines(
        self,
        file: str,
        faults_of: Callable[[Json], list[Problem]],
        convert: Callable[[Json], Json] | None = None,
        data: bytes | None = None,
    ) -> list[Line]:
        """Check every line of a `.jsonl` file against a model.

        Args:
            file: Name of the file.
            faults_of: Tells the faults of one line.
            convert: Brings a legacy line into the specified shape; used for legacy checkpoints only.
            data: The lines, when they are not those of the file itself.

        Returns:
            The lines that are JSON objects.
        """
        content = self.read(file) if data is None else data
        objects = []
        for line in self.lines(file, content or b""):
            document = line.document
            if self.legacy and convert is not None and isinstance(document, dict):
                document = convert(document)
            self.note(file, faults_of(document), line=line.number)
            if isinstance(document, dict):
                objects.append(Line(line.number, document))
        return objects

    def require_node(self, file: str, where: str, node_id: Json) -> bool:
        """Note a reference to a node that does not exist; a wrong type is noted elsewhere."""
        if not isinstance(node_id, str):
            return False
        if node_id not in self.parents:
            self.add(file, "ref.unknown_node", where, f"there is no node {node_id}")
            return False
        return True

    def ancestors(self, node_id: str) -> list[str] | None:
        """The nodes from the root down to the parent; None when the parents do not lead to the root."""
        chain: list[str] = []
        current = self.parents.get(node_id)
        while current is not None:
            if current in chain or current not in self.parents:
                return None
            chain.append(current)
            current = self.parents[current]
        return chain[::-1]

    def check_hash(self, file: str, where: str, base: Path, entry: Json, *, code: str) -> None:
        """Compare the recorded hash of a file with its bytes.

        Args:
            file: The file that holds the record.
            where: Pointer to the record.
            base: Directory to which the recorded path is relative.
            entry: The record, `path` and `sha256`; one without a hash is passed over.
            code: Code of a mismatch.
        """
        path = entry.get("path") if isinstance(entry, dict) else None
        if not isinstance(path, str):
            return
        try:
            target = inside(base, path)
        except PathEscapeError as error:
            self.add(file, "path.escape", f"{where}/path", error.message)
            return
        recorded = entry.get("sha256")
        if not isinstance(recorded, str):
            return
        try:
            present = file_sha256(target)
        except OSError as error:
            self.add(file, code, f"{where}/sha256", f"{path} cannot be read: {error.strerror or error}")
            return
        if present != recorded:
            self.add(file, code, f"{where}/sha256", f"{path} has another content than recorded")
