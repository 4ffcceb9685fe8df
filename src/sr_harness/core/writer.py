"""Writing `context.data`: a whole directory at once, or only its descriptions.

Promises: what is written is valid (it is checked before it is put in place), and the target is either the
old one or the new one, whatever goes wrong. The format is in the specification; the mechanics of replacing
are in `sr_harness.core.atomic`.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sr_harness.core.atomic import explained, free_to_write, replace_file, staged_directory
from sr_harness.core.manifest import axis_values, read_manifest
from sr_harness.core.names import MANIFEST_NAME, array_file, is_text, name_fault
from sr_harness.core.npy import ArrayFault, Header
from sr_harness.core.scan import Store, check_headers, open_directory, read_manifest_bytes, scan
from sr_harness.core.strict_json import parse_json
from sr_harness.errors import ContextManifestError

Array = np.ndarray[Any, Any]
_LONGEST_INLINE_AXIS = 64


@dataclass(frozen=True)
class Variable:
    """A variable to be written.

    Attributes:
        values: anything NumPy turns into an array of numbers, booleans, dates or strings.
        description: meaning, unit and origin, without the law to be found.
        axes: one axis name a dimension.
        kind: `"relation"` for endpoint pairs or triples, else None.
        structure: the relation that the last dimension follows, or None.
    """

    values: Any
    description: str
    axes: Sequence[str] = ()
    kind: str | None = None
    structure: str | None = None


@dataclass(frozen=True)
class Axis:
    """An axis to be written: either `values` (labels or coordinates) or `size` (positions 0 … size-1)."""

    description: str
    values: Any = None
    size: int | None = None


_T = TypeVar("_T", Variable, Axis)


def write_context_data(
    directory: str | os.PathLike[str],
    *,
    variables: Mapping[str, Variable | Mapping[str, Any]],
    axes: Mapping[str, Axis | Mapping[str, Any]] | None = None,
    num_nodes: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a `context.data` directory; it appears whole or not at all.

    Short axes are stored in the manifest, long ones as NPY files.

    Args:
        directory: where to write; missing parents are made.
        variables: name to `Variable`, or to a mapping with the same keys.
        axes: name to `Axis`, or to a mapping with the same keys.
        num_nodes: number of nodes, exactly when there is a relation.
        overwrite: replace a `context.data` directory that is already there.

    Returns:
        The path of the directory.

    Raises:
        ContextManifestError: what was given is not valid; every fault is listed and nothing is written.
        ContextWriteError: the directory cannot be written; what was there is unchanged.
    """
    target = Path(os.path.realpath(directory))
    faults: list[str] = []
    manifest, arrays = _compose(variables, axes or {}, num_nodes, faults)
    store = Store(errors=faults)
    store.manifest = read_manifest(manifest, faults)
    store.headers = {name: Header(array.dtype, array.shape, False, 0) for name, array in arrays.items()}
    check_headers(store)
    if faults:
        raise ContextManifestError(target, faults)
    with explained(target):
        free_to_write(target, overwrite=overwrite)
        with staged_directory(target) as staging:
            for name, array in arrays.items():
                _write_array(staging / array_file(name), array)
            _write_bytes(staging / MANIFEST_NAME, _encode(manifest))
            errors = scan(staging).errors
            if errors:
                raise ContextManifestError(target, errors)
    return target


def update_context_data_descriptions(
    directory: str | os.PathLike[str], descriptions: Mapping[str, str]
) -> None:
    """Replace descriptions of variables and axes; nothing but the manifest is touched.

    Args:
        directory: a `context.data` directory.
        descriptions: name of a variable or axis to its new description.

    Raises:
        ContextManifestError: the manifest is not valid, a name is unknown, or a description is no string;
            nothing is written.
        ContextWriteError: the manifest cannot be written; the old one is unchanged.
    """
    path = Path(directory)
    with open_directory(path) as descriptor:
        manifest = _read_for_update(path, descriptor)
        faults = _apply(manifest, descriptions)
        if faults:
            raise ContextManifestError(path, faults)
        with explained(path / MANIFEST_NAME):
            replace_file(descriptor, MANIFEST_NAME, _encode(manifest))


def _read_for_update(path: Path, descriptor: int) -> dict[str, Any]:
    try:
        parsed = parse_json(read_manifest_bytes(descriptor))
    except ArrayFault as fault:
        raise ContextManifestError(path, [f"{MANIFEST_NAME}: {fault}"]) from fault
    faults = [f"{MANIFEST_NAME}: {fault}" for fault in parsed.faults]
    if not faults:
        read_manifest(parsed.value, faults)
    if faults:
        raise ContextManifestError(path, faults)
    manifest: dict[str, Any] = parsed.value
    return manifest


