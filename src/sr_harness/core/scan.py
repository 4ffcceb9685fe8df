"""One pass over a `context.data` directory: manifest, NPY headers, endpoints of relations.

Promise: `scan` never raises for anything that may lie in the directory or at its path; everything it finds
is a message. It reads headers, and of the data only relations, in chunks; nothing outside the directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from sr_harness.core.leaks import lint_descriptions
from sr_harness.core.manifest import AxisEntry, Manifest, VariableEntry, read_manifest
from sr_harness.core.names import ARRAY_SUFFIX, MANIFEST_NAME, spoken
from sr_harness.core.npy import ArrayFault, Header, chunks, map_array, open_below, read_header
from sr_harness.core.strict_json import parse_json
from sr_harness.errors import ContextManifestError

LARGEST_MANIFEST = 64 << 20
_ENDPOINT_LABELS = {2: ("target", "source"), 3: ("target", "source1", "source2")}


@dataclass
class Store:
    """What one pass over a directory found."""

    manifest: Manifest = field(default_factory=Manifest)
    headers: dict[str, Header] = field(default_factory=dict)
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def axis_length(self, entry: AxisEntry) -> int | None:
        """Number of positions of an axis; None where a fault hides it."""
        if entry.source == "size":
            return entry.size
        if entry.source == "values":
            return None if entry.values is None else len(entry.values)
        header = self.headers.get(entry.name)
        return header.shape[0] if header is not None and len(header.shape) == 1 else None


def scan(directory: str | os.PathLike[str]) -> Store:
    """Check the directory and open its arrays; faults and advice are in the result."""
    store = Store()
    try:
        with open_directory(directory) as descriptor:
            _scan_open(descriptor, store)
    except ContextManifestError as error:
        store.errors += error.errors
    return store


@contextmanager
def open_directory(directory: str | os.PathLike[str]) -> Iterator[int]:
    """Yield a descriptor of the directory.

    Raises:
        ContextManifestError: there is no directory to open.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, TypeError, ValueError) as error:
        raise ContextManifestError(str(directory), [_why_not_opened(directory, error)]) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _why_not_opened(directory: str | os.PathLike[str], error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{directory}: there is no such directory"
    if isinstance(error, NotADirectoryError):
        return f"{directory}: is not a directory"
    if isinstance(error, OSError):
        return f"{directory}: cannot be opened: {error.strerror}"
    return f"{directory!r} is not the path of a directory: {error}"


def read_manifest_bytes(directory: int) -> bytes:
    """Return the bytes of manifest.json in an open directory.

    Raises:
        ArrayFault: it cannot be read; the message completes "manifest.json …".
    """
    with open_below(directory, MANIFEST_NAME) as file:
        try:
            raw = file.read(LARGEST_MANIFEST + 1)
        except OSError as error:
            raise ArrayFault(f"cannot be read: {error.strerror}") from error
    if len(raw) > LARGEST_MANIFEST:
        raise ArrayFault(f"is larger than {LARGEST_MANIFEST >> 20} MiB; store long axes as NPY files")
    return raw


def _scan_open(directory: int, store: Store) -> None:
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
        _open_array(directory, axis.file, axis.name, store)
    for variable in store.manifest.variables.values():
        _open_array(directory, variable.file, variable.name, store)
    for relation in check_headers(store):
        _check_endpoints(directory, relation, store)
    _advise(directory, store)


def _open_array(directory: int, file_name: str | None, name: str, store: Store) -> None:
    if file_name is None:
        return
    try:
        with open_below(directory, file_name) as file:
            store.headers[name] = header = read_header(file)
            store.arrays[name] = map_array(file, header)
    except ArrayFault as fault:
        store.errors.append(f"{spoken(file_name)}: {fault}")


def check_headers(store: Store) -> list[str]:
    """Check the headers in `store` against its manifest; return the relations that can be read further."""
    sound: list[str] = []
    for axis in store.manifest.axes.values():
        _check_axis_array(axis, store)
    for variable in store.manifest.variables.values():
        _check_shape(variable, store)
        header = store.headers.get(variable.name)
        if (
            variable.is_relation
            and header is not None
            and _is_relation_array(variable.name, header, store.errors)
        ):
            sound.append(variable.name)
    for variable in store.manifest.variables.values():
        _check_structure(variable, store)
    return sound


def _check_axis_array(axis: AxisEntry, store: Store) -> None:
    header = store.headers.get(axis.name)
    if header is not None and len(header.shape) != 1:
        where = f"axes.{spoken(axis.name)}.file"
        store.errors.append(f"{where}: the array has shape {header.shape}; an axis is one-dimensional")


def _check_shape(variable: VariableEntry, store: Store) -> None:
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
        expected = None if axis is None else store.axis_length(axis)
        if expected is not None and expected != length:
            store.errors.append(
                f"{where}: dimension {position} has length {length}, but the axis {name!r} has {expected}"
            )


def _is_relation_array(name: str, header: Header, errors: list[str]) -> bool:
    where, before = f"variables.{spoken(name)}", len(errors)
    if len(header.shape) != 2 or header.shape[1] not in _ENDPOINT_LABELS:
        errors.append(f"{where}: a relation has shape (E, 2) or (H, 3), not {header.shape}")
    if header.dtype.kind not in "iu":
        errors.append(f"{where}: a relation has an integer dtype, not {header.dtype.name}")
    return len(errors) == before


def _check_endpoints(directory: int, name: str, store: Store) -> None:
    header, num_nodes = store.headers[name], store.manifest.num_nodes
    if num_nodes is None:
        return
    try:
        with open_below(directory, name + ARRAY_SUFFIX) as file:
            found = _endpoint_fault(file, header, num_nodes)
    except ArrayFault as fault:
        store.errors.append(f"{spoken(name)}{ARRAY_SUFFIX}: {fault}")
        return
    if found:
        store.errors.append(
            f"variables.{spoken(name)}: endpoints lie in [0, num_nodes) = [0, {num_nodes}); found {found}"
        )


def _endpoint_fault(file: BinaryIO, header: Header, num_nodes: int) -> str | None:
    outside, first = 0, ""
    for start, piece in chunks(file, header):
        wrong = _outside(piece, num_nodes)
        if wrong.size and not outside:
            order: Any = "F" if header.fortran_order else "C"
            row, column = np.unravel_index(start + int(wrong[0]), header.shape, order=order)
            first = f"{int(piece[wrong[0]])} in row {row}, column {column}"
        outside += wrong.size
    if not outside:
        return None
    return first if outside == 1 else f"{first} and {outside - 1} more"


def _outside(piece: np.ndarray[Any, Any], limit: int) -> np.ndarray[Any, Any]:
    """Positions of the integers outside [0, limit)."""
    wrong = piece < 0
    if limit <= np.iinfo(piece.dtype).max:
        wrong |= piece >= limit
    return np.flatnonzero(wrong)


def _check_structure(variable: VariableEntry, store: Store) -> None:
    relation, header = store.headers.get(variable.structure or ""), store.headers.get(variable.name)
    if relation is None or header is None or variable.is_relation or not relation.shape:
        return
    if header.shape[-1:] != relation.shape[:1]:
        found = f"its last dimension has {header.shape[-1]}" if header.shape else "it is a scalar"
        store.errors.append(
            f"variables.{spoken(variable.name)}.structure: the relation {variable.structure!r} has "
            f"{relation.shape[0]} entries, but {found}"
        )


def _advise(directory: int, store: Store) -> None:
    """Warnings: what the specification recommends but does not demand."""
    names = (*store.manifest.variables, *store.manifest.axes)
    known = {name + ARRAY_SUFFIX for name in names}
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
    for relation in store.manifest.relations:
        _advise_relation(relation, store)
    store.warnings += lint_descriptions(_descriptions(store.manifest))


def _descriptions(manifest: Manifest) -> dict[str, str]:
    texts = {name: entry.description for name, entry in manifest.variables.items()}
    texts |= {name: entry.description for name, entry in manifest.axes.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _advise_relation(name: str, store: Store) -> None:
    entry, header = store.manifest.variables[name], store.headers.get(name)
    if entry.axes is None or header is None or len(entry.axes) != 2 or len(header.shape) != 2:
        return
    edges, endpoint = entry.axes
    axis, expected = store.manifest.axes.get(endpoint), _ENDPOINT_LABELS.get(header.shape[1])
    labels = () if axis is None or axis.values is None else tuple(axis.values.tolist())
    if expected and set(labels) == set(expected) and labels != expected:
        store.warnings.append(
            f"axes.{spoken(endpoint)}: the columns of a relation mean {expected} in this order, "
            f"whatever the labels say; they read {labels}"
        )
    store.warnings += [
        f"variables.{spoken(other)}: lies on the axis {edges!r} of the relation {name!r} without structure; "
        f"set structure: {name!r} if its entries belong to the relation's"
        for other, variable in store.manifest.variables.items()
        if not variable.is_relation and variable.structure is None and (variable.axes or ())[-1:] == (edges,)
    ]
