"""Roots of quadratic equations: what solving a law for one of its variables gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sr_harness.engine import Expression, build
from sr_harness.search.monomials import Atom
from sr_harness.search.problem import Problem
from sr_harness.search.quadratics import quadratic_forms
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.strategies.composite import atom_families, atom_polynomials
from sr_harness.search.transforms import EXPONENTIAL, IDENTITY, Transform
from sr_harness.search.view import View
from sr_harness.search.workspace import Workspace

MOST_INPUTS = 4
MOST_ARGUMENT_INPUTS = 3
"""With more inputs no functions of the inputs are tried."""

RELATION_WORK = 20
FEWEST_ROWS = 12

PEELED = (
    IDENTITY,
    EXPONENTIAL,
    Transform(
        "exp 1/y",
        lambda y: np.exp(1.0 / y),
        lambda inner: build.div(build.num(1.0), build.call("log", inner)),
    ),
)
"""The exponentials find inverse hyperbolic functions, which are logarithms of such roots."""


class Root(Strategy):
    """y = u(t) with A·t² + B·t + C = 0 for polynomials A, B, C; c · Π x^p where scaling leaves no input."""

    name: ClassVar[str] = "root"
    summary: ClassVar[str] = "y = root of a quadratic equation with polynomial coefficients"
    share: ClassVar[float] = 0.1

    def obstacle(self, problem: Problem) -> str | None:
        """With few rows many equations would hold by chance."""
        return f"fewer than {FEWEST_ROWS} rows" if problem.rows < FEWEST_ROWS else super().obstacle(problem)

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """Views without an input left, then plain equations, then with one function of the inputs."""
        for view in space.views:
            if not view.inputs:
                yield view.wrap(build.num(float(np.median(view.target))))
        views = [view for view in space.views if 0 < len(view.inputs) <= MOST_INPUTS]
        for view in views:
            yield from _equations(space, view, ())
        for view in views:
            if len(view.inputs) <= MOST_ARGUMENT_INPUTS:
                for family in atom_families(view):
                    for atom in family:
                        yield from _equations(space, view, (atom,))


def _equations(space: Workspace, view: View, family: tuple[Atom, ...]) -> Iterator[Expression]:
    book = atom_polynomials(view.inputs, family)
    for transform in PEELED:
        target = transform.target(view.target)
        if target is not None:
            space.charge(RELATION_WORK)
            for inner in quadratic_forms(book, target):
                yield view.wrap(transform.wrap(inner))
