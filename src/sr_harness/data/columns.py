"""Column names of tables and variable names of `context.data`: one stated, reversible mapping.

Promises: the variable of a header depends on this header alone, so fitting and predicting always agree; a
header that is an identifier keeps its name, letter for letter; two headers never share a variable, they are
refused with both names shown; and the header is kept in the description of its variable, from which
`ColumnMapping.from_descriptions` reads the mapping back.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sr_harness.core.names import name_fault
from sr_harness.errors import ImportDataError

_UNIT = re.compile(r"(?:\((?P<round>[^()]+)\)|\[(?P<square>[^\[\]]+)\])\s*$")
_DESCRIBED = re.compile(r'Column ("(?:[^"\\]|\\.)*")')
_LONGEST_HEADER = 120


def variable_name(header: str) -> str:
    """Return the variable that stands for a column.

    Blanks around the header are dropped and the text is composed (Unicode NFC). An identifier of any script
    is then kept as it is. In anything else raised and lowered digits become plain ones, each run of other
    characters becomes `_`, `_` at the ends is dropped, and a leading digit gets `c_` in front: `temp (°C)`
    becomes `temp_C`, `CO₂/ppm` becomes `CO2_ppm`, `2018` becomes `c_2018`. A header of signs only is spelled
    by code points: `%` becomes `u0025`.
    """
    text = unicodedata.normalize("NFC", header.strip())
    if text.isidentifier():
        return text
    words = "".join(_kept(char) for char in text).split()
    name = "_".join(words).strip("_")
    if not name:
        return "_".join(f"u{ord(char):04x}" for char in text if not char.isspace())
    return name if name.isidentifier() else f"c_{name}"


def _kept(char: str) -> str:
    """The character where a name can hold it, its plain form for `²` and `₂`, a blank elsewhere."""
    for form in (char, unicodedata.normalize("NFKC", char)):
        if f"a{form}".isidentifier():
            return form
    return " "


def header_unit(header: str) -> str | None:
    """Return the unit at the end of a header, in round or square brackets: `°C` for `temp (°C)`."""
    found = _UNIT.search(header)
    if found is None:
        return None
    return (found["round"] or found["square"]).strip() or None


@dataclass(frozen=True)
class ColumnMapping:
    """The mapping between the headers of a table and variables, in the order of the columns."""

    columns: Mapping[str, str]

    @classmethod
    def from_descriptions(cls, descriptions: Mapping[str, str]) -> ColumnMapping:
        """Read the mapping back from the descriptions of an imported `context.data`.

        Variables whose description no longer states a column stand for a column of their own name.
        """
        columns = {}
        for variable, text in descriptions.items():
            found = _DESCRIBED.match(text)
            columns[json.loads(found[1]) if found else variable] = variable
        return cls(columns)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of the columns."""
        return tuple(self.columns.values())

    def to_variable(self, header: str) -> str:
        """Return the variable of a header; blanks around it do not matter.

        Raises:
            ImportDataError: there is no such column.
        """
        if header in self.columns:
            return self.columns[header]
        name = variable_name(header)
        if name in self.variables:
            return name
        raise ImportDataError(f"there is no column {header!r}{_hint(header, self.columns)}")

    def to_column(self, variable: str) -> str:
        """Return the header that `variable` stands for, exactly as it was.

        Raises:
            ImportDataError: there is no such variable.
        """
        for header, name in self.columns.items():
            if name == variable:
                return header
        raise ImportDataError(f"there is no variable {variable!r}{_hint(variable, self.variables)}")

    def apply(self, table: Any) -> Any:  # noqa: ANN401 - any kind of data frame
        """Rename the columns of a table as they were renamed at import, and keep only those.

        Args:
            table: a mapping from column to values, or a data frame (anything with `columns` and `rename`).
                Columns may be called by their header or by their variable.

        Returns:
            The same kind of table, its columns called by variable, in the order of the import.

        Raises:
            ImportDataError: a column is missing, or two columns stand for one variable.
        """
        chosen = self._choose(list(table.columns) if hasattr(table, "columns") else list(table))
        if isinstance(table, Mapping):
            return {variable: table[column] for variable, column in chosen.items()}
        renamed = table[list(chosen.values())]
        return renamed.rename(columns={column: variable for variable, column in chosen.items()})

    def _choose(self, present: Sequence[object]) -> dict[str, str]:
        """Variable to the column of `present` that holds it."""
        found: dict[str, str] = {}
        for column in present:
            if not isinstance(column, str):
                continue
            variable = self.columns.get(column, variable_name(column) if column.strip() else "")
            if variable not in self.variables:
                continue
            if variable in found:
                raise ImportDataError(
                    f"the columns {found[variable]!r} and {column!r} both stand for the variable "
                    f"{variable!r}; keep one of them"
                )
            found[variable] = column
        missing = [header for header, variable in self.columns.items() if variable not in found]
        if missing:
            hint = _hint(missing[0], [column for column in present if isinstance(column, str)])
            raise ImportDataError(f"the table lacks the column{_plural(missing)} {_listed(missing)}{hint}")
        return {variable: found[variable] for variable in self.variables}

    def describe(self, header: str, source: str) -> str:
        """The description of an imported variable: its header as it was, its source, its unit."""
        unit = header_unit(header)
        stated = f"Column {json.dumps(header, ensure_ascii=False)} of {source}."
        return f"{stated} Unit: {unit}." if unit else stated


def column_mapping(headers: Iterable[object]) -> ColumnMapping:
    """Map the headers of a table to variables.

    Args:
        headers: the column names, in order.

    Returns:
        The mapping.

    Raises:
        ImportDataError: headers are empty, repeated, collide after mapping, or cannot be supported; the
            message lists all of them with their positions (the first column is 1).
    """
    faults: list[str] = []
    columns: dict[str, str] = {}
    holder: dict[str, tuple[int, str]] = {}
    for position, header in enumerate(headers, start=1):
        fault = _header_fault(header)
        if fault or not isinstance(header, str):
            faults.append(f"column {position}: {fault}")
            continue
        name = variable_name(header)
        looks = unicodedata.normalize("NFKC", name)
        if looks in holder:
            faults.append(_collision(holder[looks], (position, header), name))
            continue
        holder[looks] = (position, header)
        columns[header] = name
    if faults:
        raise ImportDataError("\n".join(["the column names cannot be used:", *(f"  - {f}" for f in faults)]))
    return ColumnMapping(columns)


def _header_fault(header: object) -> str | None:
    if not isinstance(header, str):
        return f"the header {header!r} is not text; name the column"
    if not header.strip():
        return "the header is empty; name the column (a delimiter at the end of each line makes an empty one)"
    if len(header) > _LONGEST_HEADER:
        return f"the header {header[:40]!r}… has {len(header)} characters; the limit is {_LONGEST_HEADER}"
    name = variable_name(header)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return f"the name {header!r} is reserved (two underscores on both sides); rename the column"
    fault = name_fault(name)
    return f"the header {header!r} cannot be a variable: {fault}" if fault else None


def _collision(first: tuple[int, str], second: tuple[int, str], name: str) -> str:
    if first[1] == second[1]:
        return f"columns {first[0]} and {second[0]} have the same header {first[1]!r}; rename one of them"
    return (
        f"columns {first[0]} and {second[0]}: the headers {first[1]!r} and {second[1]!r} would both become "
        f"the variable {name!r}; rename one of them"
    )


def _hint(name: str, candidates: Iterable[str]) -> str:
    close = get_close_matches(name, list(candidates), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _plural(names: Sequence[str]) -> str:
    return "" if len(names) == 1 else "s"
