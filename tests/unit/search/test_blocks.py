"""Pairs of building blocks by least squares: what they find with noise and without."""

from __future__ import annotations

import numpy as np
import pytest
from search_problems import problem, table

from sr_harness import engine
from sr_harness.engine import parse
from sr_harness.search import Budget, discover
from sr_harness.search.blocks import Blocks
from sr_harness.search.sparse import ranked_columns, ranked_pairs
from sr_harness.search.transforms import TRANSFORMS
from sr_harness.search.view import Input

RANGES = {"x": (1.0, 4.0), "z": (1.0, 4.0), "w": (1.0, 4.0)}


@pytest.mark.parametrize(
    "truth",
    [
        "x*exp(-z*w)/(1 + w)",
        "x*w/(w + z)",
        "sqrt(x*z + w)",
        "x*(1 - cos(z/w))",
    ],
)
def test_laws_of_two_blocks_with_noise(truth: str) -> None:
    names = sorted(engine.variables(parse(truth)))
    data = table(5, 300, **{name: RANGES[name] for name in names})
    clean = engine.evaluate(parse(truth), data)
    target = clean + 0.001 * np.sqrt(np.mean(clean**2)) * np.random.default_rng(3).normal(size=300)
    best = discover(problem(data, target), budget=Budget(20_000), strategies=["constant", "blocks"]).best
    assert best is not None
    ranges = {name: RANGES[name] for name in names}
    assert engine.equivalent(best.expression, parse(truth), ranges=ranges).verdict == "equivalent", (
        best.formula()
    )


def test_every_block_has_the_values_of_its_expression() -> None:
    data = table(1, 40, x=(1.0, 3.0), z=(-1.0, 2.0))
    blocks = Blocks([Input(engine.build.var(name), values) for name, values in data.items()], 400)
    assert len(blocks.everything) > 200
    for block in (*blocks.stones, *blocks.everything):
        np.testing.assert_allclose(
            block.values, engine.evaluate(block.expression, data), rtol=1e-9, atol=1e-12
        )


def test_ranking_finds_the_columns_that_were_used() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(60, 30))
    target = 2 * matrix[:, 4] - matrix[:, 17] + 5.0
    basis = np.full((60, 1), 60**-0.5)
    (pair, left), *_ = ranked_pairs(matrix, target, 3, basis)
    assert pair == (4, 17)
    assert left < 1e-10 * target @ target
    column, rest = ranked_columns(matrix, matrix[:, 9] + 1.0, 1, basis)[0]
    assert (column, round(rest, 9)) == (9, 0.0)


def test_weights_turn_an_error_inside_into_one_of_the_target() -> None:
    y = np.linspace(1.0, 3.0, 50)
    for transform in TRANSFORMS:
        inner = transform.target(y)
        if inner is None:
            continue
        error = 1e-7 * np.ones(50)
        weights = transform.weights(y)
        moved = (transform.peel(y + error) - inner) * weights
        np.testing.assert_allclose(moved, moved[0], rtol=1e-4)
