"""Time of linking and gating a 40-page paper with 200 claims.

    python benchmarks/claim_gate.py [--repeats 5]

The paper and its study are made up (`tests/support/study_papers.py`), about 3,000 characters a page. The best
of the repeats is printed, in milliseconds of processor time and of wall time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

PROSE = (
    "The search goes on from the best node that is known and asks what could still be changed about it "
    "without a loss, and every proposal is run, measured and written down as it is. "
)
PAGES, CHARACTERS = 40, 3000


def best_of(repeats: int, call: Callable[[], object]) -> tuple[float, float]:
    times = []
    for _ in range(repeats):
        processor, wall = time.process_time(), time.perf_counter()
        call()
        times.append((time.process_time() - processor, time.perf_counter() - wall))
    return min(times)


def main() -> None:
    from ari.pipeline.claim_gate.gate import run_hard_gate
    from ari.pipeline.claim_gate.links import link_paper_claims
    from support.study_papers import write_study

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as scratch:
        study = Path(scratch) / "study"
        write_study(study, seed=1, sentences=170, rows=10, nodes=30, filler=2)
        tex = (study / "paper.tex").read_text(encoding="utf-8")
        missing = max(0, PAGES * CHARACTERS - len(tex)) // len(PROSE)
        tex = tex.replace("\\section{Limitations}", f"{PROSE * missing}\n\\section{{Limitations}}")
        (study / "paper.tex").write_text(tex, encoding="utf-8")
        science = json.loads((study / "science_data.json").read_text(encoding="utf-8"))
        links = link_paper_claims(tex, science)
        report = run_hard_gate(study)
        print(
            f"{len(tex)} characters, {len(science['claims'])} claims, {len(links.mentions)} numbers, "
            f"gate: {report.status}"
        )
        for name, call in (
            ("link", lambda: link_paper_claims(tex, science).to_dict()),
            ("gate", lambda: run_hard_gate(study)),
        ):
            processor, wall = best_of(repeats, call)
            print(f"{name}: {1000 * processor:.0f} ms processor, {1000 * wall:.0f} ms wall")


if __name__ == "__main__":
    main()
