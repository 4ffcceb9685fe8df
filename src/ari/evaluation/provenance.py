"""Which `_provenance` tags of a node the run records bear out.

A tag says where a value comes from. `microbench` and `benchmark` promise that something was measured,
`correctness` and `reference` that a result was compared with a reference. A tag is kept only when a
successful run of this node printed the value, that run did real work, and the value was not simply
written down in the command or in a file the run could read. An `echo` fails all three.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ari.evaluation.metrics_text import parse_metrics

if TYPE_CHECKING:
    from ari.evaluation.command import Measurement
    from ari.execution.records import RunRecord
    from ari.pipeline.experiment_spec import Experiment

MIN_CPU_SECONDS = 0.02
"""Processor time below which a run cannot have measured anything: a shell and `echo` take 2 to 5 ms."""

SIGNIFICANT_DIGITS = 3
"""Shorter numbers (0, 1, 100) occur in any source text by chance and are not looked for."""

MAX_SCANNED_BYTES = 2_000_000

MEASURED_TAGS = frozenset({"microbench", "benchmark", "correctness", "reference"})
PLAIN_TAGS = frozenset({"declared", "constant"})


def supported_provenance(
    declared: Mapping[str, str],
    experiment: Experiment,
    records: Sequence[RunRecord],
    work_dir: Path,
    found: Mapping[str, Measurement],
) -> dict[str, str]:
    """The declared tags that hold; a tag that promises a measurement and is not borne out is dropped."""
    kept: dict[str, str] = {}
    for name, tag in declared.items():
        if tag in PLAIN_TAGS or (
            tag in MEASURED_TAGS and name in found and _was_measured(name, records, work_dir)
        ):
            kept[name] = tag
    return kept


def _was_measured(name: str, records: Sequence[RunRecord], work_dir: Path) -> bool:
    return any(record.outcome == "ok" and _run_measured(name, record, work_dir) for record in records)


def _run_measured(name: str, record: RunRecord, work_dir: Path) -> bool:
    value = parse_metrics(record.stdout).get(name)
    if value is None or not math.isfinite(value) or record.cpu_s < MIN_CPU_SECONDS:
        return False
    shown = printed_text(name, record.stdout)
    if _digits(shown) < SIGNIFICANT_DIGITS:
        return True
    return shown not in (record.command or "") and not _stands_in_inputs(shown, record, work_dir)


def was_written(file: str, value: object, records: Sequence[RunRecord], work_dir: Path) -> bool:
    """Whether a run that did real work wrote a value, number or list, into a file that is unchanged since.

    Args:
        file: The `results*.json`, relative to the work folder.
        value: The value as it stands there.
        records: The node's run records.
        work_dir: The node's folder.
    """
    from ari.execution.workdir import hash_file

    path = work_dir / file
    if not path.is_file():
        return False
    present = hash_file(path).sha256
    shown = [text for text in _number_texts(value) if _digits(text) >= SIGNIFICANT_DIGITS]
    for record in records:
        output = record.output(file)
        if record.outcome != "ok" or output is None or output.sha256 != present:
            continue
        copied = [t for t in shown if t in (record.command or "") or _stands_in_inputs(t, record, work_dir)]
        if record.cpu_s >= MIN_CPU_SECONDS and (not shown or len(copied) < len(shown)):
            return True
    return False


def _number_texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _number_texts(item)]
    return [repr(value)]


def printed_text(name: str, stdout: str) -> str:
    """The digits of a metric as a program printed them; empty where they are not found."""
    matches = re.findall(rf"{re.escape(name)}\"?\s*[:=]\s*([-+.\deE]+)", stdout)
    return matches[-1].strip() if matches else ""


def _digits(shown: str) -> int:
    mantissa = re.split(r"[eE]", shown)[0]
    return len(re.sub(r"\D", "", mantissa).strip("0"))


def _stands_in_inputs(shown: str, record: RunRecord, work_dir: Path) -> bool:
    for entry in record.inputs:
        path = work_dir / entry.path
        readable = entry.size <= MAX_SCANNED_BYTES and path.is_file() and not path.is_symlink()
        if readable and shown.encode() in path.read_bytes():
            return True
    return False
