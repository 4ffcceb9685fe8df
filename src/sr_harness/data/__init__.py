"""Tables in and out of `context.data`.

`import_table` turns a CSV, TSV or Parquet file into a directory and reports how columns became variables;
`column_mapping` is that mapping alone, to be applied again to tables that come later.
"""

from __future__ import annotations

from sr_harness.data.columns import ColumnMapping, column_mapping, variable_name
from sr_harness.data.report import ImportReport
from sr_harness.data.table import import_table

__all__ = ["ColumnMapping", "ImportReport", "column_mapping", "import_table", "variable_name"]
