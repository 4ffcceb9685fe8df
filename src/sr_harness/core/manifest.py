"""The manifest model: what manifest.json may say, and the faults of what it does say.

Promise: `read_manifest` takes any JSON value, never raises, and lists every fault of the manifest itself
in one pass. Entries with faults keep what is usable (None elsewhere), so that the arrays behind them can
still be checked. Rules: specification, sections "root fields", "variables", "axes" and "relations".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sr_harness.core.names import array_file, label_fault, name_fault, spoken

ROOT_FIELDS = ("variables", "axes", "num_nodes")
VARIABLE_FIELDS = ("file", "description", "axes", "kind", "structure")
AXIS_SOURCES = ("values", "file", "size")
RELATION = "relation"
_WIDEST_LABELS = 1 << 28  # bytes; fixed-width text pads every label to the longest one


@dataclass(frozen=True)
class VariableEntry:
    """One entry of `variables`; None stands where the manifest has a fault."""

    name: str
    file: str | None
    description: str | None
    axes: tuple[str, ...] | None
    is_relation: bool = False
    structure: str | None = None


@dataclass(frozen=True)
class AxisEntry:
    """One entry of `axes`; `source` is the one field that gives the values."""

    name: str
    description: str | None
    source: str | None
    size: int | None = None
    file: str | None = None
    values: np.ndarray[Any, Any] | None = None


@dataclass(frozen=True)
class Manifest:
    """A manifest as far as it could be understood."""

    variables: dict[str, VariableEntry] = field(default_factory=dict)
    axes: dict[str, AxisEntry] = field(default_factory=dict)
    num_nodes: int | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the relation variables, in manifest order."""
        return tuple(name for name, entry in self.variables.items() if entry.is_relation)


def read_manifest(root: object, faults: list[str]) -> Manifest:
    """Turn the parsed JSON into a manifest and append every fault to `faults`."""
    if not isinstance(root, dict):
        faults.append(f"manifest.json: the root must be an object, not {shown(root)}")
        return Manifest()
    for name in root:
        if name not in ROOT_FIELDS:
            faults.append(f"manifest.json: unknown root field {name!r}; known are {', '.join(ROOT_FIELDS)}")
    raw_variables = _object(root, "variables", faults)
    raw_axes = _object(root, "axes", faults)
    if raw_variables == {}:
        faults.append("variables: must be a non-empty object; register at least one variable")
    variables = {name: _variable(name, raw, faults) for name, raw in (raw_variables or {}).items()}
    axes = {name: _axis(name, raw, faults) for name, raw in (raw_axes or {}).items()}
    _check_references(variables, axes, faults, declared=raw_axes is not None)
    _check_structures(variables, faults)
    num_nodes = _num_nodes(root, variables, faults)
    return Manifest(variables, axes, num_nodes)


def shown(value: object) -> str:
    """A short, safe picture of a JSON value for a message."""
    names = {dict: "an object", list: "an array", bool: "a boolean", type(None): "null"}
    kind = names.get(type(value))
    if kind is None or isinstance(value, bool):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "..."
    return kind


def _object(root: dict[str, Any], name: str, faults: list[str]) -> dict[str, Any] | None:
    if name not in root:
        faults.append(f"manifest.json: the required root field '{name}' is missing")
        return None
    if not isinstance(root[name], dict):
        faults.append(f"{name}: must be an object, not {shown(root[name])}")
        return None
    value: dict[str, Any] = root[name]
    return value


def _variable(name: str, raw: object, faults: list[str]) -> VariableEntry:
    where = f"variables.{spoken(name)}" if name else "variables: the variable ''"
    bad_name = name_fault(name)
    if bad_name:
        faults.append(f"variables: {name!r} cannot be a variable name: {bad_name}")
    if not isinstance(raw, dict):
        faults.append(f"{where}: must be an object, not {shown(raw)}")
        return VariableEntry(name, None, None, None)
    _check_fields(raw, where, ("file", "description", "axes"), VARIABLE_FIELDS, faults)
    if "kind" in raw and raw["kind"] != RELATION:
        faults.append(f"{where}.kind: must be '{RELATION}' or left out, not {shown(raw['kind'])}")
    structure = raw.get("structure")
    if "structure" in raw and not isinstance(structure, str):
        faults.append(f"{where}.structure: must name a relation or be left out, not {shown(structure)}")
        structure = None
    return VariableEntry(
        name,
        None if bad_name else _file(raw, name, where, faults),
        _description(raw, where, faults),
        _axis_names(raw, where, faults),
        raw.get("kind") == RELATION,
        structure,
    )


