"""CSV, TSV and relatives as a stream of records, with every fault named by line.

Promises: the file is read twice at most and never held in memory; text that is not in the stated encoding,
NUL characters, ragged rows and broken quotes are refused with the place and the cure.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from sr_harness.errors import ImportDataError

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_RECORDS = 50
_SAMPLE_CHARACTERS = 1 << 16
_BLOCK = 1 << 20
_LONGEST_CELL = 1 << 20
_MAGIC = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\x93NUM": "an NPY file, not a table of text",
    b"\x89HDF": "an HDF5 file, not a table of text",
}


@dataclass(frozen=True)
class Delimited:
    """A text table whose encoding and delimiter are known.

    Attributes:
        path: the file.
        encoding: the encoding that reads it, a byte order mark included.
        delimiter: the sign between cells.
        headers: the cells of its first record.
    """

    path: Path
    encoding: str
    delimiter: str
    headers: tuple[str, ...]

    def batches(self, size: int = 10_000) -> Iterator[list[list[str]]]:
        """Yield the rows below the headers in pieces.

        Raises:
            ImportDataError: a row has another number of cells than there are headers, or cannot be read.
        """
        records = _records(self.path, self.encoding, self.delimiter)
        next(records, None)
        rows = (self._checked(line, cells) for line, cells in records)
        while batch := list(itertools.islice(rows, size)):
            yield batch

    def _checked(self, line: int, cells: list[str]) -> list[str]:
        if len(cells) != len(self.headers):
            raise ImportDataError(
                f"{self.path}: line {line} has {len(cells)} cells, but there are {len(self.headers)} columns "
                f"(delimiter {self.delimiter!r}); make the row as long as the header, "
                "quote cells that hold the delimiter, or state --delimiter"
            )
        return cells


def open_delimited(path: Path, *, encoding: str | None = None, delimiter: str | None = None) -> Delimited:
    """Find out encoding and delimiter of a text table and read its headers.

    Args:
        path: the file.
        encoding: its encoding; UTF-8 by default, with or without byte order mark.
        delimiter: one sign; by default the one of `,` `;` tab `|` that fits the first rows best.

    Raises:
        ImportDataError: the file is empty, is no text table, or has no row of column names.
    """
    encoding = _checked_encoding(path, encoding)
    if delimiter is not None and len(delimiter) != 1:
        raise ImportDataError(f"the delimiter {delimiter!r} is not one character; write a tab as '\\t'")
    if delimiter is None:
        delimiter = _find_delimiter(path, encoding)
    first = next(_records(path, encoding, delimiter), None)
    if first is None:
        raise ImportDataError(f"{path} is empty; a table has a line of column names and rows below it")
    _line, headers = first
    if all(_is_number(header) for header in headers):
        raise ImportDataError(
            f"{path}: the first line holds only numbers ({', '.join(headers[:4])}), not column names; "
            "put a line of column names on top"
        )
    return Delimited(path, encoding, delimiter, tuple(headers))


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return text.strip().lower().lstrip("+-") not in {"nan", "inf", "infinity"}


def _checked_encoding(path: Path, encoding: str | None) -> str:
    """The encoding to open the file with, after reading all of it once."""
    with path.open("rb") as file:
        start = file.read(4)
    for magic, what in _MAGIC.items():
        if start.startswith(magic):
            raise ImportDataError(f"{path} is {what}")
    if encoding is None and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ImportDataError(f"{path} is UTF-16, not UTF-8; state --encoding utf-16")
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except LookupError as error:
        raise ImportDataError(f"there is no encoding {encoding!r}; try utf-8, latin-1 or cp1252") from error
    if name == "utf-8":
        name = "utf-8-sig"
    _read_through(path, name, stated=encoding)
    return name


def _read_through(path: Path, encoding: str, *, stated: str | None) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    offset, lines = 0, 1
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                at = max(0, offset - pending + error.start)
                byte = error.object[error.start]
                cure = f"it is not {stated}" if stated else "state its encoding, such as --encoding latin-1"
                raise ImportDataError(
                    f"{path} is not {stated or 'UTF-8'}: the byte at offset {at} is 0x{byte:02x}; {cure}"
                ) from error
            except UnicodeError as error:
                raise ImportDataError(f"{path} is not {stated}: {error}") from error
            nul = text.find("\0")
            if nul >= 0:
                line = lines + text.count("\n", 0, nul)
                raise ImportDataError(f"{path}: line {line} holds a NUL character; the file is no text table")
            if not block:
                return
            lines += text.count("\n")
            offset += len(block)


def _records(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells), blank lines left out."""
    with path.open(encoding=encoding, newline="") as file:
        yield from _parsed(file, path, delimiter)


def _parsed(file: TextIO, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise ImportDataError(
            f"{path}: line {line} cannot be read as delimited text: {error}; check its quotes"
        ) from error


def _find_delimiter(path: Path, encoding: str) -> str:
    with path.open(encoding=encoding, newline="") as file:
        sample = file.read(_SAMPLE_CHARACTERS)
    if len(sample) == _SAMPLE_CHARACTERS:
        sample = sample[: sample.rfind("\n") + 1] or sample
    preferred = "\t" if path.suffix.lower() in {".tsv", ".tab"} else ","
    best, best_score = preferred, (0.0, 0)
    for delimiter in sorted(DELIMITERS, key=lambda sign: sign != preferred):
        score = _fit(sample, delimiter)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _fit(sample: str, delimiter: str) -> tuple[float, int]:
    """How well a delimiter explains the sample: share of rows as long as the header, and that length."""
    reader = csv.reader(sample.splitlines(keepends=True), delimiter=delimiter)
    try:
        rows: Sequence[list[str]] = [row for row in itertools.islice(reader, _SAMPLE_RECORDS) if row]
    except csv.Error:
        return 0.0, 0
    if not rows or len(rows[0]) < 2:
        return 0.0, 0
    width = len(rows[0])
    return sum(len(row) == width for row in rows) / len(rows), width
