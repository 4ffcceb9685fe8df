"""Inspecting and loading a `context.data` directory.

`inspect_context_data` never raises; `load_context_data` raises one `ContextManifestError` that lists every
fault. Both do the same pass: manifest, NPY headers, and the endpoints of relations in chunks. No other data
are read, so a directory of any size is checked in an instant; nothing outside the directory is ever read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sr_harness.core.lazy import LazyArrays, Source
from sr_harness.core.leaks import lint_descriptions
from sr_harness.core.manifest import AxisEntry, Manifest, VariableEntry, read_manifest
from sr_harness.core.names import ARRAY_SUFFIX, MANIFEST_NAME, spoken
from sr_harness.core.npy import ArrayFault, Header, chunks, map_array, open_below, read_header
from sr_harness.core.strict_json import parse_json
from sr_harness.errors import ContextManifestError

LARGEST_MANIFEST = 64 << 20
_ENDPOINT_LABELS = {2: ("target", "source"), 3: ("target", "source1", "source2")}


@dataclass
class _Store:
    """What one pass over a directory found."""

    manifest: Manifest = field(default_factory=Manifest)
    headers: dict[str, Header] = field(default_factory=dict)
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def inspect_context_data(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Check a `context.data` directory and describe it; never raises.

    Args:
        directory: the directory that holds manifest.json.

    Returns:
        A JSON-able dictionary: `valid`, `path`, `errors` and `warnings` (lists of messages), `num_nodes`,
        `variables` (name to file, description, axes, shape, dtype, kind, structure) and `axes` (name to
        description, source, size). Where there are errors, the last three hold what could be understood.
    """
    store = _scan(directory)
    manifest = store.manifest
    return {
        "valid": not store.errors,
        "path": str(directory),
        "errors": store.errors,
        "warnings": store.warnings,
        "num_nodes": manifest.num_nodes,
        "variables": {name: _describe(entry, store) for name, entry in manifest.variables.items()},
        "axes": {
            name: axis_metadata(entry, _axis_length(entry, store)) for name, entry in manifest.axes.items()
        },
    }


