"""Outer function of a sparse sum or quotient of products of simple atoms: y = u(Σ c·m) or u(P/Q).

Atoms are the inputs and, one family at a time, a sine, cosine, exponential or logarithm of an input, a
difference or a product. For each outer function the target is peeled and the inner formula is sought by
linear algebra alone. The search goes over the smaller views of the problem first, and for each over ever
dearer kinds of inner formula.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import product, weighted_sum
from sr_harness.search.monomials import (
    Atom,
    Dictionary,
    build_dictionary,
    fingerprint,
    input_atoms,
    term_values,
    varies,
)
from sr_harness.search.problem import Problem
from sr_harness.search.rationals import polynomial_dictionary, rational_forms
from sr_harness.search.sparse import SparseFit, best_pairs, fit_columns, forward, least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.transforms import TRANSFORMS, Transform
from sr_harness.search.view import Input, View
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

WHOLE = tuple(float(p) for p in range(1, 7))
LAURENT = (1.0, 2.0, -1.0, -2.0, 0.5, -0.5, 3.0, -3.0)
MOST_MONOMIALS = 240
MOST_POLYNOMIAL = 120
MOST_TERMS = 4
MOST_PAIRS = 3
FEWEST_ROWS = 6

FEW = 6
"""With extra atoms, and for greedy sums, only this many outer functions are tried."""

FAMILIES = (("sin", "cos"), ("exp",), ("log",), ("tanh",))
NUMERIC = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh}
EXPONENTS = {"cos": (1.0, 2.0), "exp": (1.0, -1.0)}

Family = tuple[Atom, ...]


class Composite(Strategy):
    """y = u(sparse sum of products), y = u(quotient), y = exp(sum)·product of powers."""

    name: ClassVar[str] = "composite"
    summary: ClassVar[str] = (
        "y = u(few terms or a quotient) with sin, cos, exp, log of simple arguments inside"
    )
    share: ClassVar[float] = 0.6
    parts: ClassVar[int] = 24

    def obstacle(self, problem: Problem) -> str | None:
        """So many formulas are tried that a few rows would agree with some by chance."""
        return f"fewer than {FEWEST_ROWS} rows" if problem.rows < FEWEST_ROWS else super().obstacle(problem)

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Products, then sums and quotients without extra atoms, then with, then greedy sums."""
        for part in range(self.parts):
            yield from self.propose_part(space, part)

    def propose_part(self, space: Workspace, part: int) -> Iterator[Expression]:
        """An even share of the searches."""
        plain = [(view, ()) for view in space.views if view.inputs]
        rich = [(view, family) for view, _ in plain for family in atom_families(view)]
        both = sorted([*plain, *rich], key=lambda item: plain.index((item[0], ())))
        searches = [
            *((_products, item) for item in both),
            *((_exact, item) for item in (*plain, *rich)),
            *((_greedy, item) for item in both),
        ]
        first, end = (len(searches) * place // self.parts for place in (part, part + 1))
        for search, (view, family) in searches[first:end]:
            yield from search(space, view, family)


def _products(space: Workspace, view: View, family: Family) -> Iterator[Expression]:
    """u(c · Π x^p · Π atom^q): one linear regression between logarithms for each outer function."""
    atoms = [atom for atom in (*family, *input_atoms(view.inputs, LAURENT)) if not np.any(atom.values == 0)]
    if not atoms:
        return
    logs = np.column_stack([np.ones(view.target.size), *(np.log(np.abs(atom.values)) for atom in atoms)])
    for transform, target in _peeled(view):
        space.charge(2)
        if np.any(target == 0):
            continue
        weights, residual = least_squares(logs, np.log(np.abs(target)))
        powers = tuple(float(round(2 * p) / 2) for p in weights[1:])
        if residual > 0.01 or np.max(np.abs(weights[1:] - powers)) > 0.1 or not any(powers):
            continue
        values = term_values(atoms, powers)
        if np.isfinite(values).all() and np.any(values):
            factor = float(least_squares(values[:, None], target)[0][0])
            pairs = [(atom.expression, p) for atom, p in zip(atoms, powers, strict=True) if p]
            yield view.wrap(transform.wrap(product(pairs, factor)))


def _exact(space: Workspace, view: View, family: Family) -> Iterator[Expression]:
    """Quotients by exact relations and sums of two terms by exhaustion, for each outer function."""
    space.charge(8)
    book = _sums_dictionary(view, family)
    bases = [atom_polynomials(view.inputs, family)]
    if all(np.all(item.values > 0) for item in view.inputs):
        bases.append(atom_polynomials([_root(item) for item in view.inputs], family))
    for transform, target in _peeled(view, few=bool(family)):
        space.charge(60)
        for base in bases:
            for inner in rational_forms(base, target):
                yield view.wrap(transform.wrap(inner))
        for pair in best_pairs(book.matrix, target, MOST_PAIRS):
            yield view.wrap(transform.wrap(_sum(book, fit_columns(book.matrix, target, pair))))


def _greedy(space: Workspace, view: View, family: Family) -> Iterator[Expression]:
    """Sums of up to a few terms by greedy choice with exchange."""
    space.charge(8)
    book = _sums_dictionary(view, family)
    for transform, target in _peeled(view, few=True):
        for fit in forward(book.matrix, target, MOST_TERMS, charge=space.charge):
            yield view.wrap(transform.wrap(_sum(book, fit)))
        if transform.name == "log y":
            for inner in _exponential_products(space, view.inputs, book, target):
                yield view.wrap(inner)


def atom_polynomials(inputs: Sequence[Input], family: Family) -> Dictionary:
    """Monomials of the inputs and the family, without an input that the family holds as a sine and cosine."""
    waves = {atom.expression.args[0] for atom in family if atom.expression.op in ("sin", "cos")}
    others = [
        item for item in inputs if item.expression not in waves and _square(item.expression) not in waves
    ]
    return polynomial_dictionary([*family, *input_atoms(others, WHOLE)], MOST_POLYNOMIAL)


def _square(expression: Expression) -> Expression:
    """What a root is taken of, else the expression."""
    return expression.args[0] if expression.op == "sqrt" else expression


def _root(item: Input) -> Input:
    return Input(build.call("sqrt", item.expression), np.sqrt(item.values))


def _peeled(view: View, *, few: bool = False) -> Iterator[tuple[Transform, Floats]]:
    for transform in TRANSFORMS[: FEW if few else None]:
        target = transform.target(view.target)
        if target is not None:
            yield transform, target


def _sums_dictionary(view: View, family: Family) -> Dictionary:
    atoms = [*family, *input_atoms(view.inputs, LAURENT)]
    return build_dictionary(atoms, most_factors=4, degree=5.0, limit=MOST_MONOMIALS, constant=True)


def _sum(book: Dictionary, fit: SparseFit) -> Expression:
    return weighted_sum(fit.coefficients, [book.term(c) for c in fit.columns])


def _exponential_products(
    space: Workspace, inputs: Sequence[Input], book: Dictionary, target: Floats
) -> Iterator[Expression]:
    """Ln y = ln c + Σ p·ln x + Σ b·m: a product of powers times the exponential of one or two terms."""
    positive = [item for item in inputs if np.all(item.values > 0)]
    fixed = [np.ones(target.size), *(np.log(item.values) for item in positive)]
    matrix = np.column_stack([*fixed, book.matrix[:, 1:]])
    for fit in forward(matrix, target, 2, start=range(len(fixed)), charge=space.charge):
        weights = dict(zip(fit.columns, fit.coefficients, strict=True))
        terms = [c for c in fit.columns if c >= len(fixed)]
        inner = weighted_sum([weights[c] for c in terms], [book.term(c - len(fixed) + 1) for c in terms])
        with np.errstate(all="ignore"):
            factor = float(np.exp(weights[0]))
        snapped = _nearly([weights[place] for place in range(1, len(fixed))])
        if snapped is not None and np.isfinite(factor):
            pairs = [(item.expression, p) for item, p in zip(positive, snapped, strict=True) if p]
            yield build.mul(product(pairs, factor), build.call("exp", inner))


def _nearly(powers: list[float]) -> list[float] | None:
    """The powers rounded to integers, else to halves, if they are close to them."""
    for step in (1.0, 0.5):
        snapped = [float(round(p / step) * step) for p in powers]
        if np.max(np.abs(np.subtract(snapped, powers)), initial=0.0) < 0.05:
            return snapped
    return None


def atom_families(view: View) -> Iterator[Family]:
    """Extra atoms: functions of an input, then of a difference, a product, a quotient."""
    seen: set[bytes] = set()
    for argument in _arguments(view.inputs):
        for functions in FAMILIES:
            family = []
            for function in functions:
                atom = _function_atom(function, argument)
                if atom is None or not varies(atom.values):
                    continue
                key = fingerprint(atom.values)
                if key not in seen:
                    seen.add(key)
                    family.append(atom)
            if family:
                yield tuple(family)


def _function_atom(function: str, argument: Input) -> Atom | None:
    with np.errstate(all="ignore"):
        result = NUMERIC[function](argument.values)
    if not np.isfinite(result).all() or np.max(np.abs(result)) > 1e30:
        return None
    if function == "exp" and np.any(result == 0):
        return None
    return Atom(build.call(function, argument.expression), result, EXPONENTS.get(function, (1.0,)))


def _arguments(inputs: Sequence[Input]) -> Iterator[Input]:
    """What functions are applied to, simplest first."""
    yield from inputs
    for item in inputs:
        if item.expression.op != "var" and not np.any(item.values == 0):
            yield Input(build.div(build.num(1.0), item.expression), 1.0 / item.values)
    pairs = list(itertools.combinations(inputs, 2))
    for a, b in pairs:
        yield Input(build.sub(a.expression, b.expression), a.values - b.values)
        yield Input(build.mul(a.expression, b.expression), a.values * b.values)
    for a, b in pairs:
        for above, below in ((a, b), (b, a)):
            if not np.any(below.values == 0):
                yield Input(build.div(above.expression, below.expression), above.values / below.values)
