from __future__ import annotations

import numpy as np
import pytest

from sr_harness.errors import ProblemError
from sr_harness.evaluator.dynamics import estimate_derivative

RNG = np.random.default_rng(4)


def wave(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sin(1.3 * t) + 0.3 * np.cos(3 * t), 1.3 * np.cos(1.3 * t) - 0.9 * np.sin(3 * t)


@pytest.mark.parametrize("steps", ["even", "uneven"])
def test_a_clean_series_is_differentiated_to_many_digits_up_to_its_ends(steps: str) -> None:
    t = np.linspace(0, 10, 200) if steps == "even" else np.sort(RNG.uniform(0, 10, 200))
    x, slope = wave(t)
    found = estimate_derivative(x, t)
    np.testing.assert_allclose(found.slopes, slope, atol=1e-4)
    np.testing.assert_allclose(found.values, x, atol=1e-5)


def test_noise_widens_the_window_and_is_measured() -> None:
    t = np.linspace(0, 10, 400)
    x, slope = wave(t)
    clean = estimate_derivative(x, t)
    noisy = estimate_derivative(x + 0.05 * np.random.default_rng(0).standard_normal(t.size), t)
    assert noisy.width > 3 * clean.width
    assert float(noisy.noise) == pytest.approx(0.05, rel=0.15)
    assert np.std(noisy.slopes - slope) < 0.08 * np.std(slope)


def test_series_side_by_side_keep_their_shape_and_units() -> None:
    t = np.linspace(0, 10, 120)
    x, slope = wave(t)
    both = estimate_derivative(np.stack([x, 1e9 * x]), t, axis=1)
    assert both.slopes.shape == (2, 120)
    assert both.noise.shape == (2,)
    np.testing.assert_allclose(both.slopes[1], 1e9 * slope, atol=1e6)


def test_degree_and_width_can_be_stated() -> None:
    t = np.arange(9.0)
    found = estimate_derivative(t**2, t, degree=2, width=5)
    assert (found.degree, found.width) == (2, 5)
    np.testing.assert_allclose(found.slopes, 2 * t, atol=1e-9)


def test_four_samples_of_a_line_suffice() -> None:
    np.testing.assert_allclose(estimate_derivative([1, 3, 5, 7], [0, 1, 2, 3]).slopes, 2.0)


@pytest.mark.parametrize(
    ("values", "times", "message"),
    [
        ([1, 2, 3], [0, 1, 2], "3 samples along time are too few"),
        ([1, 2, 3, 4], [0, 1, 1, 2], "1 is followed by 1 at sample 2"),
        ([1, 2, 3, 4], [0, 1, 2], "times of shape"),
        ([1, 2, np.nan, 4], [0, 1, 2, 3], "NaN or infinite"),
        ([1, 2, 3, 4], ["a", "b", "c", "d"], "does not hold numbers"),
    ],
)
def test_what_has_no_derivative_is_refused(values: list, times: list, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        estimate_derivative(values, times)
