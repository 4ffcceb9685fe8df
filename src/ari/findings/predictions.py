"""What a submitted formula predicts on every part of the data: the numbers behind the parity figure.

The formula is parsed from its text each time, so what is drawn is what the text says. Reading the sealed
rows is logged as every access is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ari.findings.study import FinishedStudy

if TYPE_CHECKING:
    import numpy as np

    from sr_harness.core import AgentContext

PARTS = ("train", "validation", "sealed")


@dataclass(frozen=True)
class Prediction:
    """Measured and predicted values of one part, in the shape of the target."""

    measured: np.ndarray[Any, Any]
    predicted: np.ndarray[Any, Any]


def open_parts(study: FinishedStudy, *, reason: str) -> dict[str, AgentContext]:
    """The parts of the data that the checkpoint still holds; a bundle may lack the sealed rows.

    Args:
        study: A symbolic study.
        reason: Why, for the log of accesses to the sealed rows.

    Raises:
        EvaluationError: When the sealed rows are not those that were sealed.
    """
    from ari.evaluation.data import HOLDOUT, TRAIN, VALIDATION, open_holdout, open_train, open_validation

    parts: dict[str, AgentContext] = {}
    if (study.path / TRAIN / "manifest.json").is_file():
        parts["train"] = open_train(study.path)
    if (study.path / VALIDATION / "manifest.json").is_file():
        parts["validation"] = open_validation(study.path)
    sealed = study.meta.get("sealed")
    if (study.path / HOLDOUT / "manifest.json").is_file() and isinstance(sealed, Mapping):
        parts["sealed"] = open_holdout(study.path, committed=str(sealed.get("sha256", "")), reason=reason)
    return parts


def judged_parts(study: FinishedStudy, *, reason: str) -> dict[str, AgentContext]:
    """The same with the target among the data: where it is a derivative, as estimated in each part.

    Raises:
        EvaluationError: When the sealed rows are not those that were sealed.
    """
    from ari.evaluation.dynamics import judged_context

    time = study.experiment.time if study.experiment else None
    return {
        name: judged_context(part, study.target, time)
        for name, part in open_parts(study, reason=reason).items()
    }


def predict(formula: str, context: AgentContext, target: str) -> Prediction:
    """Evaluate a formula on the rows of `context`.

    Raises:
        ExpressionError: When the formula does not parse or its arrays do not align.
    """
    import numpy as np

    from sr_harness.engine import Structure, evaluate, parse

    expression = parse(formula, names=[name for name in context.data if name != target])
    measured = np.asarray(context.data[target], dtype=np.float64)
    values = evaluate(expression, context.data, structure=Structure.from_context(context))
    return Prediction(measured, np.array(np.broadcast_to(values, measured.shape), dtype=np.float64))
