"""Printed formulas: the formula that a paper marks as a node's must be the one that the node submitted.

Only the texts are compared, so this works without the data; that the formula predicts what was recorded is
proven when the paper is written and before it is compiled (`ari.paper.formula.check_printed`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ari.formats.gate_report import GateFinding
from ari.pipeline.claim_gate.findings import finding
from ari.pipeline.claim_gate.source import PaperSource
from ari.pipeline.claim_gate.study import StudyFiles

if TYPE_CHECKING:
    from ari.paper.formula import Printed

_MARK = re.compile(r"^% (?:EQUATION|FORMULA):", re.MULTILINE)
_FIX = "Write the paper again; formulas are generated, not edited."


def check_formulas(source: PaperSource, study: StudyFiles) -> list[GateFinding]:
    """Compare every marked formula of a paper with what its node submitted.

    Args:
        source: The source.
        study: The study's files.

    Returns:
        One `numeric_mismatch` per formula that is another, one `operand_unresolved` per formula whose node
        recorded none.
    """
    if _MARK.search(source.text) is None:
        return []
    from ari.paper.formula import read_printed

    printed = list(read_printed(source))
    plain: dict[str, Printed] = {}
    for item in printed:
        if item.text is not None:
            plain.setdefault(item.node_id, item)
    found = []
    for item in printed:
        formula = submitted(study, item.node_id)
        if formula is None:
            kind, message = "operand_unresolved", f"{item.node_id} recorded no formula that can be compared"
        else:
            kind, message = "numeric_mismatch", _difference(item, formula, plain)
        if message:
            found.append(finding(kind, message, file=item.place.file, line=item.place.line, fix=_FIX))
    return found


def submitted(study: StudyFiles, node_id: str) -> str | None:
    """Read the formula in a node's report; None where it holds none."""
    submission = study.report(node_id).get("submission") if node_id in study.nodes else None
    text = submission.get("formula") if isinstance(submission, Mapping) else None
    return text if isinstance(text, str) else None


def _difference(item: Printed, submitted: str, plain: Mapping[str, Printed]) -> str:
    """How a printed formula differs from the submitted one; empty when it does not."""
    from ari.paper.formula import same_latex
    from sr_harness.engine import parse
    from sr_harness.errors import ExpressionError

    try:
        if item.text is not None:
            same = parse(item.text) == parse(submitted)
            return "" if same else f"the printed formula {item.text!r} is not {item.node_id}'s, {submitted!r}"
        partner = plain.get(item.node_id)
        if partner is not None and same_latex(item, submitted, partner.target):
            return ""
        return f"the printed equation is not the formula of {item.node_id}, {submitted!r}"
    except ExpressionError as error:
        return f"the printed formula cannot be read: {error}"
