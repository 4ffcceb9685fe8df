"""Dictionaries of products of powers, the building stones of most closed forms.

A dictionary promises: every column is finite, none is constant, no two are proportional; simpler terms
come first, and where two are proportional the simpler stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import product
from sr_harness.search.view import Input

Floats = NDArray[np.float64]


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
    powers: list[tuple[float, ...]] = []
    columns: list[Floats] = []
    seen: set[bytes] = set()
    rows = atoms[0].values.size if atoms else 0
    if constant and atoms:
        powers.append((0.0,) * len(atoms))
        columns.append(np.ones(rows))
    for term in _by_simplicity(atoms, most_factors, degree):
        if len(powers) >= limit:
            break
        values = term_values(atoms, term)
        key = fingerprint(values)
        if key is None or key in seen:
            continue
        seen.add(key)
        powers.append(term)
        columns.append(values)
    matrix = np.column_stack(columns) if columns else np.empty((rows, 0))
    return Dictionary(tuple(atoms), tuple(powers), matrix)


def term_values(atoms: Sequence[Atom], powers: Sequence[float]) -> Floats:
    """Values of a product of powers; not finite where it overflows."""
    values = np.ones(atoms[0].values.size)
    with np.errstate(all="ignore"):
        for atom, p in zip(atoms, powers, strict=True):
            if p:
                values = values * atom.values**p
    return values


def fingerprint(values: Floats) -> bytes | None:
    """A key that proportional columns share; None for a column that is constant or not finite."""
    height = np.max(np.abs(values), initial=0.0)
    if not np.isfinite(height) or height < 1e-290 or np.ptp(values) <= 1e-13 * height:
        return None
    first = values[np.argmax(np.abs(values))]
    return bytes((np.round(values / first, 9) + 0.0).tobytes())


def _by_simplicity(atoms: Sequence[Atom], most_factors: int, degree: float) -> Iterator[tuple[float, ...]]:
    """Exponent vectors ordered by Σ|power| plus number of factors, then by appearance."""
    terms: list[tuple[float, tuple[float, ...]]] = []
    for count in range(1, min(most_factors, len(atoms)) + 1):
        for places in itertools.combinations(range(len(atoms)), count):
            for exponents in itertools.product(*(atoms[place].exponents for place in places)):
                size = sum(map(abs, exponents))
                if size > degree:
                    continue
                powers = [0.0] * len(atoms)
                for place, exponent in zip(places, exponents, strict=True):
                    powers[place] = exponent
                negative = 0.25 * sum(exponent < 0 or exponent != round(exponent) for exponent in exponents)
                terms.append((size + 0.5 * count + negative, tuple(powers)))
    terms.sort(key=lambda item: item[0])
    return iter([powers for _, powers in terms])
