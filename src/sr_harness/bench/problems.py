"""Problems of a benchmark: a table of true formulas and of the ranges that their inputs are drawn from.

Owns the table's format. A row has the columns `id`, `target`, `formula`, `n_vars` and `variables`
(`name:low:high;…`, sampled uniformly). A row of a dynamical system has, instead of `variables`, the columns
`states` (`x;y`), `rhs` (the derivative of each state, `;` between them), `ics` (initial conditions, `,`
between states and `|` between trajectories), `t_end`, `dt` and, optionally, `substeps`; its formula is one
component of the right-hand side. Other columns are ignored. A table is read whole or refused with every
fault in it.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sr_harness.errors import BenchmarkError, ExpressionError

if TYPE_CHECKING:
    from sr_harness.engine import Expression

REQUIRED = ("id", "target", "formula")
DYNAMIC = ("states", "rhs", "ics", "t_end", "dt")
DEFAULT_SUBSTEPS = 20


class Range(NamedTuple):
    """An input and the interval that it is drawn from."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Dynamics:
    """A system of differential equations whose trajectories give the rows.

    Attributes:
        rhs: The derivative of each state, in the order of the states.
        starts: Initial conditions; the last one is the test trajectory where there are several.
        t_end: Duration of each trajectory.
        dt: Time between rows.
        substeps: Integration steps within `dt`.
    """

    rhs: tuple[Expression, ...]
    starts: tuple[tuple[float, ...], ...]
    t_end: float
    dt: float
    substeps: int


@dataclass(frozen=True)
class BenchProblem:
    """One problem: a true formula and where its inputs live.

    Attributes:
        id: Name in the table, unique there.
        target: Name of the quantity to be explained.
        names: Inputs in column order.
        formula: The true formula as the table has it.
        truth: The same as an expression.
        ranges: Interval of each input; empty for a dynamical system.
        dynamics: The dynamical system, or None.
        row: The cells this problem was read from.
    """

    id: str
    target: str
    names: tuple[str, ...]
    formula: str
    truth: Expression
    ranges: tuple[Range, ...]
    dynamics: Dynamics | None
    row: Mapping[str, str]


class Table(NamedTuple):
    """The problems of a table and the digest of its file."""

    problems: tuple[BenchProblem, ...]
    sha256: str


