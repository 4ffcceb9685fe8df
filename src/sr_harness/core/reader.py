"""Inspecting and loading a `context.data` directory.

`inspect_context_data` never raises; `load_context_data` raises one `ContextManifestError` that lists every
fault. Both make the same pass (`sr_harness.core.scan`), so they never disagree.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from sr_harness.core.lazy import Array, LazyArrays, Source
from sr_harness.core.manifest import RELATION, AxisEntry, VariableEntry
from sr_harness.core.scan import Store, scan
from sr_harness.errors import ContextManifestError


def inspect_context_data(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Check a `context.data` directory and describe it; never raises.

    Args:
        directory: the directory that holds manifest.json.

    Returns:
        A JSON-able dictionary: `valid`, `path`, `errors` and `warnings` (lists of messages), `num_nodes`,
        `variables` (name to file, description, axes, shape, dtype, kind, structure) and `axes` (name to
        description, source, size). Where there are errors, the last three hold what could be understood.
    """
    store = scan(directory)
    manifest = store.manifest
    return {
        "valid": not store.errors,
        "path": str(directory),
        "errors": store.errors,
        "warnings": store.warnings,
        "num_nodes": manifest.num_nodes,
        "variables": {name: _describe(entry, store) for name, entry in manifest.variables.items()},
        "axes": _axis_metadata(store),
    }


def load_context_data(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Load a `context.data` directory; arrays are read-only and large ones memory-mapped.

    Args:
        directory: the directory that holds manifest.json.

    Returns:
        `data` (name to array, for variables and axes; the positions of a `size` axis are made when first
        asked for), `variable_axes` (variable to tuple of axis names), `variable_descriptions`,
        `variable_structures` (variable to relation), `relation_names`, `num_nodes` (None without
        relations), `axis_metadata` (axis to description, source, size). It is what `AgentContext` takes.

    Raises:
        ContextManifestError: the directory is not valid; `errors` lists every fault.
    """
    store = scan(directory)
    if store.errors:
        raise ContextManifestError(str(directory), store.errors)
    variables, axes = store.manifest.variables, store.manifest.axes
    sources: dict[str, Source] = {name: store.arrays[name] for name in variables}
    sources |= {name: _axis_source(entry, store) for name, entry in axes.items()}
    return {
        "data": LazyArrays(sources),
        "variable_axes": {name: entry.axes for name, entry in variables.items()},
        "variable_descriptions": {name: entry.description for name, entry in variables.items()},
        "variable_structures": {
            name: entry.structure for name, entry in variables.items() if entry.structure is not None
        },
        "relation_names": store.manifest.relations,
        "num_nodes": store.manifest.num_nodes,
        "axis_metadata": _axis_metadata(store),
    }


def _describe(entry: VariableEntry, store: Store) -> dict[str, Any]:
    header = store.headers.get(entry.name)
    return {
        "file": entry.file,
        "description": entry.description,
        "axes": None if entry.axes is None else list(entry.axes),
        "shape": None if header is None else list(header.shape),
        "dtype": None if header is None else header.dtype.str,
        "kind": RELATION if entry.is_relation else None,
        "structure": entry.structure,
    }


def _axis_metadata(store: Store) -> dict[str, dict[str, Any]]:
    return {
        name: {"description": entry.description, "source": entry.source, "size": store.axis_length(entry)}
        for name, entry in store.manifest.axes.items()
    }


def _axis_source(entry: AxisEntry, store: Store) -> Source:
    if entry.source == "size" and entry.size is not None:
        return _positions(entry.size)
    if entry.values is not None:
        entry.values.flags.writeable = False
        return entry.values
    return store.arrays[entry.name]


def _positions(size: int) -> Callable[[], Array]:
    def make() -> Array:
        positions = np.arange(size, dtype=np.int64)
        positions.flags.writeable = False
        return positions

    return make
