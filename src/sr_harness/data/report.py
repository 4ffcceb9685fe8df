"""What an import did: the columns and their variables, what was missing, and what a user should know."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sr_harness.data.columns import ColumnMapping


@dataclass
class Columns:
    """The columns of a table as arrays, by header, and what happened while they were read."""

    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ImportReport:
    """The result of `import_table`.

    Attributes:
        source: the table.
        destination: the `context.data` directory.
        rows: number of rows, the length of `axis`.
        axis: name of the axis that all variables share.
        columns: header to variable, in the order of the columns.
        dtypes: variable to dtype, as NumPy writes it.
        missing: variable to the number of missing values, where there are any.
        warnings: what a user should know, one sentence each.
        encoding: encoding of a text table, else None.
        delimiter: delimiter of a text table, else None.
    """

    source: Path
    destination: Path
    rows: int
    axis: str
    columns: dict[str, str]
    dtypes: dict[str, str]
    missing: dict[str, int]
    warnings: tuple[str, ...] = ()
    encoding: str | None = None
    delimiter: str | None = None

    @property
    def mapping(self) -> ColumnMapping:
        """The mapping between headers and variables, to be applied again when predicting."""
        return ColumnMapping(self.columns)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON types."""
        return {
            "source": str(self.source),
            "destination": str(self.destination),
            "rows": self.rows,
            "axis": self.axis,
            "columns": dict(self.columns),
            "dtypes": dict(self.dtypes),
            "missing": dict(self.missing),
            "warnings": list(self.warnings),
            "encoding": self.encoding,
            "delimiter": self.delimiter,
        }
