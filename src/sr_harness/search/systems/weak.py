"""The weak form of dx/dt = f: no derivative of noisy data is taken.

With a smooth bump φ that vanishes at the ends of a window, ∫ φ f(x) dt = -∫ φ' x dt: the derivative acts on
φ, which is known exactly, and the noise of x is averaged (D. Messenger and D. Bortz, "Weak SINDy",
Multiscale Modeling & Simulation 19, 2021). Windows overlap by seven eighths. Linear candidates come from
sparse regression on such rows; constants anywhere in a formula from least squares on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sr_harness.evaluator.dynamics.derivative import SMALLEST
from sr_harness.search.forms import weighted_sum
from sr_harness.search.problem import normalised_error
from sr_harness.search.sparse import SparseFit, best_pairs, fit_columns, forward
from sr_harness.search.systems.samples import SystemSamples

if TYPE_CHECKING:
    from sr_harness.engine import Expression

Floats = NDArray[np.float64]

POWER = 6
"""φ = (1 - τ²) to this power: flat enough at the ends that the trapezoidal rule is nearly exact."""

NARROWEST = 15
WIDTH = 1.5
"""A window is this factor as wide as those that smooth the states, but at most `MOST_OF_RUN` of a run."""

MOST_OF_RUN = 0.3
OVERLAP = 8

MOST_EVALUATIONS = 60

BACKWARD = (8, 16, 32)
"""Numbers of terms, the simplest ones, from which superfluous ones are taken away."""

PAIRS = 3

QUADRATURE = 1e-4
"""No constant is known better than to this share of it from windows alone."""


@dataclass(frozen=True)
class WeakForm:
    """Windows on the samples of a system.

    Attributes:
        windows: Samples of each window [window, width].
        bump: Quadrature weights times φ, alike.
        slope: Quadrature weights times -φ', alike.
    """

    windows: NDArray[np.int64]
    bump: Floats
    slope: Floats

    @classmethod
    def of(cls, samples: SystemSamples, width: int | None = None) -> WeakForm | None:
        """Windows for these samples; None where no run is long enough for one."""
        longest = max(part.stop - part.start for part in samples.parts)
        most = max(NARROWEST, int(MOST_OF_RUN * longest))
        wanted = min(most, max(NARROWEST, round(WIDTH * samples.width))) if width is None else width
        windows, bumps, slopes = [], [], []
        for part in samples.parts:
            size = min(wanted, part.stop - part.start)
            if size < 5:
                continue
            hop = max(1, size // OVERLAP)
            starts = np.arange(part.start, part.stop - size + 1, hop)
            # Runs shorter than the windows would make rows of another length: such windows are padded.
            index = starts[:, None] + np.minimum(np.arange(wanted), size - 1)
            bump, slope = _weights(samples.times[index], size)
            windows.append(index)
            bumps.append(bump)
            slopes.append(slope)
        if not windows:
            return None
        return cls(np.concatenate(windows), np.concatenate(bumps), np.concatenate(slopes))

    def integral(self, values: Floats) -> Floats:
        """∫ φ v dt over every window, windows (and nodes) in one flat row each."""
        return np.asarray(np.einsum("kw,kw...->k...", self.bump, values[self.windows]))

    def change(self, values: Floats) -> Floats:
        """-∫ φ' x dt over every window."""
        return np.asarray(np.einsum("kw,kw...->k...", self.slope, values[self.windows]))


def _weights(times: Floats, size: int) -> tuple[Floats, Floats]:
    centre = (times[:, :1] + times[:, -1:]) / 2
    half = (times[:, -1:] - times[:, :1]) / 2
    tau = np.clip((times - centre) / half, -1.0, 1.0)
    rest = 1.0 - tau * tau
    steps = np.diff(times, axis=1)
    weight = np.zeros_like(times)
    weight[:, :-1] += steps / 2
    weight[:, 1:] += steps / 2
    weight[:, size:] = 0.0
    weight /= half
    bump = weight * rest**POWER
    slope = weight * (2 * POWER) * tau * rest ** (POWER - 1) / half
    return bump, slope


