"""From the text of a column to an array: what the cells are, decided over the whole column.

Promises: a column becomes integers, floats, booleans or text by one rule for all of its cells. Nothing is
guessed where two readings are possible: `1,234` alone may be a thousand or one point two, so the column is
refused with both readings shown unless the decimal sign is stated. `Profile` is fed pieces of a column and
keeps none of them, so a table of any length can be profiled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sr_harness.errors import ImportDataError

Array = np.ndarray[Any, Any]
Kind = Literal["integer", "float", "boolean", "text"]
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>"})
_SEPARATOR = "\0"  # no cell holds it: the reader refuses NUL
_INTEGER_TEXT = r"[+-]?\d+"
_REAL_TEXT = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_INTEGER = re.compile(_INTEGER_TEXT)
_INTEGERS = re.compile(f"{_INTEGER_TEXT}(?:{_SEPARATOR}{_INTEGER_TEXT})*+")
_REALS = re.compile(f"{_REAL_TEXT}(?:{_SEPARATOR}{_REAL_TEXT})*+")
_PADDED = re.compile(r"(?:^|\0)([+-]?0\d+)(?:$|\0)")
_POINT = re.compile(_REAL_TEXT + "|[+-]?(?:inf|infinity)", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?")
_COMMA_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?")
_BOOLEANS = {"true": True, "false": False}
_LONGEST_INTEGER = 400
_EXACT = 1 << 53
_INT64 = np.iinfo(np.int64)
_UINT64 = np.iinfo(np.uint64)


@dataclass
class Profile:
    """What is known of one column after some of its cells.

    Attributes:
        decimal: the decimal sign that was stated, or None; it decides between two possible readings.
        cells: number of cells seen.
        missing: number of cells that are blank or a word for "missing".
        blank: number of blank cells.
        longest: length of the longest cell.
        readings: what every cell seen so far could be. `point` and `comma` are numbers with that decimal
            sign (integers are both); `number` allows either sign from cell to cell.
    """

    decimal: str | None = None
    cells: int = 0
    missing: int = 0
    blank: int = 0
    longest: int = 0
    readings: set[str] = field(default_factory=lambda: {"boolean", "integer", "number", "point", "comma"})
    lowest: int = 0
    highest: int = 0
    padded: str | None = None
    two_ways: str | None = None  # a cell with one comma before three digits
    grouped: str | None = None  # a cell whose thousands are grouped under the reading that remains
    unlike: dict[str, str] = field(default_factory=dict)

    def add(self, cells: Sequence[str]) -> None:
        """Take note of some more cells of the column, in order."""
        self.cells += len(cells)
        self.longest = max(self.longest, max(map(len, cells), default=0))
        stripped = [cell.strip() for cell in cells]
        present = [cell for cell in stripped if cell.lower() not in MISSING]
        self.missing += len(cells) - len(present)
        self.blank += stripped.count("")
        if not present:
            return
        if "boolean" in self.readings and any(cell.lower() not in _BOOLEANS for cell in present):
            self.readings.discard("boolean")
        if "number" in self.readings:
            self._add_numbers(present)

    def _add_numbers(self, cells: list[str]) -> None:
        joined = _SEPARATOR.join(cells)
        padded = _PADDED.search(joined) if "integer" in self.readings else None
        if padded:
            self.padded = self.padded or padded[1]
        if _INTEGERS.fullmatch(joined):
            self._add_integers(cells)
            return
        self.readings.discard("integer")
        if "comma" not in self.readings and _REALS.fullmatch(joined):
            return
        for cell in cells:
            self._add_number(cell)
            if "number" not in self.readings:
                return

    def _add_integers(self, cells: list[str]) -> None:
        if max(map(len, cells)) > _LONGEST_INTEGER:
            self.highest = max(self.highest, 10**_LONGEST_INTEGER)
            return
        values = [int(cell) for cell in cells]
        self.lowest, self.highest = min(self.lowest, *values), max(self.highest, *values)

    def _add_number(self, cell: str) -> None:
        if _INTEGER.fullmatch(cell):
            self._add_integers([cell])
            return
        plain_point, plain_comma = _POINT.fullmatch(cell), _COMMA.fullmatch(cell)
        comma_groups, point_groups = _COMMA_GROUPS.fullmatch(cell), _POINT_GROUPS.fullmatch(cell)
        if plain_comma and comma_groups:
            self.two_ways = self.two_ways or cell
        elif (comma_groups or point_groups) and not plain_point:
            self.grouped = self.grouped or cell
        if not (plain_point or comma_groups):
            self._rule_out("point", cell)
        if not (plain_comma or point_groups):
            self._rule_out("comma", cell)
        if not (plain_point or plain_comma or comma_groups or point_groups):
            self.readings.discard("number")

    def _rule_out(self, reading: str, cell: str) -> None:
        self.readings.discard(reading)
        self.unlike.setdefault(reading, cell)

    @property
    def uses_comma(self) -> bool:
        """Whether the numbers of the column have a decimal comma."""
        return "comma" in self.readings and ("point" not in self.readings or self.decimal == ",")

    def kind(self, header: str) -> Kind:
        """Decide what the column is.

        Raises:
            ImportDataError: its numbers can be read in two ways, or mix decimal points and commas.
        """
        if self.missing == self.cells:
            return "float"
        if "boolean" in self.readings and not self.missing:
            return "boolean"
        if "number" not in self.readings or self.padded is not None:
            return "text"
        self._demand_one_reading(header)
        if "integer" in self.readings and not self.missing and self._fits_integer():
            return "integer"
        return "float"

    def _demand_one_reading(self, header: str) -> None:
        possible = self.readings & {"point", "comma"}
        if not possible:
            raise ImportDataError(
                f"the column {header!r} mixes decimal points and decimal commas, as in "
                f"{self.unlike['comma']!r} and {self.unlike['point']!r}; write them alike"
            )
        if len(possible) == 2 and self.two_ways and self.decimal is None:
            grouped, fraction = self.two_ways.replace(",", ""), self.two_ways.replace(",", ".")
            raise ImportDataError(
                f"the column {header!r} can be read in two ways: {self.two_ways!r} is {grouped} or "
                f"{fraction}; state which with --decimal . or --decimal ,"
            )

    def _fits_integer(self) -> bool:
        highest = _UINT64.max if self.lowest >= 0 else _INT64.max
        return self.lowest >= _INT64.min and self.highest <= highest

    def dtype(self, header: str) -> np.dtype[Any]:
        """The dtype of the array that holds the column."""
        kind = self.kind(header)
        if kind == "integer":
            return np.dtype(np.int64 if self.highest <= _INT64.max else np.uint64)
        if kind == "text":
            return np.dtype(f"<U{max(1, self.longest)}")
        return np.dtype(np.bool_ if kind == "boolean" else np.float64)

    def missing_as(self, kind: Kind) -> int:
        """Number of missing values; in text only a blank cell is missing, because `NA` may be a word."""
        return self.blank if kind == "text" else self.missing

    def remarks(self, header: str) -> list[str]:
        """What a user should know about how the column was read."""
        kind, found = self.kind(header), []
        if self.missing == self.cells:
            found.append(f"the column {header!r} holds no values")
        elif kind == "text" and "number" in self.readings:
            found.append(f"the column {header!r} is kept as text because of leading zeros ({self.padded!r})")
        elif kind == "float" and "integer" in self.readings and max(self.highest, -self.lowest) > _EXACT:
            found.append(f"the column {header!r} holds integers that a float64 rounds to 16 digits")
        example = self.two_ways if self.two_ways and not self.uses_comma else self.grouped
        if kind == "float" and example:
            value = convert([example], "float", np.dtype(np.float64), comma=self.uses_comma)[0]
            found.append(f"the column {header!r} groups thousands: {example!r} was read as {value:.15g}")
        return found


def convert(cells: Sequence[str], kind: Kind, dtype: np.dtype[Any], *, comma: bool) -> Array:
    """Turn cells of one column into an array of `dtype`."""
    if kind == "text":
        return np.array([cell if cell.strip() else "" for cell in cells], dtype=dtype)
    stripped = [cell.strip() for cell in cells]
    if kind == "boolean":
        return np.array([_BOOLEANS[cell.lower()] for cell in stripped], dtype=dtype)
    if kind == "integer":
        return np.array([int(cell) for cell in stripped], dtype=dtype)
    if not comma:
        try:
            return np.array(list(map(float, stripped)), dtype=dtype)
        except ValueError:
            pass  # a missing cell or grouped thousands: read cell by cell
    group, point = (".", ",") if comma else (",", ".")
    return np.array([_real(cell, group, point) for cell in stripped], dtype=dtype)


def _real(cell: str, group: str, point: str) -> float:
    if cell.lower() in MISSING:
        return float("nan")
    return float(cell.replace(group, "").replace(point, "."))
