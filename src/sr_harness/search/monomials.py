"""Dictionaries of products of powers, the building stones of most closed forms.

A dictionary promises: every column is finite, none is constant, no two are proportional; simpler terms
come first, and where two are proportional the simpler stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import product
from sr_harness.search.view import Input

Floats = NDArray[np.float64]


SMALLEST = 1e-290
KEY_ROWS = 48
"""Rows by which proportional columns are told."""


@dataclass(frozen=True)
class Atom:
    """A factor: an expression with its values on the sample, and the powers it may take."""

    expression: Expression
    values: Floats
    exponents: tuple[float, ...]


@dataclass(frozen=True)
class Dictionary:
    """Terms as powers of the atoms, with their values side by side."""

    atoms: tuple[Atom, ...]
    powers: tuple[tuple[float, ...], ...]
    matrix: Floats

    def __len__(self) -> int:
        return len(self.powers)

    def term(self, column: int) -> Expression:
        """The expression of a column."""
        return self.expression(self.powers[column])

    def expression(self, powers: Sequence[float]) -> Expression:
        """The product of the atoms to some powers."""
        pairs = [(atom.expression, p) for atom, p in zip(self.atoms, powers, strict=True) if p]
        return product(pairs) if pairs else build.num(1.0)


def input_atoms(inputs: Iterable[Input], exponents: Sequence[float]) -> list[Atom]:
    """One atom for each input, with only the powers its values admit."""
    return [Atom(item.expression, item.values, admitted(item.values, exponents)) for item in inputs]


def admitted(values: Floats, exponents: Sequence[float]) -> tuple[float, ...]:
    """The exponents under which all values stay real and finite."""
    has_zero, has_negative = bool(np.any(values == 0)), bool(np.any(values < 0))
    return tuple(p for p in exponents if not (p < 0 and has_zero) and not (p != round(p) and has_negative))


def build_dictionary(
    atoms: Sequence[Atom], *, most_factors: int, degree: float, limit: int, constant: bool = False
) -> Dictionary:
    """All products of few atoms, simplest first.

    Args:
        atoms: The factors.
        most_factors: Most atoms in one term.
        degree: Largest sum of absolute exponents.
        limit: Largest number of columns.
        constant: Put the constant 1 first.
    """
    if not atoms:
        return Dictionary((), (), np.empty((0, 0)))
    shape = tuple(atom.exponents for atom in atoms)
    order = _by_simplicity(shape, most_factors, degree, 4 * limit)
    ones = [np.ones((atoms[0].values.size, 1))] if constant else []
    kept = [np.zeros((1, len(atoms)))] if constant else []
    room = limit - len(ones)
    seen: set[bytes] = set()
    for start in range(0, len(order), limit):
        powers = order[start : start + limit]
        values = _values(atoms, powers)
        fresh = _fresh(values, seen)[:room]
        ones.append(values[:, fresh])
        kept.append(powers[fresh])
        room -= len(fresh)
        if room <= 0:
            break
    rows = np.concatenate(kept) if kept else np.empty((0, len(atoms)))
    return Dictionary(tuple(atoms), tuple(tuple(map(float, row)) for row in rows), np.hstack(ones))


def _values(atoms: Sequence[Atom], powers: Floats) -> Floats:
    """Values of many products of powers, rows by terms."""
    result = np.ones((atoms[0].values.size, len(powers)))
    with np.errstate(all="ignore"):
        for atom, exponents in zip(atoms, powers.T, strict=True):
            distinct, place = np.unique(exponents, return_inverse=True)
            table = np.column_stack([atom.values ** float(p) for p in distinct])
            result *= table[:, place]
    return result


def _fresh(values: Floats, seen: set[bytes]) -> list[int]:
    """Columns that are finite, vary, and are proportional to none before; their keys are added to `seen`."""
    with np.errstate(all="ignore"):
        heights = np.max(np.abs(values), axis=0)
        usable = np.isfinite(heights) & (heights > SMALLEST) & (np.ptp(values, axis=0) > 1e-13 * heights)
    step = max(1, len(values) // KEY_ROWS)
    fresh = []
    for column in np.flatnonzero(usable):
        key = fingerprint(values[:, column], step)
        if key not in seen:
            seen.add(key)
            fresh.append(int(column))
    return fresh


def term_values(atoms: Sequence[Atom], powers: Sequence[float]) -> Floats:
    """Values of a product of powers; not finite where it overflows."""
    values = np.ones(atoms[0].values.size)
    with np.errstate(all="ignore"):
        for atom, p in zip(atoms, powers, strict=True):
            if p:
                values = values * atom.values**p
    return values


def fingerprint(values: Floats, step: int = 1) -> bytes:
    """A key that proportional columns share, from every `step`-th row."""
    shown = values[::step]
    first = shown[np.argmax(np.abs(shown))] or 1.0
    return bytes((np.round(shown / first, 9) + 0.0).tobytes())


def varies(values: Floats) -> bool:
    """Whether a column is finite and not constant beyond rounding."""
    height = float(np.max(np.abs(values), initial=0.0))
    return bool(np.isfinite(height) and height > SMALLEST and np.ptp(values) > 1e-13 * height)


@lru_cache(maxsize=64)
def _by_simplicity(
    exponents: tuple[tuple[float, ...], ...], most_factors: int, degree: float, enough: int
) -> Floats:
    """Exponent vectors ordered by Σ|power| plus number of factors, then by appearance.

    The degree grows to the given one only while there are fewer than `enough` of them.
    """
    terms: list[tuple[float, tuple[float, ...]]] = []
    for reach in [*range(1, int(np.ceil(degree))), degree]:
        terms = []
        _collect(exponents, (), terms, size=0.0, factors=most_factors, left=float(reach))
        if len(terms) >= enough:
            break
    terms.sort(key=lambda item: item[0])
    return np.array([powers for _, powers in terms]).reshape(-1, len(exponents))


def _collect(
    exponents: tuple[tuple[float, ...], ...],
    chosen: tuple[float, ...],
    terms: list[tuple[float, tuple[float, ...]]],
    *,
    size: float,
    factors: int,
    left: float,
) -> None:
    """Add every completion of the chosen powers within the degree and the factors left, with its size."""
    place = len(chosen)
    if place == len(exponents):
        if any(chosen):
            terms.append((size, chosen))
        return
    for exponent in exponents[place] if factors else ():
        degree = abs(exponent)
        if degree <= left:
            more = size + degree + 0.5 + 0.25 * (exponent < 0 or exponent != round(exponent))
            longer = (*chosen, exponent)
            _collect(exponents, longer, terms, size=more, factors=factors - 1, left=left - degree)
    _collect(exponents, (*chosen, 0.0), terms, size=size, factors=factors, left=left)