class WeakEquation:
    """One state's equation in weak form: rows to fit and rows that judge."""

    def __init__(self, state: str, train: SystemSamples, held: SystemSamples | None) -> None:
        self.state, self.train = state, train
        self.form = WeakForm.of(train)
        self.target = self._target(self.form, train, state)
        self.held = held
        self.held_form = None if held is None else WeakForm.of(held)
        self.held_target = self._target(self.held_form, held, state)

    @staticmethod
    def _target(form: WeakForm | None, samples: SystemSamples | None, state: str) -> Floats:
        if form is None or samples is None:
            return np.empty(0)
        return form.change(_measured(samples, state)).ravel()

    @property
    def rows(self) -> int:
        """Rows that are fitted."""
        return int(self.target.size)

    def error(self, formula: Expression) -> float:
        """The worse of the errors on fitted and on judging rows, in units of their variance."""
        worst = 0.0
        for form, samples, target in (
            (self.form, self.train, self.target),
            (self.held_form, self.held, self.held_target),
        ):
            if form is not None and samples is not None and target.size >= 4:
                values = samples.values(formula)
                if not np.isfinite(values).all():
                    return float("inf")
                worst = max(worst, normalised_error(target, form.integral(values).ravel()))
        return worst

    def sparse(
        self, terms: Sequence[Expression], most: int, charge: Callable[[float], None]
    ) -> Iterator[Expression]:
        """Sums of few terms: chosen one by one, with and without a constant; and what is left of all of them.

        Args:
            terms: The dictionary, a constant first, simple terms before complicated ones.
            most: Most terms of a sum.
            charge: Called with work before it is done.
        """
        if self.form is None:
            return
        kept, columns = [], []
        for term in terms:
            with np.errstate(all="ignore"):
                column = self.form.integral(self.train.values(term)).ravel()
            if np.isfinite(column).all() and float(np.max(np.abs(column))) > 0:
                kept.append(term)
                columns.append(column)
        if not columns:
            return
        matrix = np.column_stack(columns)
        for fit in self._fits(matrix, most, charge):
            yield weighted_sum(fit.coefficients, [kept[place] for place in fit.columns])

    def _fits(self, matrix: Floats, most: int, charge: Callable[[float], None]) -> Iterator[SparseFit]:
        for start in ((), (0,)):
            yield from forward(matrix, self.target, most, start=start, good_enough=1e-26, charge=charge)
        for width in BACKWARD:
            if width == BACKWARD[0] or matrix.shape[1] > width // 2:
                charge(width)
                yield from backward(matrix[:, :width], self.target, most)
        charge(matrix.shape[1])
        for pair in best_pairs(matrix, self.target, PAIRS):
            yield fit_columns(matrix, self.target, pair)

    def refined(self, formula: Expression) -> Expression:
        """The formula with its free constants fitted to the rows; itself where that fails."""
        from scipy.optimize import least_squares

        from sr_harness import engine

        template, values = engine.free_numbers(formula, whole=False)
        if not values or self.form is None:
            return formula
        form, names = self.form, engine.parameters(template)
        start = np.array([values[name] for name in names])
        scale = np.where(start != 0, np.abs(start), 1.0)
        height = float(np.max(np.abs(self.target))) or 1.0

        def residual(x: Floats) -> Floats:
            values = self.train.values(engine.bind(template, dict(zip(names, x * scale, strict=True))))
            rest = (form.integral(values).ravel() - self.target) / height
            return np.where(np.isfinite(rest), rest, 1e6)

        def slopes(x: Floats) -> Floats:
            _, by = self.train.jacobian(template, dict(zip(names, x * scale, strict=True)))
            matrix = form.integral(by).reshape(self.rows, -1) * scale / height
            return np.where(np.isfinite(matrix), matrix, 0.0)

        if len(names) > self.rows:
            return formula
        with np.errstate(all="ignore"):
            found = least_squares(
                residual,
                start / scale,
                jac=slopes,
                method="lm",
                max_nfev=MOST_EVALUATIONS,
                xtol=1e-14,
                ftol=1e-14,
            )
        if not np.isfinite(found.x).all():
            return formula
        return engine.bind(template, dict(zip(names, (found.x * scale).tolist(), strict=True)))

    def errors(self, template: Expression, values: Mapping[str, float]) -> dict[str, float]:
        """Standard error of each constant of a template, from the curvature of the sum of squares.

        Windows overlap, so that there are fewer independent rows than rows; and quadrature is not exact.
        """
        unknown = dict.fromkeys(values, float("inf"))
        if self.form is None or not values:
            return unknown
        found, by = self.train.jacobian(template, values)
        matrix = self.form.integral(by).reshape(self.rows, -1)
        rest = self.form.integral(found).ravel() - self.target
        free = max(self.rows / OVERLAP - len(values), 1.0)
        scale = np.max(np.abs(matrix), axis=0)
        if not (np.isfinite(matrix).all() and (scale > 0).all()):
            return unknown
        try:
            inverse = np.linalg.inv((matrix / scale).T @ (matrix / scale))
        except np.linalg.LinAlgError:
            return unknown
        deviations = (
            np.sqrt(np.maximum(np.diag(inverse), 0.0) * float(rest @ rest) / free) / scale * OVERLAP**0.5
        )
        return {
            name: max(float(deviation), QUADRATURE * abs(value))
            for (name, value), deviation in zip(values.items(), deviations, strict=True)
        }


def backward(matrix: Floats, target: Floats, most: int) -> Iterator[SparseFit]:
    """Least squares on all columns, then without the one that is missed least, again and again.

    Yields:
        A fit for each number of columns from `most` down to 1.
    """
    usable = min(matrix.shape[1], matrix.shape[0] // 2)
    scale = np.max(np.abs(matrix), axis=0)
    unit = matrix / np.where(scale > 0, scale, 1.0)
    kept = list(range(usable))
    while kept:
        if len(kept) <= most:
            yield fit_columns(matrix, target, kept)
        part = unit[:, kept]
        basis, triangle = np.linalg.qr(part)
        size = np.abs(np.diag(triangle))
        if (size <= 1e-12 * size.max()).any():
            kept.pop(int(np.argmin(size)))
            continue
        inverse = np.linalg.inv(triangle)
        weights = inverse @ (basis.T @ target)
        kept.pop(int(np.argmin(np.square(weights) / np.sum(np.square(inverse), axis=1))))


def _measured(samples: SystemSamples, state: str) -> Floats:
    """The measurements themselves: the weak form averages their noise better than smoothing twice does."""
    usable = [run for run in samples.runs.runs if len(run) >= SMALLEST]
    return np.concatenate([run.states[state] for run in usable])