def _axis(name: str, raw: object, faults: list[str]) -> AxisEntry:
    where = f"axes.{spoken(name)}" if name else "axes: the axis ''"
    in_file = isinstance(raw, dict) and "file" in raw
    bad_name = name_fault(name) if in_file else label_fault(name)
    if bad_name:
        faults.append(f"axes: {name!r} cannot be an axis name: {bad_name}")
    if not isinstance(raw, dict):
        faults.append(f"{where}: must be an object, not {shown(raw)}")
        return AxisEntry(name, None, None)
    _check_fields(raw, where, ("description",), ("description", *AXIS_SOURCES), faults)
    description = _description(raw, where, faults)
    given = [source for source in AXIS_SOURCES if source in raw]
    if len(given) != 1:
        found = " and ".join(given) if given else "none"
        faults.append(f"{where}: needs exactly one of values, file and size; found {found}")
    size, values = None, None
    if "size" in raw:
        size = positive_integer(raw["size"])
        if size is None:
            faults.append(f"{where}.size: must be a positive integer, not {shown(raw['size'])}")
    if "values" in raw:
        values, fault = axis_values(raw["values"])
        if fault:
            faults.append(f"{where}.values: {fault}")
    file = _file(raw, name, where, faults) if "file" in raw and not bad_name else None
    return AxisEntry(name, description, given[0] if len(given) == 1 else None, size, file, values)


def _check_fields(
    raw: dict[str, Any], where: str, required: Sequence[str], known: Sequence[str], faults: list[str]
) -> None:
    faults.extend(f"{where}: the required field '{name}' is missing" for name in required if name not in raw)
    faults.extend(
        f"{where}: unknown field {name!r}; known are {', '.join(known)}" for name in raw if name not in known
    )


def _file(raw: dict[str, Any], name: str, where: str, faults: list[str]) -> str | None:
    if "file" not in raw:
        return None
    if raw["file"] != array_file(name):
        faults.append(
            f"{where}.file: must be exactly {array_file(name)!r}, directly in the directory, "
            f"not {shown(raw['file'])}"
        )
        return None
    return array_file(name)


def _description(raw: dict[str, Any], where: str, faults: list[str]) -> str | None:
    text = raw.get("description")
    if isinstance(text, str):
        return text
    if "description" in raw:
        faults.append(f"{where}.description: must be a string, not {shown(text)}")
    return None


def _axis_names(raw: dict[str, Any], where: str, faults: list[str]) -> tuple[str, ...] | None:
    if "axes" not in raw:
        return None
    names = raw["axes"]
    if not isinstance(names, list):
        faults.append(f"{where}.axes: must be an array of axis names, not {shown(names)}")
        return None
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        faults.append(f"{where}.axes: must hold axis names, not {shown(wrong[0])}")
        return None
    return tuple(names)


def _check_references(
    variables: dict[str, VariableEntry], axes: dict[str, AxisEntry], faults: list[str], *, declared: bool
) -> None:
    used: set[str] = set()
    for name, entry in variables.items():
        for axis in dict.fromkeys(entry.axes or ()):
            used.add(axis)
            if axis not in axes and declared:
                faults.append(f"variables.{spoken(name)}.axes: the axis {axis!r} is not declared in axes")
    unused = [axis for axis in axes if axis not in used]
    faults += [f"axes.{spoken(axis)}: no variable uses this axis; use it or remove it" for axis in unused]
    shared = [name for name in variables if name in axes]
    faults += [f"{name!r} names both a variable and an axis; rename one of them" for name in shared]