def read_table(path: Path) -> Table:
    """Read a CSV table of problems.

    Raises:
        BenchmarkError: Not such a table; every fault is listed with its row.
    """
    content = path.read_bytes()
    try:
        lines = content.decode("utf-8-sig").splitlines()
        rows = list(csv.DictReader(lines, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BenchmarkError(f"{path} is not a CSV table in UTF-8: {error}") from error
    if not rows:
        raise BenchmarkError(f"{path} holds no problem; it needs a header line and a line for each problem")
    problems: dict[str, BenchProblem] = {}
    faults: list[str] = []
    for place, cells in enumerate(rows, start=1):
        try:
            problem = problem_from_row({key: value or "" for key, value in cells.items() if key})
        except (BenchmarkError, ExpressionError) as error:
            faults.append(f"row {place} ({cells.get('id') or 'without an id'}): {error}")
            continue
        if problem.id in problems:
            faults.append(f"row {place}: the id {problem.id!r} stands there a second time")
        problems[problem.id] = problem
    if faults:
        head = f"{path} is not a table of problems ({len(faults)} fault{'s' if len(faults) > 1 else ''}):"
        raise BenchmarkError("\n".join([head, *(f"  - {fault}" for fault in faults)]))
    return Table(tuple(problems.values()), hashlib.sha256(content).hexdigest())


def problem_from_row(row: Mapping[str, str]) -> BenchProblem:
    """One problem from its cells.

    Raises:
        BenchmarkError: A cell is missing or cannot be read.
        ExpressionError: A formula cannot be read.
    """
    from sr_harness import engine

    dynamic = bool(row.get("rhs", "").strip())
    missing = [
        name for name in (*REQUIRED, *(DYNAMIC if dynamic else ("variables",))) if not _cell(row, name)
    ]
    if missing:
        raise BenchmarkError(f"nothing stands in the column {', '.join(missing)}")
    ranges = () if dynamic else _ranges(_cell(row, "variables"))
    names = tuple(_split(_cell(row, "states"), ";")) if dynamic else tuple(item.name for item in ranges)
    target = _cell(row, "target")
    _check_names(names, target, _cell(row, "n_vars"))
    return BenchProblem(
        id=_cell(row, "id"),
        target=target,
        names=names,
        formula=_cell(row, "formula"),
        truth=engine.parse(_cell(row, "formula"), names=names),
        ranges=ranges,
        dynamics=_dynamics(row, names) if dynamic else None,
        row=dict(row),
    )


def choose(
    problems: Sequence[BenchProblem], *, ids: Sequence[str] = (), sample: int | None = None, seed: int = 0
) -> tuple[BenchProblem, ...]:
    """The problems asked for, in the table's order.

    Args:
        problems: All of them.
        ids: Only these; empty for all.
        sample: Only so many of those, drawn with the seed; None for all.
        seed: For the draw; the same seed draws the same problems.

    Raises:
        BenchmarkError: An id that does not exist.
    """
    import difflib

    import numpy as np

    known = [problem.id for problem in problems]
    for name in ids:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BenchmarkError(f"there is no problem {name!r} in the table{hint}")
    kept = [problem for problem in problems if not ids or problem.id in ids]
    if sample is None or sample >= len(kept):
        return tuple(kept)
    places = np.random.default_rng([seed, len(kept)]).choice(len(kept), sample, replace=False)
    return tuple(kept[place] for place in sorted(places))


def _cell(row: Mapping[str, str], name: str) -> str:
    return row.get(name, "").strip()


def _split(text: str, sign: str) -> list[str]:
    return [part.strip() for part in text.split(sign) if part.strip()]


def _ranges(text: str) -> tuple[Range, ...]:
    found = []
    for part in _split(text, ";"):
        pieces = part.rsplit(":", 2)
        if len(pieces) != 3:
            raise BenchmarkError(f"{part!r} among the variables is not of the form name:low:high")
        low, high = _number(pieces[1]), _number(pieces[2])
        if low > high:
            raise BenchmarkError(f"the range of {pieces[0]!r} begins above its end")
        found.append(Range(pieces[0].strip(), low, high))
    return tuple(found)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BenchmarkError(f"{text!r} is not a finite number")
    return value


def _check_names(names: Sequence[str], target: str, count: str) -> None:
    if len(set(names)) < len(names):
        raise BenchmarkError("two variables have the same name")
    if target in names:
        raise BenchmarkError(f"the target {target!r} is also a variable")
    if count and count != str(len(names)):
        raise BenchmarkError(f"n_vars is {count}, but the variables listed are {len(names)}")


def _dynamics(row: Mapping[str, str], names: tuple[str, ...]) -> Dynamics:
    from sr_harness import engine

    rhs = tuple(engine.parse(part, names=names) for part in _split(_cell(row, "rhs"), ";"))
    starts = tuple(
        tuple(_number(value) for value in _split(start, ",")) for start in _split(_cell(row, "ics"), "|")
    )
    if len(rhs) != len(names) or any(len(start) != len(names) for start in starts):
        raise BenchmarkError(f"rhs and ics need {len(names)} components each, one for each state")
    t_end, dt = _number(_cell(row, "t_end")), _number(_cell(row, "dt"))
    substeps = int(_number(_cell(row, "substeps") or str(DEFAULT_SUBSTEPS)))
    if not (0 < dt <= t_end and substeps >= 1):
        raise BenchmarkError("dt must be above 0 and not above t_end, and substeps at least 1")
    return Dynamics(rhs, starts, t_end, dt, substeps)
