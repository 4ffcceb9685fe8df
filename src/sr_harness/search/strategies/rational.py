"""Quotients of polynomials."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.monomials import Atom, Dictionary, build_dictionary, input_atoms
from sr_harness.search.polish import fit_template
from sr_harness.search.rationals import polynomial_dictionary, rational_forms
from sr_harness.search.sparse import least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.transforms import TRANSFORMS, Transform
from sr_harness.search.view import View
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

MOST_COLUMNS, MORE_COLUMNS = 120, 200
MANY_INPUTS = 5
"""From this many inputs on a low degree already needs the larger number of columns."""

RELATION_WORK = 60
MOST_FITTED_INPUTS = 3
POWERS = tuple(float(p) for p in range(1, 9))
SHAPES = ((0, 1), (1, 1), (1, 2), (2, 1), (2, 2))
"""Degrees above and below the line that are fitted to a single input when data are noisy."""


class Rational(Strategy):
    """y = u(P/Q): exactly in all inputs where such a relation exists, else fitted in single inputs."""

    name: ClassVar[str] = "rational"
    summary: ClassVar[str] = "y = quotient of sparse polynomials, also inside a root, power, exp, log"
    share: ClassVar[float] = 0.15

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Exact relations of lowest degree first, then low-degree quotients of single inputs."""
        for view in space.views:
            if view.inputs:
                for transform in TRANSFORMS:
                    yield from _exact_quotients(space, view, transform)
        for view in dict.fromkeys((space.views[0], space.view)):
            if len(view.inputs) > MOST_FITTED_INPUTS:
                continue
            for atom in input_atoms(view.inputs, (1.0,)):
                yield from _fitted_quotients(space, view, atom)


def _exact_quotients(space: Workspace, view: View, transform: Transform) -> Iterator[Expression]:
    target = transform.target(view.target)
    if target is None:
        return
    for book in _books(view):
        space.charge(RELATION_WORK)
        for inner in rational_forms(book, target):
            yield view.wrap(transform.wrap(inner))


@lru_cache(maxsize=8)
def _books(view: View) -> tuple[Dictionary, ...]:
    """Low degrees of many products; and, for few inputs, high degrees with no input beyond its square."""
    count = len(view.inputs)
    limit = MOST_COLUMNS if count < MANY_INPUTS else MORE_COLUMNS
    books = [polynomial_dictionary(input_atoms(view.inputs, POWERS), limit)]
    if 3 <= count <= 4:
        squares = input_atoms(view.inputs, (1.0, 2.0))
        books.append(
            build_dictionary(
                squares, most_factors=count, degree=2.0 * count, limit=MOST_COLUMNS, constant=True
            )
        )
    return tuple(books)


def _fitted_quotients(space: Workspace, view: View, atom: Atom) -> Iterator[Expression]:
    for above, below in SHAPES:
        if above + below + 2 <= view.target.size // 2:
            space.charge(6)
            template = _template(atom, view.target, above, below)
            fitted = None if template is None else fit_template(view.wrap(template), space)
            if fitted is not None:
                yield fitted


def _template(atom: Atom, y: Floats, above: int, below: int) -> Expression | None:
    """(a0 + a1·x + …) / (1 + b1·x + …), started by iterated linear fits of P - y·(Q - 1) = y.

    The weights 1/Q of the former round turn the linear residual into the true one (C. Sanathanan and J.
    Koerner, IEEE Trans. Automatic Control 8, 1963).
    """
    scale = float(np.max(np.abs(atom.values)))
    x = atom.values / scale
    top = np.column_stack([x**p for p in range(above + 1)])
    bottom = np.column_stack([x**p for p in range(1, below + 1)])
    weight = np.ones(y.size)
    values = np.zeros(above + 1 + below)
    for _ in range(8):
        matrix = np.column_stack([top, -y[:, None] * bottom]) * weight[:, None]
        values, _ = least_squares(matrix, y * weight)
        line = 1.0 + bottom @ values[above + 1 :]
        if not np.all(np.abs(line) > 1e-6):
            return None
        weight = 1.0 / np.abs(line)
    upper = [build.param(f"a{p}", float(values[p] / scale**p)) for p in range(above + 1)]
    lower = [build.param(f"b{p}", float(values[above + p] / scale**p)) for p in range(1, below + 1)]
    return build.div(_sum(upper, atom), _sum([build.num(1.0), *lower], atom))


def _sum(coefficients: list[Expression], atom: Atom) -> Expression:
    result = coefficients[0]
    for p, coefficient in enumerate(coefficients[1:], start=1):
        power = atom.expression if p == 1 else build.pow_(atom.expression, build.num(float(p)))
        result = build.add(result, build.mul(coefficient, power))
    return result