def _check_structures(variables: dict[str, VariableEntry], faults: list[str]) -> None:
    for name, entry in variables.items():
        target = entry.structure
        if target is None:
            continue
        where = f"variables.{spoken(name)}.structure"
        if entry.is_relation:
            faults.append(f"{where}: a relation is itself the structure and takes no structure field")
        elif target not in variables:
            faults.append(f"{where}: there is no variable {target!r}; it must name a relation")
        elif not variables[target].is_relation:
            faults.append(f"{where}: {target!r} is not a relation; it lacks kind: '{RELATION}'")


def _num_nodes(root: dict[str, Any], variables: dict[str, VariableEntry], faults: list[str]) -> int | None:
    relations = [name for name, entry in variables.items() if entry.is_relation]
    if "num_nodes" not in root:
        if relations:
            faults.append(f"num_nodes: is missing, but {relations[0]!r} is a relation; give the node count")
        return None
    value = positive_integer(root["num_nodes"])
    if value is None:
        faults.append(f"num_nodes: must be a positive integer, not {shown(root['num_nodes'])}")
    if not relations:
        faults.append("num_nodes: must be left out, because no variable has kind: 'relation'")
    return value


def positive_integer(value: object) -> int | None:
    """Return `value` when it is a JSON integer above zero (true is none), else None."""
    return value if type(value) is int and value > 0 else None


def axis_values(values: object) -> tuple[np.ndarray[Any, Any] | None, str | None]:
    """Return the labels of an axis as an array, or the reason why they cannot be one.

    All labels have one type, because an array has one: numbers are not turned into text nor truth values
    into numbers, and no number is rounded.
    """
    if not isinstance(values, list):
        return None, f"must be an array of JSON scalars, not {shown(values)}"
    if not values:
        return None, "must not be empty"
    kinds = {type(value) for value in values}
    if kinds & {list, dict}:
        return None, "must be one-dimensional: it holds arrays or objects"
    if type(None) in kinds:
        return None, "holds null, which no array of labels can keep; give every position a label"
    if kinds == {str}:
        return _text_labels(values)
    if kinds == {bool}:
        return np.array(values, dtype=np.bool_), None
    if kinds == {int}:
        return _integer_labels(values)
    if kinds <= {int, float}:
        return _real_labels(values)
    found = sorted({"string": str, "boolean": bool, "number": int}[n].__name__ for n in _kind_names(kinds))
    return None, f"mixes types ({', '.join(found)}); all values of an axis have one type"


def _kind_names(kinds: set[type]) -> set[str]:
    return {"string" if k is str else "boolean" if k is bool else "number" for k in kinds}


def _text_labels(values: list[str]) -> tuple[np.ndarray[Any, Any] | None, str | None]:
    longest = max(map(len, values))
    if 4 * longest * len(values) > _WIDEST_LABELS:
        return None, f"would need more than {_WIDEST_LABELS >> 20} MiB: one label has {longest} characters"
    ended = next((value for value in values if value.endswith("\0")), None)
    if ended is not None:
        return None, f"the label {ended[:40]!r} ends with NUL, which fixed-width text cannot keep"
    return np.array(values, dtype=np.str_), None


def _integer_labels(values: list[int]) -> tuple[np.ndarray[Any, Any] | None, str | None]:
    low, high = min(values), max(values)
    for dtype in (np.int64, np.uint64):
        bounds = np.iinfo(dtype)
        if bounds.min <= low and high <= bounds.max:
            return np.array(values, dtype=dtype), None
    worst = high if high > np.iinfo(np.int64).max else low
    return None, f"the integer {shown(worst)} does not fit into 64 bits; use text labels"


def _real_labels(values: list[int | float]) -> tuple[np.ndarray[Any, Any] | None, str | None]:
    for value in values:
        try:
            kept = float(value) == value and float(value) not in {float("inf"), float("-inf")}
        except OverflowError:
            kept = False
        if not kept:
            return None, f"the number {shown(value)} cannot be kept in a float64 among fractions"
    return np.array(values, dtype=np.float64), None
