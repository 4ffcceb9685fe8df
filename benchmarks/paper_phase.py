"""Time of everything between a finished tree and the final gate, without LaTeX.

    python benchmarks/paper_phase.py [CHECKPOINT …] [--repeats 3]

Without arguments the recorded studies of the tests. Each stage runs in this process, on a copy; the best of
the repeats is printed, in seconds of processor time and of wall time. Importing the libraries is counted with
the first repeat only.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from ari.pipeline.yaml_loader import load_workflow, workflow_file

STUDIES = Path(__file__).resolve().parents[1] / "tests" / "studies"
LEFT_OUT = {"render_paper"}


def run_stages(checkpoint: Path) -> dict[str, tuple[float, float]]:
    from ari.pipeline.stages import StageCall, call

    times = {}
    for stage in load_workflow(workflow_file(checkpoint)).stages:
        if stage.phase == "search" or stage.name in LEFT_OUT:
            continue
        processor, wall = time.process_time(), time.perf_counter()
        call(StageCall(stage.skill, stage.tool, checkpoint, parameters=stage.parameters))
        times[stage.name] = (time.process_time() - processor, time.perf_counter() - wall)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    studies = options.checkpoints or sorted(p for p in STUDIES.iterdir() if p.is_dir())
    for study in studies:
        runs = []
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as scratch:
                runs.append(run_stages(Path(shutil.copytree(study, Path(scratch) / study.name))))
        best = {name: min(run[name] for run in runs) for name in runs[0]}
        total = tuple(sum(part[i] for part in best.values()) for i in (0, 1))
        print(f"{study.name}: {total[0]:.2f} s processor, {total[1]:.2f} s wall")
        for name, (processor, wall) in best.items():
            print(f"  {name:30s} {processor:6.2f} {wall:6.2f}")


if __name__ == "__main__":
    main()
