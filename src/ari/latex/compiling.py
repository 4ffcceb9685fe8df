r"""Making a PDF of LaTeX source: contained, within a hard time limit, and with the faults it names read back.

What is needed is found before anything runs: `find_tex` says which program will be used, or what is missing
and what that means. The build happens in a folder of its own, which holds copies of the source and its
figures and nothing else; shell escape is off.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

TIME_LIMIT_S = 120.0
MEMORY_BYTES = 2 * 1024**3
PACKAGES = "texlive-latex-recommended lmodern latexmk"
"""Debian packages that bring everything the shipped layouts use."""

_TEX_PLACES = ("/etc/texmf", "/var/lib/texmf", "/usr/share/texmf", "/usr/local/share/texmf", "/etc/fonts")
_ERROR = re.compile(r"^(?:\./)?(?P<file>[^\s:]+\.tex):(?P<line>\d+): (?P<text>.*)$", re.M)
_PDFTEX = re.compile(r"^!pdfTeX error: (?P<text>.*)$", re.M)
_OVERFULL = re.compile(r"^Overfull \\hbox \((?P<points>[\d.]+)pt too wide\).*? at lines? (?P<line>\d+)", re.M)
_UNDEFINED = re.compile(
    r"^LaTeX Warning: (?P<kind>Reference|Citation) [`'](?P<name>[^']+)'.*? undefined", re.M
)
_PAGES = re.compile(r"Output written on \S+\s*\((\d+) pages?")
WIDE_POINTS = 8.0
"""Lines that stick out by more points than this are reported."""


class TexSetup(NamedTuple):
    """The TeX that was found.

    Attributes:
        program: Path of `latexmk` or `pdflatex`; None without TeX.
        reason: One line for people.
    """

    program: str | None
    reason: str


class Complaint(NamedTuple):
    """What TeX said about the source.

    Attributes:
        line: Line of the file; 0 where TeX names none.
        message: What is wrong.
        fatal: Whether it kept a PDF from being made.
        file: The source, or the file it draws in.
    """

    line: int
    message: str
    fatal: bool
    file: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.message}"


@dataclass(frozen=True)
class Compiled:
    """What came of it.

    Attributes:
        status: `pdf`, `source only` (no TeX), `failed` or `timeout`.
        reason: One line for people.
        complaints: What TeX named, with lines.
        pages: Number of pages of the PDF.
        duration_s: Seconds it took.
    """

    status: str
    reason: str
    complaints: tuple[Complaint, ...] = ()
    pages: int | None = None
    duration_s: float = 0.0


def find_tex(path: str | None = None) -> TexSetup:
    """Find the TeX to use.

    Args:
        path: Search path; default: the one of the environment.
    """
    programs = {name: shutil.which(name, path=path) for name in ("latexmk", "pdflatex", "bibtex")}
    if programs["pdflatex"] is None:
        return TexSetup(
            None,
            f"no TeX was found (pdflatex): the paper will be source only (.tex, figures and links). "
            f"Cure: apt-get install {PACKAGES}",
        )
    program = programs["latexmk"] or programs["pdflatex"]
    return TexSetup(program, f"papers are compiled with {Path(program).name}")


def compile_pdf(
    checkpoint: Path, source: str, *, files: Sequence[str] = (), time_limit_s: float = TIME_LIMIT_S
) -> Compiled:
    """Compile a source of the checkpoint; the PDF is put beside it.

    Args:
        checkpoint: The folder that the source and its files are relative to.
        source: The `.tex` file.
        files: Further files and folders that it reads.
        time_limit_s: Hard limit in seconds.

    Returns:
        What came of it; a failure is an answer, not an exception, and an old PDF is then removed.

    Raises:
        ExecutionError: When the program cannot be run at all.
    """
    setup = find_tex()
    target = checkpoint / source.replace(".tex", ".pdf")
    if setup.program is None:
        target.unlink(missing_ok=True)
        return Compiled("source only", setup.reason)
    with tempfile.TemporaryDirectory(prefix="ari-tex-") as scratch:
        work = Path(scratch) / "work"
        work.mkdir()
        for file in (source, *files):
            _copy(checkpoint / file, work / file)
        compiled = _run(Path(setup.program), work, Path(scratch) / "records", source, time_limit_s)
        made = work / Path(source).with_suffix(".pdf").name
        if compiled.status == "pdf" and made.is_file():
            from ari.checkpoint.files import atomic_write

            atomic_write(target, made.read_bytes())
        else:
            target.unlink(missing_ok=True)
    return compiled


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin.is_dir():
        shutil.copytree(
            origin, target, symlinks=True, ignore=shutil.ignore_patterns("*.json", "*.py", "*.png")
        )
    elif origin.is_file():
        shutil.copyfile(origin, target)


def _run(program: Path, work: Path, records: Path, source: str, time_limit_s: float) -> Compiled:
    from ari.execution.limits import Limits
    from ari.execution.runner import Runner

    limits = Limits(wall_s=time_limit_s, memory_bytes=MEMORY_BYTES)
    places = [Path(place) for place in _TEX_PLACES if Path(place).exists()]
    runner = Runner(records, work, node_id="paper", limits=limits, read_only=places, env=_environment())
    record = runner.run(_command(program, source), label="latex")
    log = work / Path(source).with_suffix(".log").name
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else record.stdout
    made = (work / Path(source).with_suffix(".pdf").name).is_file()
    complaints = tuple(_complaints(text.replace("\n ", " "), source))
    if record.outcome == "timeout":
        return Compiled(
            "timeout", f"LaTeX was ended after {time_limit_s:g} s", complaints, None, record.duration_s
        )
    if record.outcome != "ok" or not made:
        first = next((c for c in complaints if c.fatal), None)
        where = str(first) if first else _last_words(record.stderr or record.stdout)
        return Compiled("failed", f"LaTeX failed: {where}", complaints, None, record.duration_s)
    pages = _PAGES.search(text.replace("\n", ""))
    count = int(pages.group(1)) if pages else None
    shown = f"{count} page{'' if count == 1 else 's'}" if count else "a PDF"
    return Compiled("pdf", f"{shown} compiled with {program.name}", complaints, count, record.duration_s)


def _environment() -> Mapping[str, str]:
    # The same source gives the same bytes: no dates, no names of this machine's folders.
    return {
        "SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1", "TEXMFVAR": ".texmf-var",
        "max_print_line": "10000",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "openin_any": "p", "openout_any": "p",
    }  # fmt: skip


def _command(program: Path, source: str) -> list[str] | str:
    flags = ["-interaction=nonstopmode", "-file-line-error", "-halt-on-error", "-no-shell-escape"]
    if program.name == "latexmk":
        return [str(program), "-pdf", "-norc", "-silent", *flags, source]
    stem = Path(source).stem
    once = " ".join([str(program), *flags, source])
    return f"{once}; (command -v bibtex && bibtex {stem} || true); {once}; {once}"


def _complaints(log: str, source: str) -> list[Complaint]:
    found = [
        Complaint(int(m["line"]), m["text"].strip(), fatal=True, file=m["file"].removeprefix("./"))
        for m in _ERROR.finditer(log)
    ]
    found += [Complaint(0, m["text"].strip(), fatal=True, file=source) for m in _PDFTEX.finditer(log)]
    found += [
        Complaint(0, f"the {m['kind'].lower()} {m['name']} is undefined", fatal=False, file=source)
        for m in _UNDEFINED.finditer(log)
    ]
    for match in _OVERFULL.finditer(log):
        if float(match["points"]) > WIDE_POINTS:
            text = f"a line sticks out by {float(match['points']):.0f} pt"
            found.append(Complaint(int(match["line"]), text, fatal=False, file=source))
    return list(dict.fromkeys(found))


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"
