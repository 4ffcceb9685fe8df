"""From measured metrics to the one number in [0, 1] that the tree search compares. Higher is better."""

from __future__ import annotations

import math

ACCURACY_WEIGHT = 0.8
DECADES = 12.0
SIMPLICITY_SCALE = 40.0


def symbolic_score(nrmse: float | None, complexity: int, trajectory_error: float | None = None) -> float:
    """Score of a formula from its error on validation rows and its size.

    Accuracy counts decades of the normalised root-mean-square error (12 decades, the resolution of
    float64 sums, give full marks); simplicity is exp(-complexity / 40). A decade of accuracy is worth
    0.067, which is what a formula of usual size loses for about 15 more symbols, so a decimal place has
    to be bought with a real gain and not with terms that follow the noise.

    Args:
        nrmse: Root-mean-square error over the standard deviation of the target; None scores 0.
        complexity: Number of symbols in the formula.
        trajectory_error: For a derivative, the error of the integrated trajectories in units of the state's
            standard deviation; the decades of both errors then count half each, because noise hides a wrong
            term from the slopes that the trajectories show, and short spans hide one that the slopes show.
    """
    if nrmse is None or not math.isfinite(nrmse):
        return 0.0
    if trajectory_error is not None:
        nrmse = math.sqrt(nrmse * trajectory_error)
    accuracy = min(max(-math.log10(max(nrmse, 10.0**-DECADES)) / DECADES, 0.0), 1.0)
    simplicity = math.exp(-complexity / SIMPLICITY_SCALE)
    return ACCURACY_WEIGHT * accuracy + (1.0 - ACCURACY_WEIGHT) * simplicity


def metric_score(
    value: float | None, *, higher_is_better: bool, reference: float | None, ceiling: float | None = None
) -> float:
    """Score of a measured metric.

    With a measured ceiling it is the share of the ceiling that is reached. Otherwise it is set against the
    root's value (`reference`), which scores 0.5: twice as good scores 2/3, half as good 1/3. Values that are
    not positive have no ratio and are squashed by an arc tangent around the reference instead.
    """
    if value is None or not math.isfinite(value):
        return 0.0
    if ceiling is not None and ceiling > 0 and higher_is_better:
        return min(max(value / ceiling, 0.0), 1.0)
    base = value if reference is None else reference
    if value > 0 and base > 0:
        good, other = (value, base) if higher_is_better else (base, value)
        return good / (good + other)
    scale = max(abs(base), 1e-12)
    step = (value - base) / scale if higher_is_better else (base - value) / scale
    return 0.5 + math.atan(step) / math.pi
