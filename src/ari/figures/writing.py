"""Drawing the planned figures into a checkpoint: PDF, PNG, the data behind each, the code that drew it.

    figures/<id>.pdf  figures/<id>.png  figures/<id>.json      the figure and its data
    figures/code/<kind>.py  figures/code/house_style.py        what drew them; runs without this project
    figures_manifest.json                                      id to file and LaTeX snippet

The same checkpoint gives the same bytes. Files of figures that the study no longer gives are removed.
"""

from __future__ import annotations

import hashlib
import inspect
import shutil
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ari.checkpoint.files import atomic_write
from ari.figures.collect import FigurePlan, plan_figures
from ari.figures.drawing import house_style
from ari.findings.study import FinishedStudy
from ari.formats.figures_manifest import FiguresManifest
from ari.formats.jsonio import encode_document, strict_dumps
from ari.latex.escape import escape

FOLDER = "figures"
MANIFEST = "figures_manifest.json"
_PACKAGE = "ari.figures.drawing"


def make_figures(checkpoint: Path) -> FiguresManifest:
    """Draw every figure that a finished study gives and write the manifest.

    Args:
        checkpoint: The checkpoint; `figures/` and `figures_manifest.json` in it are written.

    Returns:
        The manifest.

    Raises:
        CheckpointError: When the checkpoint cannot be read or written.
        EvaluationError: When the sealed rows are not those that were sealed.
    """
    study = FinishedStudy.open(checkpoint)
    plans = list(plan_figures(study))
    folder = checkpoint / FOLDER
    (folder / "code").mkdir(parents=True, exist_ok=True)
    written: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        for plan in plans:
            for file in _draw(plan, Path(scratch)):
                atomic_write(folder / file.name, file.read_bytes())
                written.add(file.name)
    for name, source in _code(plans).items():
        atomic_write(folder / "code" / name, source.encode("utf-8"))
        written.add(f"code/{name}")
    _remove_stale(folder, written)
    manifest = FiguresManifest.from_document(_manifest(plans, folder), source=MANIFEST)
    atomic_write(checkpoint / MANIFEST, manifest.to_bytes())
    return manifest


def _draw(plan: FigurePlan, scratch: Path) -> list[Path]:
    data = scratch / f"{plan.id}.json"
    document = encode_document(plan.data)
    data.write_bytes(strict_dumps(document, indent=True))
    files = [scratch / f"{plan.id}{suffix}" for suffix in (".pdf", ".png")]
    house_style.render(import_module(f"{_PACKAGE}.{plan.kind}").draw, document, files)
    return [data, *files]


def _code(plans: list[FigurePlan]) -> dict[str, str]:
    """The drawing modules in use, made to import `house_style` from beside them."""
    kinds = sorted({plan.kind for plan in plans})
    modules = {f"{kind}.py": import_module(f"{_PACKAGE}.{kind}") for kind in kinds}
    modules["house_style.py"] = house_style
    return {
        name: inspect.getsource(module).replace(f"from {_PACKAGE}.house_style", "from house_style")
        for name, module in modules.items()
    }


def _remove_stale(folder: Path, written: set[str]) -> None:
    """Remove what an earlier call wrote and this one did not; files of others stay."""
    for file in [*folder.glob("fig_*"), *(folder / "code").glob("*.py")]:
        if file.relative_to(folder).as_posix() not in written and file.is_file():
            file.unlink()
    shutil.rmtree(folder / "code" / "__pycache__", ignore_errors=True)


def _manifest(plans: list[FigurePlan], folder: Path) -> dict[str, Any]:
    return {
        "figures": {plan.id: f"{FOLDER}/{plan.id}.pdf" for plan in plans},
        "latex_snippets": {plan.id: latex_snippet(plan) for plan in plans},
        "details": {plan.id: _detail(plan, folder) for plan in plans},
    }


def _detail(plan: FigurePlan, folder: Path) -> Mapping[str, Any]:
    files = {suffix: folder / f"{plan.id}.{suffix}" for suffix in ("pdf", "png", "json")}
    return {
        "kind": plan.kind,
        "caption": plan.caption,
        "wide": plan.wide,
        "png": f"{FOLDER}/{plan.id}.png",
        "data": f"{FOLDER}/{plan.id}.json",
        "code": f"{FOLDER}/code/{plan.kind}.py",
        "sha256": {suffix: hashlib.sha256(file.read_bytes()).hexdigest() for suffix, file in files.items()},
    }


def latex_snippet(plan: FigurePlan) -> str:
    """The figure as a LaTeX float that needs `graphicx` only."""
    environment = "figure*" if plan.wide else "figure"
    width = r"\textwidth" if plan.wide else r"\columnwidth"
    label = plan.id.replace("fig_", "fig:", 1)
    return (
        f"\\begin{{{environment}}}[tb]\n\\centering\n"
        f"\\includegraphics[width={width}]{{{FOLDER}/{plan.id}.pdf}}\n"
        f"\\caption{{{escape(plan.caption).text}}}\n\\label{{{label}}}\n\\end{{{environment}}}"
    )
