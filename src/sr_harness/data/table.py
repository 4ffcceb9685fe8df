"""Importing one table, CSV or Parquet, as a `context.data` directory.

Promises: names are mapped as `sr_harness.data.columns` states; nothing is dropped, filled or renamed without
a word in the report; a table with any fault is refused whole and leaves the destination as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sr_harness.core import Axis, Variable, write_context_data
from sr_harness.data.cells import Profile, convert
from sr_harness.data.columns import ColumnMapping, column_mapping
from sr_harness.data.delimited import Delimited, open_delimited
from sr_harness.data.report import Columns, ImportReport
from sr_harness.errors import ImportDataError

_PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
_WIDEST_TEXT = 1 << 31  # bytes; fixed-width text pads every cell to the longest one


def import_table(
    source: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    *,
    axis: str = "row",
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    overwrite: bool = False,
) -> ImportReport:
    """Import a CSV, TSV or Parquet table as a `context.data` directory.

    Every column becomes a variable along one axis. Integers stay integers (with missing values they become
    floats with NaN), `true`/`false` become booleans, everything that is not a number, dates too, stays text.

    Args:
        source: the table; `.parquet` and `.pq` are Parquet, all else is delimited text.
        dest: the directory to write.
        axis: name of the shared axis; it gets `_` behind it while a column has the same name.
        decimal: `.` or `,` where numbers can be read in two ways; found out for each column otherwise.
        delimiter: the sign between cells; found out otherwise.
        encoding: encoding of a text table; UTF-8 otherwise.
        overwrite: replace a `context.data` directory at `dest`.

    Returns:
        What was done; `report.mapping` applies the same names when predicting.

    Raises:
        ImportDataError: the table cannot be imported; the message says where, why and what to do.
        ContextWriteError: the directory cannot be written.
    """
    path = Path(source)
    if decimal not in {None, ".", ","}:
        raise ImportDataError(f"the decimal sign {decimal!r} is neither '.' nor ','")
    _demand_file(path)
    table: Delimited | None = None
    try:
        if path.suffix.lower() in _PARQUET_SUFFIXES:
            from sr_harness.data.parquet import read_parquet

            columns = read_parquet(path)
            mapping = column_mapping(columns.arrays)
        else:
            table = open_delimited(path, encoding=encoding, delimiter=delimiter)
            mapping = column_mapping(table.headers)
            columns = _read_columns(table, decimal)
    except OSError as error:
        raise ImportDataError(f"{path} cannot be read: {error.strerror or error}") from error
    rows = len(next(iter(columns.arrays.values())))
    axis = _free_axis(axis, mapping)
    variables = {
        mapping.columns[header]: Variable(array, mapping.describe(header, path.name), [axis])
        for header, array in columns.arrays.items()
    }
    positions = Axis(f"Zero-based position of the row in {path.name}.", size=rows)
    destination = write_context_data(dest, variables=variables, axes={axis: positions}, overwrite=overwrite)
    return ImportReport(
        source=path,
        destination=destination,
        rows=rows,
        axis=axis,
        columns=dict(mapping.columns),
        dtypes={mapping.columns[header]: array.dtype.str for header, array in columns.arrays.items()},
        missing={mapping.columns[header]: count for header, count in columns.missing.items() if count},
        warnings=tuple(columns.warnings),
        encoding=table.encoding if table else None,
        delimiter=table.delimiter if table else None,
    )


def _demand_file(path: Path) -> None:
    if not path.exists():
        raise ImportDataError(f"{path} does not exist; give the path of a CSV, TSV or Parquet file")
    if not path.is_file():
        raise ImportDataError(f"{path} is not a file; give the path of a CSV, TSV or Parquet file")
    if path.stat().st_size == 0:
        raise ImportDataError(f"{path} is empty; a table has a line of column names and rows below it")


def _read_columns(table: Delimited, decimal: str | None) -> Columns:
    """Read a text table: once to see what the columns are, once to fill the arrays."""
    profiles = {header: Profile(decimal) for header in table.headers}
    rows = 0
    for batch in table.batches():
        rows += len(batch)
        for profile, cells in zip(profiles.values(), zip(*batch, strict=True), strict=True):
            profile.add(cells)
    if not rows:
        raise ImportDataError(f"{table.path} has column names but no rows; there is nothing to import")
    columns = Columns()
    for header, profile in profiles.items():
        dtype = profile.dtype(header)
        if rows * dtype.itemsize > _WIDEST_TEXT and dtype.kind == "U":
            raise ImportDataError(
                f"the text column {header!r} would need {rows * dtype.itemsize >> 30} GiB because one cell "
                f"has {profile.longest} characters; shorten or remove it"
            )
        columns.arrays[header] = np.empty(rows, dtype)
        columns.missing[header] = profile.missing_as(profile.kind(header))
        columns.warnings += profile.remarks(header)
    _fill(table, profiles, columns)
    return columns


def _fill(table: Delimited, profiles: Mapping[str, Profile], columns: Columns) -> None:
    start = 0
    for batch in table.batches():
        for (header, profile), cells in zip(profiles.items(), zip(*batch, strict=True), strict=True):
            array = columns.arrays[header]
            piece = convert(cells, profile.kind(header), array.dtype, comma=profile.uses_comma)
            array[start : start + len(batch)] = piece
        start += len(batch)
    for header, array in columns.arrays.items():
        infinite = int(np.isinf(array).sum()) if array.dtype.kind == "f" else 0
        if infinite:
            columns.warnings.append(f"the column {header!r} holds {infinite} infinite values")


def _free_axis(axis: str, mapping: ColumnMapping) -> str:
    while axis in mapping.variables:
        axis += "_"
    return axis
