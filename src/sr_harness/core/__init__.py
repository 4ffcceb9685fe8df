"""`context.data`: the format in which structured data reach every part of the system.

`inspect_context_data` reports faults and never raises; `load_context_data` returns arrays and metadata, or
raises one `ContextManifestError` that lists every fault; `AgentContext.from_loaded` is what tools work on;
`write_context_data` and `update_context_data_descriptions` write, all or nothing.
"""

from __future__ import annotations

from sr_harness.core.context import AgentContext
from sr_harness.core.reader import inspect_context_data, load_context_data
from sr_harness.core.writer import Axis, Variable, update_context_data_descriptions, write_context_data
from sr_harness.errors import ContextManifestError, ContextWriteError

__all__ = [
    "AgentContext",
    "Axis",
    "ContextManifestError",
    "ContextWriteError",
    "Variable",
    "inspect_context_data",
    "load_context_data",
    "update_context_data_descriptions",
    "write_context_data",
]
