r"""Reading a paper that lies in several files: `\input`, `\include` and their kin are replaced by the text.

As LaTeX does, names are looked up from the folder of the paper (with `\import`, `\subimport` and `\subfile`
from the named folder first), `.tex` is added, and text in comments, verbatim environments and behind
`\end{document}` or `\endinput` draws nothing in. Unlike LaTeX, no file outside the study is ever read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ari.errors import PathEscapeError
from ari.paths import inside
from ari.pipeline.claim_gate.source import FaultKind, IncludeFault, PaperSource, Piece, Place
from ari.pipeline.claim_gate.tex import BODY, END, Span, uncomment

MOST_NESTED = 15
"""Files within files; TeX itself opens no more."""

MOST_CHARACTERS = 8_000_000
MOST_FILES = 5_000
"""Limits of one paper, against files that multiply each other."""

_COMMAND = re.compile(
    r"\\(?:(?P<import>(?:sub)?import|(?:sub)?(?:input|include)from)\*?\s*\{(?P<folder>[^{}]*)\}\s*\{(?P<file>[^{}]*)\}"
    r"|(?P<name>input|include|subfile)(?![A-Za-z@])\s*(?:\{(?P<braced>[^{}]*)\}|(?P<bare>\\?[^\s{}\\%=\]]+)))"
)
_LET = re.compile(r"\\(?:let\s*\\[A-Za-z@]+\s*=?\s*|(?:re)?newcommand\*?\s*\{?\s*)$")
_ENDINPUT = re.compile(r"\\endinput(?![A-Za-z@])[^\n]*\n?")
_UNKNOWN = re.compile(r"[\\#|~$%&\0\n]")
_INLINE_FIX = "Write the text into the paper itself, so that its numbers can be checked."


class _Request(NamedTuple):
    """One command that draws a file in: where it stands in its file, and what it asks for."""

    span: Span
    command: str
    folder: str
    name: str


class _File(NamedTuple):
    r"""A file that is being read: its name, text, the folder that `\import` set, and the files around it."""

    name: str
    text: str
    folder: str
    around: tuple[str, ...]


def read_source(paper: Path, checkpoint: Path) -> PaperSource:
    r"""Read a paper and the files that it draws in.

    Args:
        paper: The `.tex` file.
        checkpoint: The study. Nothing outside of it is read; a paper that lies elsewhere may draw in what
            lies beside it.

    Returns:
        The source; files that are missing, lie outside or draw themselves in are faults of it.

    Raises:
        OSError: When the paper itself cannot be read.
    """
    try:
        root = checkpoint.resolve()
        name = paper.resolve().relative_to(root).as_posix()
    except (ValueError, OSError):
        root, name = paper.parent.resolve(), paper.name
    text = read_text(paper)
    if _COMMAND.search(text) is None:
        return PaperSource.of_text(text, name)
    return _Assembly(root, posixpath.dirname(name)).run(_File(name, text, "", (name,)))


def read_text(path: Path) -> str:
    """Read a LaTeX file: what is no UTF-8 is replaced, line ends are made one character.

    Raises:
        OSError: When it cannot be read.
    """
    text = path.read_bytes().decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


class _Assembly:
    """Puts one paper together."""

    def __init__(self, root: Path, base: str) -> None:
        self._root = root
        self._base = base
        self._parts: list[str] = []
        self._length = 0
        self._count = 0
        self._full = False
        self._pieces: list[Piece] = []
        self._contents: dict[str, str] = {}
        self._faults: list[IncludeFault] = []

    def run(self, paper: _File) -> PaperSource:
        self._contents[paper.name] = paper.text
        shown = uncomment(paper.text).text
        begin = BODY.search(shown)
        end = END.search(shown, begin.end() if begin else 0)
        stop = end.start() if end else len(paper.text)
        self._add(paper, shown, Span(0, stop), body=begin.end() if begin else 0)
        self._keep(paper, Span(stop, len(paper.text)))
        return PaperSource(
            text="".join(self._parts),
            file=paper.name,
            files=tuple(name for name in self._contents if name != paper.name),
            faults=tuple(self._faults),
            pieces=tuple(self._pieces),
            contents=self._contents,
        )

    def _add(self, file: _File, shown: str, span: Span, *, body: int) -> None:
        """Add a stretch of a file with what it draws in; from `body` on LaTeX sets text."""
        position = span.start
        for request in _requests(shown, span):
            if self._full:
                break
            try:
                drawn_in = self._find(file, request)
            except _NotReadError as error:
                self._faults.append(error.fault(file, request, body=body <= request.span.start))
                continue
            self._keep(file, Span(position, request.span.start))
            self._draw_in(drawn_in, body=body <= request.span.start)
            position = request.span.end
        self._keep(file, Span(position, span.end))

    def _draw_in(self, file: _File, *, body: bool) -> None:
        shown = uncomment(file.text).text
        begin = BODY.search(shown)
        start = begin.end() if begin else 0
        end = END.search(shown, start) or _ENDINPUT.search(shown, start)
        stop = end.start() if end else len(file.text)
        self._add(file, shown, Span(start, stop), body=start if body else len(file.text) + 1)
        self._close(file, shown, stop)

    def _close(self, file: _File, shown: str, stop: int) -> None:
        """End a file as TeX does: a comment of its last line hides nothing of the line that goes on."""
        if self._parts and stop and self._parts[-1].endswith("\n"):
            last_line = file.text[file.text.rfind("\n", 0, stop - 1) + 1 : stop - 1]
            if "%" not in last_line and shown[:stop].strip():
                self._parts[-1] = self._parts[-1][:-1] + " "
        elif "%" in file.text[file.text.rfind("\n", 0, stop) + 1 : stop]:
            self._parts.append("\n")
            self._length += 1

    def _keep(self, file: _File, span: Span) -> None:
        if span.end > span.start:
            self._pieces.append(Piece(self._length, file.name, span.start))
            self._parts.append(file.text[span.start : span.end])
            self._length += span.end - span.start

    # ------------------------------------------------------------------------------------------ looking up

    def _find(self, file: _File, request: _Request) -> _File:
        """Open the file that is asked for.

        Raises:
            _NotReadError: When it cannot be had.
        """
        asked = posixpath.join(request.folder, request.name)
        if _UNKNOWN.search(asked):
            message = f"what \\{request.command}{{{asked[:80]}}} draws in cannot be told without running TeX"
            raise _NotReadError("paper_incomplete", message, _INLINE_FIX)
        names = _candidates(file, request)
        escapes = False
        for name in names:
            try:
                path = inside(self._root, self._relative(name))
            except PathEscapeError:
                escapes = True
                continue
            if _is_file(path):
                return self._opened(file, request, path, name)
        if escapes:
            fix = "Copy the file into the study and name it by a relative path."
            message = f"{_shortened(asked)} lies outside of the study, so it is not read"
            raise _NotReadError("include_escapes", message, fix)
        message = f"the file {_shortened(names[0] if names else asked)} does not exist"
        raise _NotReadError("include_missing", message, "Put the file there, or take the command out.")

    def _relative(self, name: str) -> str:
        """A name relative to the study, dots resolved; one that climbs out is left for `inside` to refuse."""
        return posixpath.normpath(posixpath.join(self._base, name))

    def _opened(self, file: _File, request: _Request, path: Path, name: str) -> _File:
        known = self._relative(name)
        if known in file.around:
            message = f"{known} draws itself in ({' > '.join([*file.around, known][-4:])})"
            raise _NotReadError("include_cycle", message, "Take the command out; LaTeX would never end.")
        try:
            text = self._contents[known] if known in self._contents else read_text(path)
        except OSError as error:
            message = f"{known} cannot be read: {error.strerror or error}"
            raise _NotReadError("include_missing", message, "Make the file readable.") from error
        self._count += 1
        if len(file.around) > MOST_NESTED:
            message = f"{known} was not read: more than {MOST_NESTED} files lie within each other"
            raise _NotReadError("paper_incomplete", message, _INLINE_FIX)
        if self._length + len(text) > MOST_CHARACTERS or self._count > MOST_FILES:
            self._full = True
            limits = f"{MOST_FILES} files or {MOST_CHARACTERS} characters"
            message = f"{known} was not read: the paper draws in more than {limits}"
            raise _NotReadError("paper_incomplete", message, _INLINE_FIX)
        self._contents.setdefault(known, text)
        moves = request.folder or request.command == "subfile"
        folder = posixpath.dirname(name) if moves else file.folder
        return _File(known, text, folder, (*file.around, known))


class _NotReadError(Exception):
    """Why a file was not read."""

    def __init__(self, kind: FaultKind, message: str, fix: str) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
        self.fix = fix

    def fault(self, file: _File, request: _Request, *, body: bool) -> IncludeFault:
        """The fault at the command that asks; in a preamble a file of the TeX installation may be meant."""
        before = file.text[: request.span.start]
        place = Place(file.name, before.count("\n") + 1, len(before) - before.rfind("\n"))
        blocking = body or self.kind != "include_missing"
        return IncludeFault(self.kind, place, self.message, self.fix, blocking)


def _requests(shown: str, span: Span) -> Iterator[_Request]:
    for match in _COMMAND.finditer(shown, span.start, span.end):
        place = Span(match.start(), match.end())
        if match["import"]:
            yield _Request(place, match["import"], match["folder"].strip() or ".", match["file"].strip())
        elif match["bare"] is None:
            yield _Request(place, match["name"], "", match["braced"].strip().strip('"'))
        elif match["name"] == "input" and not _LET.search(shown, 0, match.start()):
            yield _Request(place, match["name"], "", match["bare"].strip('"'))


def _candidates(file: _File, request: _Request) -> list[str]:
    """The names to look for, in order, relative to the folder of the paper."""
    if not request.name:
        return []
    if request.folder:
        base = file.folder if request.command.startswith("sub") else ""
        folders = [posixpath.join(base, request.folder)]
    else:
        folders = [file.folder, ""] if file.folder else [""]
    names = [f"{request.name}.tex"]
    if request.command != "include" or request.name.endswith(".tex"):
        names.append(request.name)
    return [posixpath.join(folder, name) for folder in folders for name in names]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that may not be entered
        return False


def _shortened(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:97]}..."
