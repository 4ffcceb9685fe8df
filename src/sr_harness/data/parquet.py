"""Parquet tables as columns of arrays, read with pyarrow one column at a time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sr_harness.data.columns import column_mapping
from sr_harness.data.report import Columns
from sr_harness.errors import ImportDataError

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_EXACT = 1 << 53


def read_parquet(path: Path) -> Columns:
    """Read a Parquet file.

    Raises:
        ImportDataError: pyarrow is missing, the file is no Parquet, has no rows, names that cannot be used,
            or columns of nested types.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportDataError(
            "reading Parquet needs pyarrow; install it with: pip install 'ari-research[data]'"
        ) from error
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ImportDataError(f"{path} cannot be read as Parquet: {error}") from error
    with file:
        schema = file.schema_arrow
        kept = [position for position, name in enumerate(schema.names) if not _PANDAS_INDEX.fullmatch(name)]
        headers = column_mapping(schema.names[position] for position in kept).columns
        if not kept or file.metadata.num_rows == 0:
            raise ImportDataError(
                f"{path} has no {'rows' if kept else 'columns'}; there is nothing to import"
            )
        columns = Columns()
        if len(kept) < len(schema.names):
            columns.warnings.append("the row index that pandas stored in the file was left out")
        for header in headers:
            _add(header, file.read(columns=[header]).column(0), columns)
    return columns


def _add(header: str, column: pa.ChunkedArray, columns: Columns) -> None:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    missing = column.null_count
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise ImportDataError(f"the column {header!r} holds {kind}; store plain numbers or text instead")
    if pa.types.is_decimal(kind):
        columns.warnings.append(f"the column {header!r} of type {kind} was rounded to float64")
        column = column.cast(pa.float64())
        kind = column.type
    if pa.types.is_floating(kind):
        array = _floats(column)
        missing = int(np.isnan(array).sum())
        infinite = int(np.isinf(array).sum())
        if infinite:
            columns.warnings.append(f"the column {header!r} holds {infinite} infinite values")
    elif pa.types.is_integer(kind):
        array = _integers(header, column, columns)
    elif pa.types.is_boolean(kind) and not missing:
        array = np.array(column.to_pylist(), dtype=np.bool_)
    else:
        array = _words(column)
        missing = int((array == "").sum())
    columns.arrays[header] = array
    columns.missing[header] = missing


def _floats(column: pa.ChunkedArray) -> Array:
    array: Array = column.to_numpy()
    return array


def _integers(header: str, column: pa.ChunkedArray, columns: Columns) -> Array:
    if not column.null_count:
        array: Array = column.to_numpy()
        return array
    values = [value for value in column.to_pylist() if value is not None]
    if any(abs(value) > _EXACT for value in values):
        columns.warnings.append(f"the column {header!r} holds integers that a float64 rounds to 16 digits")
    return np.array([np.nan if v is None else float(v) for v in column.to_pylist()], dtype=np.float64)


def _words(column: pa.ChunkedArray) -> Array:
    """Text of a column: strings as they are, dates in ISO 8601, booleans as true and false."""
    return np.array([_word(value) for value in column.to_pylist()], dtype=np.str_)


def _word(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat()) if callable(isoformat) else str(value)
