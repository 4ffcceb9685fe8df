r"""The printed formula, and the proof that it is the scored model.

A paper carries its formula twice: as mathematics, generated from the expression, and as plain text in the
expression language, exact. Both are marked by a comment that names the node:

    % EQUATION:node_0007 digits=4          % FORMULA:node_0007
    T = {a}^{1.5}                          T = a**1.5     (verbatim, may be broken over lines)

`check_printed` reads them back from the source: the plain text must parse to a model that predicts what the
submitted formula predicts on the training, validation and sealed rows and has the recorded errors there, and
the mathematics must be what that model gives.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ari.errors import PaperError
from ari.latex.escape import escape
from ari.pipeline.claim_gate.source import PaperSource, Place

if TYPE_CHECKING:
    from ari.findings.study import FinishedStudy
    from sr_harness.core import AgentContext

DIGITS = 4
LONG = 150
"""Characters of mathematics that fit into one line of a column, roughly."""

WIDTH = 54
_TOLERANCE = 1e-9
_DERIVATIVE = re.compile(r"d(?P<state>\w+)_dt")

_EQUATION = re.compile(
    r"^% EQUATION:(?P<node>\S+)(?: digits=(?P<digits>\d+))?\n(?P<body>.*?)\n\\end\{equation\}", re.M | re.S
)
_PLAIN = re.compile(
    r"^% FORMULA:(?P<node>\S+)\n\{\\footnotesize\n\\begin\{verbatim\}\n(?P<body>.*?)\n\\end\{verbatim\}",
    re.M | re.S,
)


@dataclass(frozen=True)
class Printed:
    """A formula as it stands in a paper.

    Attributes:
        node_id: Whose formula it says it is.
        target: The left side.
        text: The right side, plain; None where only mathematics is printed.
        latex: The mathematics, anchors and line breaks removed; None where only plain text is printed.
        digits: Digits of the constants in the mathematics.
        place: Where its mark stands.
        drawn_in: Whether that is a file which the paper draws in.
    """

    node_id: str
    target: str
    text: str | None
    latex: str | None
    digits: int | None
    place: Place
    drawn_in: bool

    @property
    def where(self) -> str:
        """Its place in words."""
        return f"{self.place.file}, line {self.place.line}" if self.drawn_in else f"line {self.place.line}"


def equation_mark(node_id: str, digits: int | None) -> str:
    """The comment in front of the mathematics of a formula."""
    return f"% EQUATION:{node_id}" + (f" digits={digits}" if digits else "")


def plain_mark(node_id: str) -> str:
    """The comment in front of a formula in plain text."""
    return f"% FORMULA:{node_id}"


def equation_latex(text: str, target: str, digits: int | None) -> str:
    r"""The mathematics of `target = text`; a target `dx_dt` of a formula in x is set as \frac{dx}{dt}.

    Raises:
        ExpressionError: When the text does not parse.
    """
    from sr_harness.engine import latex, parse, variables
    from sr_harness.engine.build import var

    expression = parse(text)
    form = _DERIVATIVE.fullmatch(target)
    left = latex(var(target))
    if form is not None and form["state"] in variables(expression):
        left = rf"\frac{{\mathrm{{d}}\,{latex(var(form['state']))}}}{{\mathrm{{d}}t}}"
    return f"{left} = {latex(expression, digits=digits)}"


def rounded_digits(text: str) -> int | None:
    """The digits to print constants with: None where the exact ones are short enough."""
    return None if equation_latex(text, "y", None) == equation_latex(text, "y", DIGITS) else DIGITS


def short(text: str) -> str:
    """A formula for a table: its numbers with four digits; as it is where it cannot be read."""
    from sr_harness.engine import parse, render
    from sr_harness.errors import ExpressionError

    try:
        return render(parse(text), digits=DIGITS)
    except ExpressionError:
        return text


def broken(latex: str) -> list[str]:
    """Mathematics broken over lines before a plus or minus outside of all brackets."""
    lines, start, depth = [], 0, 0
    for match in re.finditer(r"\\left|\\right|[{}]| [+-] ", latex):
        token = match.group()
        depth += (token in ("{", r"\left")) - (token in ("}", r"\right"))
        if token in (" + ", " - ") and depth == 0 and match.start() - start > LONG / 2:
            lines.append(latex[start : match.start()])
            start = match.start() + 1
    return [*lines, latex[start:]]


def plain_lines(text: str, target: str) -> list[str]:
    """`target = text`, broken over lines where there is a blank; joined lines give the text again."""
    return textwrap.wrap(
        f"{target} = {text}", WIDTH, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )


def read_printed(source: str | PaperSource) -> Iterator[Printed]:
    """Read every marked formula of a paper's source."""
    origin = source if isinstance(source, PaperSource) else PaperSource.of_text(source)

    def printed(match: re.Match[str], target: str, text: str | None, latex: str | None) -> Printed:
        digits = match.groupdict().get("digits")
        place = origin.place(match.start())
        drawn_in = place.file != origin.file
        return Printed(match["node"], target, text, latex, int(digits) if digits else None, place, drawn_in)

    for match in _EQUATION.finditer(origin.text):
        lines = [re.sub(r"(?<!\\)%.*", "", line).strip() for line in match.group("body").splitlines()]
        lines = [line for line in lines if not line.startswith((r"\begin{gathered}", r"\end{gathered}"))]
        latex = " ".join(re.sub(r"\s*\\\\$", "", line) for line in lines if line)
        yield printed(match, latex.partition(" = ")[0], None, latex)
    for match in _PLAIN.finditer(origin.text):
        joined = " ".join(line.strip() for line in match.group("body").splitlines())
        target, _, text = joined.partition(" = ")
        yield printed(match, target, text, None)


