"""`context.data`: the format in which structured data reach every part of the system.

report = inspect_context_data("context.data")      # never raises; errors and warnings
loaded = load_context_data("context.data")         # arrays and metadata, or ContextManifestError
context = AgentContext.from_loaded(loaded)
"""

from __future__ import annotations

from sr_harness.core.context import AgentContext
from sr_harness.core.reader import inspect_context_data, load_context_data
from sr_harness.errors import ContextManifestError

__all__ = [
    "AgentContext",
    "ContextManifestError",
    "inspect_context_data",
    "load_context_data",
]
