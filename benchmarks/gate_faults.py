"""How many wrong numbers and formulas in a study's own paper the claim gate finds.

    python benchmarks/gate_faults.py CHECKPOINT … [--every 1] [--output TABLE.md]

In the paper of each finished checkpoint every number that an anchor stands for, at each of its places, is
changed in every way that `tests/support/mutations.py` knows, one at a time, and so is every formula that the
paper prints. A fault counts as found when the strict final gate blocks and an error names its line. The paper
as it is must give no finding. Exit status 1 when a fault is missed or the right paper gives a finding.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
if TYPE_CHECKING:
    from support.mutations import Fault

PAPER = "full_paper.tex"


class Outcome(NamedTuple):
    """What came of one paper."""

    name: str
    findings: int
    tried: Counter[str]
    missed: Sequence[Fault]
    seconds: float


def faults_of(checkpoint: Path) -> Iterator[Fault]:
    """Every fault that can be planted in the paper of a checkpoint."""
    from support.mutations import plant_faults, plant_formula_faults

    tex = (checkpoint / PAPER).read_text(encoding="utf-8")
    science = json.loads((checkpoint / "science_data.json").read_bytes())
    reports = (json.loads(path.read_bytes()) for path in checkpoint.glob("experiments/*/node_report.json"))
    formulas = {r["node_id"]: r["submission"]["formula"] for r in reports if r["submission"].get("formula")}
    yield from plant_faults(tex, science)
    if formulas:
        yield from plant_formula_faults(tex, formulas, science["experiment_context"].get("inputs", ()))


def measure(checkpoint: Path, every: int) -> Outcome:
    """Plant the faults of one checkpoint and gate each."""
    from ari.pipeline.claim_gate.gate import run_hard_gate
    from support.mutations import undetected

    report = run_hard_gate(checkpoint, paper=checkpoint / PAPER)
    faults = list(faults_of(checkpoint))[::every]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        _, missed = undetected(checkpoint, faults, Path(scratch), paper=PAPER)
    seconds = time.perf_counter() - started
    tried = Counter(fault.kind for fault in faults)
    return Outcome(checkpoint.name, len(report.errors) + len(report.warnings), tried, missed, seconds)


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a table: found of tried, by kind of fault."""
    kinds = list(dict.fromkeys(kind for outcome in outcomes for kind in outcome.tried))
    lines = ["| | " + " | ".join(o.name for o in outcomes) + " |", "|---|" + "---|" * len(outcomes)]
    lines.append("| findings in the right paper | " + " | ".join(str(o.findings) for o in outcomes) + " |")
    for kind in kinds:
        cells = []
        for outcome in outcomes:
            missed = sum(fault.kind == kind for fault in outcome.missed)
            tried = outcome.tried[kind]
            cells.append(f"{tried - missed} of {tried}" if tried else "")
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    totals = (f"{o.tried.total() - len(o.missed)} of {o.tried.total()}" for o in outcomes)
    lines.append("| **found** | " + " | ".join(f"**{total}**" for total in totals) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoints", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="plant only every n-th fault")
    parser.add_argument("--output", type=Path, help="write the table there, too")
    options = parser.parse_args()
    outcomes = []
    for checkpoint in options.checkpoints:
        outcome = measure(checkpoint, options.every)
        outcomes.append(outcome)
        print(f"{outcome.name}: {outcome.tried.total()} faults in {outcome.seconds:.0f} s", flush=True)
        for fault in outcome.missed:
            print(f"  missed: {fault}")
    print(shown := table(outcomes))
    if options.output is not None:
        options.output.write_text(shown, encoding="utf-8")
    return int(any(outcome.missed or outcome.findings for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
