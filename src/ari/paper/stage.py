"""The stage tools of the `paper` skill that write and compile; the others are in `paper.reviews`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.errors import PaperError
from ari.findings.study import FinishedStudy
from ari.formats.jsonio import strict_dumps
from ari.latex.compiling import TIME_LIMIT_S, Compiled, compile_pdf, find_tex
from ari.paper.formula import check_printed
from ari.paper.writing import BIBLIOGRAPHY, PAPER, write
from ari.pipeline.claim_gate.includes import read_source

BUILD = "evaluation/paper_build.json"


def write_paper(*, checkpoint: Path, template: str = "article", paper: str = PAPER) -> dict[str, Any]:
    """Write the paper and `refs.bib` from the study's data, claims and figures.

    Args:
        checkpoint: The study.
        template: The layout: `article` (two columns), `neurips` or `acm`.
        paper: The source to write, relative to the checkpoint.

    Returns:
        `paper`, `numbers`: how many are stated; `warnings`: characters that LaTeX cannot set, with lines.

    Raises:
        PaperError: When there is nothing to report, or the printed formula is not the scored model.
    """
    written = write(checkpoint, template=template, paper=paper)
    warnings = [
        f"{paper}, line {item.line}: {item.character!r} cannot be set and stands as [{item.name}]"
        for item in written.source.unset
    ]
    return {
        "paper": paper,
        "template": template,
        "numbers": written.numbers,
        "warnings": warnings,
        "summary": f"{paper} with {written.numbers} anchored numbers",
    }


def render_paper(*, checkpoint: Path, time_limit_s: float = TIME_LIMIT_S) -> dict[str, Any]:
    """Check the printed formula once more and compile `full_paper.tex` to a PDF.

    Args:
        checkpoint: The study.
        time_limit_s: Hard limit of LaTeX in seconds.

    Returns:
        `status`: `pdf`, `source only`, `failed` or `timeout`; `reason`; `warnings` with lines. Without a PDF
        the stage counts as done but is run again next time.

    Raises:
        PaperError: When there is no paper, or its formula is not the scored model.
    """
    source = checkpoint / PAPER
    if not source.is_file():
        raise PaperError(f"{source} does not exist", cure="Write it first: ari paper CHECKPOINT")
    text = read_source(source, checkpoint)
    formulas = check_printed(text, FinishedStudy.open(checkpoint))
    files = ("figures", BIBLIOGRAPHY, *text.files)
    compiled = compile_pdf(checkpoint, PAPER, files=files, time_limit_s=time_limit_s)
    target = checkpoint / BUILD
    target.parent.mkdir(exist_ok=True)
    atomic_write(target, strict_dumps(_build_report(compiled, formulas), indent=True))
    answer: dict[str, Any] = {
        "status": compiled.status,
        "reason_of_status": compiled.reason,
        "pages": compiled.pages,
        "warnings": [str(complaint) for complaint in compiled.complaints],
        "summary": f"paper: {compiled.reason if compiled.status == 'pdf' else compiled.status}",
    }
    if compiled.status != "pdf":
        answer["incomplete"] = compiled.reason
    return answer


def _build_report(compiled: Compiled, formulas: Mapping[str, Any]) -> dict[str, Any]:
    report = {key: value for key, value in asdict(compiled).items() if key != "duration_s"}
    report["complaints"] = [dict(complaint._asdict()) for complaint in compiled.complaints]
    return report | {"printed_formulas": formulas["formulas"]}


def _say_what_tex_lacks() -> list[str]:
    """What the build will not be able to do on this machine, for the start of a run."""
    setup = find_tex()
    return [] if setup.program else [setup.reason]


render_paper.preflight = _say_what_tex_lacks  # type: ignore[attr-defined]