def load_context_data(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Load a `context.data` directory; arrays are read-only and large ones memory-mapped.

    Args:
        directory: the directory that holds manifest.json.

    Returns:
        `data` (name to array, for variables and axes; positions of a `size` axis are made when first asked
        for), `variable_axes` (variable to tuple of axis names), `variable_descriptions`,
        `variable_structures` (variable to relation), `relation_names`, `num_nodes` (None without
        relations), `axis_metadata` (axis to description, source, size). It is what `AgentContext` takes.

    Raises:
        ContextManifestError: the directory is not valid; `errors` lists every fault.
    """
    store = _scan(directory)
    if store.errors:
        raise ContextManifestError(Path(directory), store.errors)
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
        "axis_metadata": {
            name: axis_metadata(entry, _axis_length(entry, store)) for name, entry in axes.items()
        },
    }


def axis_metadata(entry: AxisEntry, size: int | None) -> dict[str, Any]:
    """What `axis_metadata` says of one axis."""
    return {"description": entry.description, "source": entry.source, "size": size}


def _positions(size: int) -> Callable[[], np.ndarray[Any, Any]]:
    def make() -> np.ndarray[Any, Any]:
        positions = np.arange(size, dtype=np.int64)
        positions.flags.writeable = False
        return positions

    return make


def _axis_source(entry: AxisEntry, store: _Store) -> Source:
    if entry.source == "size" and entry.size is not None:
        return _positions(entry.size)
    if entry.values is not None:
        entry.values.flags.writeable = False
        return entry.values
    return store.arrays[entry.name]


def _axis_length(entry: AxisEntry, store: _Store) -> int | None:
    if entry.source == "size":
        return entry.size
    if entry.source == "values":
        return None if entry.values is None else len(entry.values)
    header = store.headers.get(entry.name)
    return header.shape[0] if header is not None and len(header.shape) == 1 else None


def _describe(entry: VariableEntry, store: _Store) -> dict[str, Any]:
    header = store.headers.get(entry.name)
    return {
        "file": entry.file,
        "description": entry.description,
        "axes": None if entry.axes is None else list(entry.axes),
        "shape": None if header is None else list(header.shape),
        "dtype": None if header is None else header.dtype.str,
        "kind": "relation" if entry.is_relation else None,
        "structure": entry.structure,
    }


@contextmanager
def open_directory(directory: str | os.PathLike[str]) -> Iterator[int]:
    """Yield a descriptor of the directory; a ContextManifestError says why there is none."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ContextManifestError(directory, [f"{directory}: there is no such directory"]) from error
    except NotADirectoryError as error:
        raise ContextManifestError(directory, [f"{directory}: is not a directory"]) from error
    except OSError as error:
        raise ContextManifestError(directory, [f"{directory}: cannot be opened: {error.strerror}"]) from error
    except (TypeError, ValueError) as error:
        raise ContextManifestError(str(directory), [f"{directory!r} is not a path: {error}"]) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_manifest_bytes(directory: int) -> bytes:
    """Return the bytes of manifest.json of an open directory.

    Raises:
        ArrayFault: it cannot be read.
    """
    with open_below(directory, MANIFEST_NAME) as file:
        try:
            raw = file.read(LARGEST_MANIFEST + 1)
        except OSError as error:
            raise ArrayFault(f"cannot be read: {error.strerror}") from error
    if len(raw) > LARGEST_MANIFEST:
        raise ArrayFault(f"is larger than {LARGEST_MANIFEST >> 20} MiB; store long axes as NPY files")
    return raw


def _scan(directory: str | os.PathLike[str]) -> _Store:
    store = _Store()
    try:
        with open_directory(directory) as descriptor:
            _scan_open(descriptor, store)
    except ContextManifestError as error:
        store.errors += error.errors
    return store


def _scan_open(directory: int, store: _Store) -> None:
    try:
        parsed = parse_json(read_manifest_bytes(directory))
    except ArrayFault as fault:
        store.errors.append(f"{MANIFEST_NAME}: {fault}")
        return
    store.errors += [f"{MANIFEST_NAME}: {fault}" for fault in parsed.faults]
    if parsed.value is None and parsed.faults:
        return
    store.manifest = read_manifest(parsed.value, store.errors)
    for axis in store.manifest.axes.values():
        if axis.file is not None:
            _open_array(directory, axis.file, axis.name, store)
            _check_axis_array(axis, store)
    for variable in store.manifest.variables.values():
        if variable.file is not None:
            _open_array(directory, variable.file, variable.name, store, relation=variable.is_relation)
            _check_shape(variable, store)
    for variable in store.manifest.variables.values():
        _check_structure(variable, store)
    _advise(directory, store)


def _open_array(directory: int, file_name: str, name: str, store: _Store, *, relation: bool = False) -> None:
    try:
        with open_below(directory, file_name) as file:
            header = store.headers[name] = read_header(file)
            store.arrays[name] = map_array(file, header)
            num_nodes = store.manifest.num_nodes
            if relation and _relation_shape(name, header, store) and num_nodes is not None:
                _check_endpoints(name, file, header, num_nodes, store.errors)
    except ArrayFault as fault:
        store.errors.append(f"{spoken(file_name)}: {fault}")


def _check_axis_array(axis: AxisEntry, store: _Store) -> None:
    header = store.headers.get(axis.name)
    if header is not None and len(header.shape) != 1:
        store.errors.append(
            f"axes.{spoken(axis.name)}: {spoken(axis.file or '')} has shape {header.shape}; an axis is one-dimensional"
        )


def _check_shape(variable: VariableEntry, store: _Store) -> None:
    header = store.headers.get(variable.name)
    if header is None or variable.axes is None:
        return
    where = f"variables.{spoken(variable.name)}"
    if len(header.shape) != len(variable.axes):
        store.errors.append(
            f"{where}: the array has {len(header.shape)} dimensions {header.shape}, "
            f"but axes names {len(variable.axes)}: {list(variable.axes)}"
        )
        return
    for position, (length, name) in enumerate(zip(header.shape, variable.axes, strict=True)):
        axis = store.manifest.axes.get(name)
        expected = None if axis is None else _axis_length(axis, store)
        if expected is not None and expected != length:
            store.errors.append(
                f"{where}: dimension {position} has length {length}, but the axis {name!r} has length {expected}"
            )


def _relation_shape(name: str, header: Header, store: _Store) -> bool:
    sound = True
    if len(header.shape) != 2 or header.shape[1] not in _ENDPOINT_LABELS:
        store.errors.append(
            f"variables.{spoken(name)}: a relation has shape (E, 2) or (H, 3), not {header.shape}"
        )
        sound = False
    if header.dtype.kind not in "iu":
        store.errors.append(
            f"variables.{spoken(name)}: a relation has an integer dtype, not {header.dtype.name}"
        )
        sound = False
    return sound


def _check_endpoints(name: str, file: BinaryIO, header: Header, num_nodes: int, errors: list[str]) -> None:
    outside, first = 0, ""
    for start, piece in chunks(file, header):
        wrong = _outside(piece, num_nodes)
        if wrong.size and not outside:
            order: Any = "F" if header.fortran_order else "C"
            row, column = np.unravel_index(start + int(wrong[0]), header.shape, order=order)
            first = f"{int(piece[wrong[0]])} in row {row}, column {column}"
        outside += wrong.size
    if outside:
        more = "" if outside == 1 else f" and {outside - 1} more"
        errors.append(
            f"variables.{spoken(name)}: endpoints must lie in [0, num_nodes) = [0, {num_nodes}); "
            f"found {first}{more}"
        )


def _outside(piece: np.ndarray[Any, Any], limit: int) -> np.ndarray[Any, Any]:
    """Positions of the integers outside [0, limit)."""
    wrong = piece < 0
    if limit <= np.iinfo(piece.dtype).max:
        wrong |= piece >= limit
    return np.flatnonzero(wrong)


def _check_structure(variable: VariableEntry, store: _Store) -> None:
    relation, header = store.headers.get(variable.structure or ""), store.headers.get(variable.name)
    if relation is None or header is None or variable.is_relation or not relation.shape:
        return
    last = header.shape[-1] if header.shape else None
    if last != relation.shape[0]:
        found = "it is a scalar" if last is None else f"its last dimension has length {last}"
        store.errors.append(
            f"variables.{spoken(variable.name)}.structure: the relation {variable.structure!r} has {relation.shape[0]} "
            f"entries, but {found}"
        )


def _advise(directory: int, store: _Store) -> None:
    """Warnings: what the specification recommends but does not demand."""
    manifest = store.manifest
    known = {entry.file for entry in (*manifest.variables.values(), *manifest.axes.values())}
    known |= {name + ARRAY_SUFFIX for name in (*manifest.variables, *manifest.axes)}
    try:
        present = sorted(os.listdir(directory))
    except OSError as error:
        store.warnings.append(f"the directory cannot be listed: {error.strerror}")
        present = []
    store.warnings += [
        f"{spoken(name)}: is not named in the manifest; register or remove it"
        for name in present
        if name.endswith(ARRAY_SUFFIX) and name not in known
    ]
    _advise_relations(store)
    texts = {
        name: entry.description
        for name, entry in (*manifest.variables.items(), *manifest.axes.items())
        if entry.description is not None
    }
    store.warnings += lint_descriptions(texts)


def _advise_relations(store: _Store) -> None:
    manifest = store.manifest
    for name in manifest.relations:
        entry, header = manifest.variables[name], store.headers.get(name)
        if not entry.axes or header is None or len(entry.axes) != 2 or len(header.shape) != 2:
            continue
        edges, endpoint = entry.axes
        labels = manifest.axes[endpoint].values if endpoint in manifest.axes else None
        expected = _ENDPOINT_LABELS.get(header.shape[1])
        if (
            expected
            and labels is not None
            and labels.dtype.kind == "U"
            and tuple(labels.tolist()) != expected
        ):
            store.warnings.append(
                f"axes.{spoken(endpoint)}: columns of a relation mean {expected}, whatever the labels say; "
                f"they read {tuple(labels.tolist())}"
            )
        store.warnings += [
            f"variables.{spoken(other)}: lies on the axis {edges!r} of the relation {name!r}; "
            f"set structure: {name!r} if its entries belong to the relation's"
            for other, variable in manifest.variables.items()
            if not variable.is_relation
            and variable.structure is None
            and (variable.axes or ())[-1:] == (edges,)
        ]
