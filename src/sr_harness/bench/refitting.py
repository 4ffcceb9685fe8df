"""One more local fit of a formula that comes from elsewhere, whatever numbers it brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from sr_harness.bench.sampling import Floats
from sr_harness.errors import FitError

if TYPE_CHECKING:
    from sr_harness.engine import Expression

MOST_NUMBERS: Final = 60


def refitted(formula: Expression, columns: Mapping[str, Floats], target: Floats) -> Expression | None:
    """The formula with its numbers (but whole ones) moved to the nearest best fit.

    Returns:
        None where there are no numbers to move, too many, or the fit fails.
    """
    from sr_harness import engine

    template, numbers = engine.free_numbers(formula)
    if not 0 < len(numbers) <= MOST_NUMBERS:
        return None
    try:
        with np.errstate(all="ignore"):
            return engine.fit(template, columns, target, local=True).expression
    except (FitError, np.linalg.LinAlgError):  # the second where the numbers are near the limits of float64
        return None
