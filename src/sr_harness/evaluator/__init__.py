"""Splits and metrics: how rows are divided and how predictions are judged.

Promises: a split depends on nothing but its arguments; a metric is a finite number or `None`.
"""

from __future__ import annotations

from sr_harness.evaluator.metrics import regression_metrics
from sr_harness.evaluator.splits import Split, make_split

__all__ = ["Split", "make_split", "regression_metrics"]