def _apply(manifest: dict[str, Any], descriptions: Mapping[str, str]) -> list[str]:
    faults: list[str] = []
    entries: dict[str, Any] = {**manifest["variables"], **manifest["axes"]}
    for name, text in descriptions.items():
        if name not in entries:
            close = difflib.get_close_matches(str(name), entries, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            faults.append(f"there is no variable or axis {name!r}{hint}")
        elif not isinstance(text, str):
            faults.append(f"the description of {name!r} must be a string, not {type(text).__name__}")
        elif not is_text(text):
            faults.append(f"the description of {name!r} holds half of a surrogate pair, no character")
        else:
            entries[name]["description"] = text
    return faults


def _encode(manifest: dict[str, Any]) -> bytes:
    text = json.dumps(manifest, ensure_ascii=False, indent=2, allow_nan=False)
    return (text + "\n").encode("utf-8", "backslashreplace")


def _compose(
    variables: Mapping[str, Variable | Mapping[str, Any]],
    axes: Mapping[str, Axis | Mapping[str, Any]],
    num_nodes: int | None,
    faults: list[str],
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The manifest and the arrays of what was given; faults of values go to `faults`."""
    manifest: dict[str, Any] = {} if num_nodes is None else {"num_nodes": num_nodes}
    manifest |= {"variables": {}, "axes": {}}
    arrays: dict[str, Array] = {}
    for name, given in variables.items():
        variable = _as(Variable, name, given, faults)
        if variable is None:
            continue
        entry = {"file": f"{name}.npy", "description": variable.description, "axes": list(variable.axes)}
        for optional in ("kind", "structure"):
            if getattr(variable, optional) is not None:
                entry[optional] = getattr(variable, optional)
        manifest["variables"][name] = entry
        _add_array(name, variable.values, arrays, faults)
    for name, given_axis in axes.items():
        axis = _as(Axis, name, given_axis, faults)
        if axis is not None:
            manifest["axes"][name] = _axis_entry(name, axis, arrays, faults)
    return manifest, arrays


def _as(kind: type[_T], name: str, given: _T | Mapping[str, Any], faults: list[str]) -> _T | None:
    if not isinstance(name, str):
        faults.append(f"the name {name!r} is not a string")
        return None
    if isinstance(given, kind):
        return given
    known = [field.name for field in fields(kind)]
    if not isinstance(given, Mapping) or "description" not in given or not set(given) <= set(known):
        faults.append(f"{name!r} must be a {kind.__name__} or a mapping with the keys {', '.join(known)}")
        return None
    return kind(**{"values": None, **given})


def _axis_entry(name: str, axis: Axis, arrays: dict[str, Array], faults: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"description": axis.description}
    if (axis.values is None) == (axis.size is None):
        faults.append(f"the axis {name!r} needs either values or a size")
        return {"size": 1, **entry}
    if axis.size is not None:
        return {"size": int(axis.size) if isinstance(axis.size, np.integer) else axis.size, **entry}
    _add_array(name, axis.values, arrays, faults)
    longest = _LONGEST_INLINE_AXIS if name_fault(name) is None else sys.maxsize
    if name in arrays and _fits_inline(arrays[name], longest):
        return {"values": arrays.pop(name).tolist(), **entry}
    return {"file": f"{name}.npy", **entry}


def _fits_inline(array: Array, longest: int) -> bool:
    """Whether the manifest keeps these values exactly, dtype included."""
    if array.ndim != 1 or not 0 < len(array) <= longest:
        return False
    kept, _ = axis_values(array.tolist())
    return kept is not None and kept.dtype == array.dtype and bool(np.array_equal(kept, array))


def _add_array(name: str, values: object, arrays: dict[str, Array], faults: list[str]) -> None:
    try:
        arrays[name] = as_storable(values)
    except (TypeError, ValueError) as error:
        faults.append(f"the values of {name!r} cannot be stored: {error}")


def as_storable(values: object) -> Array:
    """Return `values` as an array that an NPY file keeps without pickle.

    Raises:
        ValueError: they are ragged, masked, of mixed types, or of a type without a plain array.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("a masked array has no place for its mask; fill it first")
    if values is None:
        raise ValueError("there are none")
    array = np.asarray(values)
    made_text = array.dtype.kind in "USOT" and not (
        isinstance(values, np.ndarray) and array.dtype.kind in "US"
    )
    if made_text:
        array = _text(np.asarray(values, dtype=object))
    if array.dtype.kind not in "biufcmMUS":
        raise ValueError(f"the dtype {array.dtype} is none of numbers, booleans, dates and strings")
    if array.dtype.itemsize == 0:
        return array.astype(f"{array.dtype.kind}1")
    return array


def _text(array: Array) -> Array:
    found = {type(item) for item in array.flat}
    if all(issubclass(kind, str) for kind in found):
        return array.astype(np.str_)
    if found == {bytes}:
        return array.astype(np.bytes_)
    names = ", ".join(sorted(kind.__name__ for kind in found))
    raise ValueError(f"they are objects of type {names}; give numbers or strings of one type")


class _Sink:
    """Only `write`, so that NumPy hands over bounded pieces and a failing disk keeps its error number."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write(self, piece: bytes) -> int:
        return self._file.write(piece)

    def close(self) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()


def _write_array(path: Path, array: Array) -> None:
    sink = _Sink(path)
    try:
        np.lib.format.write_array(sink, array, allow_pickle=False)
    finally:
        sink.close()


def _write_bytes(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
