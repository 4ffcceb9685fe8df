"""The measured numbers of a study, read from its files as they are.

`tree.json` and `nodes_tree.json` give nodes, metrics and whether a node has real data; a node's
`results*.json` gives what its programs reported. Nothing is guessed: a path outside the checkpoint, a broken
file or a value that is no finite number is no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ari.errors import FormatError, PathEscapeError
from ari.formats import legacy
from ari.formats.base import read_json
from ari.formats.node_results import loads_lenient
from ari.paths import inside
from ari.pipeline.claim_gate.assertions import OperandPlace

RESULT_FAMILIES = ("measurements", "scores", "params", "predictions")
_TREES = ("nodes_tree.json", "tree.json")


class Fault(NamedTuple):
    """A file of the study that cannot be used.

    Attributes:
        file: File relative to the checkpoint.
        message: Why.
        absent: Whether it is not there at all.
    """

    file: str
    message: str
    absent: bool


class Measured(NamedTuple):
    """A measured number: the node, the place in it, the value."""

    node_id: str
    metric_path: str
    value: float


@dataclass
class StudyFiles:
    """The files of a checkpoint that hold evidence.

    Attributes:
        directory: The checkpoint.
        nodes: Id to node, the detail of `nodes_tree.json` under the summary of `tree.json`.
        faults: Files that could not be read.
        legacy: Whether the trees are in the legacy shape.
    """

    directory: Path
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    legacy: bool = False
    _results: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    _reports: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, directory: Path) -> StudyFiles:
        """Read the trees of a checkpoint; what cannot be read stands in `faults`."""
        study = cls(directory)
        for file in _TREES:
            document = study.load(file, required=False)
            if document is None:
                continue
            if legacy.is_legacy_tree(document):
                document = legacy.convert_tree(document, directory)
                study.legacy = True
            nodes = document.get("nodes") if isinstance(document, Mapping) else None
            if not isinstance(nodes, Mapping):
                study.faults.append(Fault(file, "it holds no object `nodes`", absent=False))
                continue
            for node_id, node in nodes.items():
                if isinstance(node, Mapping):
                    study.nodes.setdefault(node_id, {}).update(node)
        return study

    def load(self, file: str, *, required: bool = True) -> Any:  # noqa: ANN401 - parsed JSON
        """Read a JSON file of the checkpoint; None, and a fault, when it cannot be read."""
        path = self.directory / file
        if not path.exists():
            if required:
                self.faults.append(Fault(file, f"{file} does not exist", absent=True))
            return None
        try:
            return read_json(path)
        except FormatError as error:
            self.faults.append(Fault(file, error.message.replace(str(path), file), absent=False))
            return None

    def has_real_data(self, node_id: str) -> bool:
        """Whether a node ran to its end and measured something."""
        node = self.nodes.get(node_id, {})
        return node.get("has_real_data") is True and node.get("status") == "completed"

    def operand(self, place: OperandPlace) -> tuple[object, str]:
        """Find the value of an operand.

        Args:
            place: The node and the paths at which the value may stand.

        Returns:
            A number or an array of numbers and the path it stands at; None and why there is none.
        """
        if place.node_id not in self.nodes:
            return None, f"the node {place.node_id!r} does not exist"
        for path in place.paths:
            value = self._value(place.node_id, path)
            if value is not None:
                return value, path
        return None, f"the node {place.node_id} has no {' or '.join(place.paths)}"

    def _value(self, node_id: str, path: str) -> object:
        family, _, key = path.partition(".")
        if family == "metrics":
            return _numeric(_at(self.nodes[node_id].get("metrics"), key))
        if family == "metrics_with_metadata":
            return _numeric(_at(self.nodes[node_id].get("metrics_with_metadata"), key))
        if family == "tree":
            return self._count(key)
        if family in RESULT_FAMILIES:
            return _numeric(_at(self.results(node_id).get(family), key))
        return None

    def _count(self, key: str) -> float | None:
        """Count nodes: all, by status, or those with real data."""
        if key == "nodes":
            return float(len(self.nodes))
        if key == "with_real_data":
            return float(sum(self.has_real_data(node_id) for node_id in self.nodes))
        if key in ("completed", "errored", "pending", "running"):
            return float(sum(node.get("status") == key for node in self.nodes.values()))
        return None

    def results(self, node_id: str) -> dict[str, dict[str, Any]]:
        """Read what a node's programs reported: family to name to value, `results.json` first."""
        if node_id not in self._results:
            merged: dict[str, dict[str, Any]] = {}
            for document in self._result_files(node_id):
                for family in RESULT_FAMILIES:
                    values = document.get(family)
                    for name, value in values.items() if isinstance(values, Mapping) else ():
                        merged.setdefault(family, {}).setdefault(name, value)
            self._results[node_id] = merged
        return self._results[node_id]

    def _result_files(self, node_id: str) -> Iterator[Mapping[str, Any]]:
        folder = self.work_dir(node_id)
        if folder is None:
            return
        paths = sorted(
            folder.glob("results*.json"), key=lambda path: (path.name != "results.json", path.name)
        )
        for path in paths:
            name = f"{self.nodes[node_id].get('work_dir') or f'experiments/{node_id}'}/{path.name}"
            try:
                document = loads_lenient(path.read_bytes())
            except (OSError, FormatError) as error:
                self.faults.append(Fault(name, f"{name} cannot be read: {error}", absent=False))
                continue
            if isinstance(document, Mapping):
                yield document

    def work_dir(self, node_id: str) -> Path | None:
        """The folder of a node; None when the recorded one leads out of the study.

        A study in the legacy shape lies in `<workspace>/checkpoints/`, with its folders elsewhere in the
        workspace.
        """
        recorded = self.nodes.get(node_id, {}).get("work_dir")
        recorded = recorded if isinstance(recorded, str) and recorded else f"experiments/{node_id}"
        try:
            if self.legacy:
                workspace = self.directory.resolve().parent.parent
                folder = (self.directory / recorded).resolve()
                return inside(workspace, folder.relative_to(workspace).as_posix())
            return inside(self.directory, recorded)
        except (PathEscapeError, ValueError, OSError):
            return None  # reported by `ari validate`; a file outside the study is no evidence

    def processor(self, node_id: str) -> str:
        """Name the machine a node ran on, as its report says; empty when it does not."""
        cpu = self.report(node_id).get("cpu_info")
        parts = [cpu.get("model"), cpu.get("arch")] if isinstance(cpu, Mapping) else []
        return " ".join(str(part) for part in parts if part)

    def report(self, node_id: str) -> Mapping[str, Any]:
        """Read a node's `node_report.json`; empty when there is none that can be read."""
        if node_id not in self._reports:
            self._reports[node_id] = self._read_report(node_id)
        return self._reports[node_id]

    def _read_report(self, node_id: str) -> Mapping[str, Any]:
        folder = self.work_dir(node_id)
        path = folder / "node_report.json" if folder is not None else None
        if path is None or not path.is_file():
            return {}
        try:
            report = read_json(path)
        except FormatError:
            return {}  # reported by `ari validate`
        return report if isinstance(report, Mapping) else {}

    def measured(self) -> Iterator[Measured]:
        """Go through the metrics of all nodes."""
        for node_id, node in self.nodes.items():
            metrics = node.get("metrics")
            for name, value in metrics.items() if isinstance(metrics, Mapping) else ():
                number = _numeric(value)
                if isinstance(number, float):
                    yield Measured(node_id, f"metrics.{name}", number)


def _at(values: object, key: str) -> object:
    """Look a key up; where it is not there as a whole, its parts lead through nested objects."""
    if not isinstance(values, Mapping):
        return None
    if key in values:
        return values[key]
    for cut in (i for i, character in enumerate(key) if character == "."):
        found = _at(values.get(key[:cut]), key[cut + 1 :])
        if found is not None:
            return found
    return None


def _numeric(value: object) -> float | list[float] | None:
    """A finite number, or an array of such; None for anything else."""
    if isinstance(value, list):
        numbers = [_numeric(item) for item in value]
        return (
            [n for n in numbers if isinstance(n, float)]
            if numbers and all(isinstance(n, float) for n in numbers)
            else None
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
