"""From a finished study to `full_paper.tex` and `refs.bib`: all of it is derived from the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ari.checkpoint.files import atomic_write
from ari.errors import PaperError
from ari.findings.predictions import judged_parts, predict
from ari.findings.residuals import look_at
from ari.findings.study import FinishedStudy
from ari.formats.figures_manifest import FiguresManifest
from ari.formats.jsonio import strict_dumps
from ari.formats.science_data import ScienceData
from ari.paper import common
from ari.paper.code import CodePaper
from ari.paper.command import CommandPaper
from ari.paper.document import Citation, Document, FigureBlock, Marks
from ari.paper.evidence import Evidence, Number
from ari.paper.formula import check_printed
from ari.paper.formula_paper import FormulaPaper
from ari.paper.references import bibliography
from ari.paper.render import Source, render
from ari.paper.story import Story
from ari.paths import inside

PAPER, BIBLIOGRAPHY = "full_paper.tex", "refs.bib"
FORMULA_CHECK = "evaluation/printed_formula.json"


class Written(NamedTuple):
    """A paper that was written."""

    source: Source
    numbers: int
    bibliography: str
    formulas: Mapping[str, Any]


def paper_file(checkpoint: Path, name: str) -> Path:
    """Where a source may be written: a `.tex` file of the study, never a file of its evidence.

    Raises:
        PaperError: When the name is that of no LaTeX source.
        PathEscapeError: When it leaves the checkpoint.
    """
    path = inside(checkpoint, name)
    if path.suffix != ".tex":
        raise PaperError(f"{name} is no name for a paper", cure="Give a name that ends with .tex.")
    return path


def write(checkpoint: Path, *, template: str = "article", paper: str = PAPER) -> Written:
    """Write the paper of a finished study.

    Args:
        checkpoint: The study; the paper, `refs.bib` and `evaluation/printed_formula.json` are written.
        template: Name of the layout.
        paper: The source to write, relative to the checkpoint.

    Returns:
        The source and what is worth telling.

    Raises:
        PaperError: When there is nothing to report, or the printed formula is not the scored model.
        FormatError: When `science_data.json` is missing or not in its shape.
        ConfigError: When there is no such template.
    """
    target = paper_file(checkpoint, paper)
    story = read_story(checkpoint)
    document = compose(story)
    source = render(document, template=template)
    formulas = check_printed(source.tex, story.study)
    existing = checkpoint / BIBLIOGRAPHY
    known = existing.read_text(encoding="utf-8") if existing.exists() else ""
    cited = [key for thing in story.marks.things if isinstance(thing, Citation) for key in thing.keys]
    bib = bibliography(cited, known)
    (checkpoint / FORMULA_CHECK).parent.mkdir(exist_ok=True)
    atomic_write(checkpoint / FORMULA_CHECK, strict_dumps(formulas, indent=True))
    atomic_write(existing, bib.encode("utf-8"))
    atomic_write(target, source.tex.encode("utf-8"))
    return Written(source, len(_numbers(story.marks)), bib, formulas)


def read_story(checkpoint: Path) -> Story:
    """Read everything that a paper is written from.

    Raises:
        PaperError: When the study has no result.
        FormatError: When `science_data.json` is missing or not in its shape.
    """
    study = FinishedStudy.open(checkpoint)
    evidence = Evidence(ScienceData.read(checkpoint / "science_data.json"))
    if study.best is None or not study.best.counts:
        raise PaperError(
            f"{checkpoint} holds no measured result, so there is nothing to report",
            cure=f"`ari status {checkpoint}` says why nodes failed; `ari resume` carries the search further.",
        )
    story = Story(study, evidence, Marks(), _figures(checkpoint))
    if study.kind == "symbolic" and study.best.formula:
        parts = judged_parts(study, reason="paper: residuals and ranges")
        if parts:
            found = {name: predict(study.best.formula, part, study.target) for name, part in parts.items()}
            story.residuals = look_at(found)
            story.variables = _variables(study, parts)
    return story


def compose(story: Story) -> Document:
    """Compose the paper of a study."""
    paper: FormulaPaper | CommandPaper
    if story.study.kind == "symbolic":
        paper = FormulaPaper(story)
    else:
        paper = CodePaper(story) if story.study.kind == "code" else CommandPaper(story)
    sections = [
        paper.introduction(),
        paper.data(),
        paper.method(),
        paper.results(),
        paper.ablation(),
        common.tried(story),
        paper.limitations(),
        paper.conclusion(),
        common.reproducibility(story),
    ]
    abstract = [text for text in paper.abstract() if text]
    run = str(story.study.meta.get("run_id") or story.study.path.name)
    byline = f"Automated study {story.marks.name(run)}"
    appendix = common.evidence_appendix(story)
    return Document(story.study.title, byline, abstract, sections, story.marks, [appendix])


def _numbers(marks: Marks) -> list[Number]:
    return [thing for thing in marks.things if isinstance(thing, Number)]


def _figures(checkpoint: Path) -> dict[str, FigureBlock]:
    manifest = checkpoint / "figures_manifest.json"
    if not manifest.exists():
        return {}
    document = FiguresManifest.read(manifest)
    details = (document.model_extra or {}).get("details")
    known = details if isinstance(details, Mapping) else {}
    figures = {}
    for identity, path in document.figures.items():
        detail = known.get(identity)
        if isinstance(detail, Mapping) and (checkpoint / path).is_file():
            block = FigureBlock(identity, path, str(detail.get("caption", "")), bool(detail.get("wide")))
            figures[identity.removeprefix("fig_")] = block
    return figures


def _variables(study: FinishedStudy, parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Name, description and range over all rows of the target and the numeric inputs."""
    import numpy as np

    context = next(iter(parts.values()))
    found = []
    for name in (study.target, *study.inputs):
        values = [np.asarray(part.data[name]) for part in parts.values() if name in part.data]
        if not values or values[0].dtype.kind not in "fiu":
            continue
        found.append(
            {
                "name": name,
                "description": context.variable_descriptions.get(name, ""),
                "low": float(min(np.nanmin(v) for v in values)),
                "high": float(max(np.nanmax(v) for v in values)),
            }
        )
    return found