def check_printed(tex: str | PaperSource, study: FinishedStudy) -> dict[str, Any]:
    """Check every printed formula against the model that was scored.

    Args:
        tex: The source of the paper.
        study: The study.

    Returns:
        A report: `formulas`, per formula its node, line and the largest relative difference of predictions on
        each part of the data.

    Raises:
        PaperError: When a formula does not parse, belongs to no node, or is not the scored model; the message
            names line and difference.
    """
    from ari.findings.predictions import judged_parts

    printed = list(read_printed(tex))
    parts = (
        judged_parts(study, reason="paper: the printed formula against the scored model") if printed else {}
    )
    texts = {item.node_id: item for item in printed if item.text is not None}
    checked = [_check_plain(item, study, parts) for item in printed if item.text is not None]
    for item in printed:
        if item.text is not None:
            continue
        plain = texts.get(item.node_id)
        if plain is None or plain.text is None:
            raise PaperError(
                f"{item.where}: the equation of {item.node_id} is printed without its plain form",
                cure="Print both, or neither.",
            )
        _check_latex(item, plain.text, study.target)
    return {"formulas": checked}


def same_latex(item: Printed, text: str, target: str) -> bool:
    """Whether printed mathematics is what a formula gives.

    Raises:
        ExpressionError: When the text does not parse.
    """
    return _blanks(item.latex or "") == _blanks(_expected(item, text, target))


def _expected(item: Printed, text: str, target: str) -> str:
    return "".join(c if c.isascii() else escape(c).text for c in equation_latex(text, target, item.digits))


def _check_latex(item: Printed, text: str, target: str) -> None:
    if not same_latex(item, text, target):
        raise PaperError(
            f"{item.where}: the printed equation is not the formula of {item.node_id}: "
            f"it reads {item.latex!r}, the model is {_expected(item, text, target)!r}",
            cure="Write the paper again; equations are generated, not edited.",
        )


def _blanks(latex: str) -> str:
    return " ".join(latex.split())


def _check_plain(item: Printed, study: FinishedStudy, parts: Mapping[str, AgentContext]) -> dict[str, Any]:
    import numpy as np

    from ari.findings.predictions import predict
    from sr_harness.errors import ExpressionError

    node = study.node(item.node_id)
    if node is None or node.formula is None or item.text is None:
        raise PaperError(f"{item.where}: the printed formula belongs to no node ({item.node_id})")
    differences: dict[str, float] = {}
    for name, context in parts.items():
        try:
            shown = predict(item.text, context, study.target)
        except ExpressionError as error:
            raise PaperError(f"{item.where}: the printed formula cannot be read: {error}") from error
        scored = predict(node.formula, context, study.target)
        scale = float(np.nanmax(np.abs(scored.predicted), initial=0.0)) or 1.0
        same = (shown.predicted == scored.predicted) | (
            np.isnan(shown.predicted) & np.isnan(scored.predicted)
        )
        off = np.where(same, 0.0, np.abs(shown.predicted - scored.predicted) / scale)
        differences[name] = float(np.max(np.where(np.isnan(off), np.inf, off), initial=0.0))
        _check_recorded(item, name, shown, node.metrics)
    worst = max(differences, key=lambda name: differences[name], default="")
    if worst and differences[worst] > _TOLERANCE:
        raise PaperError(
            f"{item.where}: the printed formula is not the scored model of {item.node_id}: on the "
            f"{worst} rows "
            f"their predictions differ by {differences[worst]:.3g} of the largest one",
            cure="Write the paper again; formulas are generated, not edited.",
        )
    return {
        "node_id": item.node_id,
        "line": item.place.line,
        "text": item.text,
        "relative_difference": differences,
    }


def _check_recorded(item: Printed, part: str, shown: Any, metrics: Mapping[str, float]) -> None:  # noqa: ANN401
    """The error that was recorded for this part must be the one that the printed formula has."""
    import math

    from sr_harness.evaluator import regression_metrics

    name = {"validation": "rmse", "sealed": "sealed_rmse"}.get(part)
    if name is None or name not in metrics:
        return
    found = dict(regression_metrics(shown.measured, shown.predicted))["rmse"]
    if found is None or not math.isclose(found, metrics[name], rel_tol=1e-6, abs_tol=1e-12):
        raise PaperError(
            f"{item.where}: on the {part} rows the printed formula has the error {found}, recorded for "
            f"{item.node_id} is {metrics[name]!r}",
            cure="Write the paper again; if this stays, the data of the study have changed.",
        )
