from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from sr_harness.evaluator import regression_metrics


def test_known_values() -> None:
    metrics = regression_metrics([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 6.0])
    assert metrics["mse"] == pytest.approx(1.0)
    assert metrics["mae"] == pytest.approx(0.5)
    assert metrics["r2"] == pytest.approx(1 - 4 / 5)
    assert metrics["max_rel_error"] == pytest.approx(0.5)
    assert metrics["n"] == 4


def test_constant_target_has_no_r2() -> None:
    metrics = regression_metrics(np.full(5, 2.0), np.full(5, 2.5))
    assert metrics["r2"] is None
    assert metrics["nrmse"] is None
    assert metrics["rmse"] == pytest.approx(0.5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_prediction_that_is_not_finite_has_no_metrics(bad: float) -> None:
    metrics = regression_metrics([1.0, 2.0], [1.0, bad])
    assert metrics.pop("n") == 2
    assert set(metrics.values()) == {None}


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e150])
def test_r2_does_not_depend_on_the_unit(scale: float) -> None:
    y = np.array([1.0, 2.0, 4.0])
    expected = regression_metrics(y, y + 0.1)["r2"]
    assert regression_metrics(scale * y, scale * (y + 0.1))["r2"] == pytest.approx(expected, rel=1e-9)


@given(arrays(np.float64, 4), arrays(np.float64, 4))
def test_always_strict_json(y: np.ndarray, yhat: np.ndarray) -> None:
    metrics = regression_metrics(y, yhat)
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics


def test_other_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\) cannot be judged against target of shape \(3,\)"):
        regression_metrics([1.0, 2.0, 3.0], [1.0, 2.0])
