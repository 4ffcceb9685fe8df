r"""The law as mathematics in the text, `$T = a^{1.5}$`: it must be one that a node recorded.

Read are formulas in abstract, results and conclusion whose left side is the target of the study; displays
with a mark are compared exactly (`formula_checks`). A formula is compared by what it is made of: names and
numbers in their order, and signs. It is wrong when it has the names and numbers of a recorded formula at the
same places, but other numbers or signs, or when a decimal number of it stands in no recorded formula. What
is written in another form, with numbers that are all recorded, is not judged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ari.formats.gate_report import Evidence, GateFinding
from ari.pipeline.claim_gate.findings import finding
from ari.pipeline.claim_gate.links import ClaimLinks
from ari.pipeline.claim_gate.printed_formulas import LEAST_DIGITS, recorded_formulas, shown_digits
from ari.pipeline.claim_gate.sections import STRICT_SECTIONS, Sections
from ari.pipeline.claim_gate.study import StudyFiles
from ari.pipeline.claim_gate.tex import Span

_MARKED = re.compile(r"% EQUATION:")
_TOKEN = re.compile(r"(?P<number>\d+(?:\.\d+)?|\.\d+)|\\?(?P<name>[^\W\d_]+)|(?P<sign>[-+/^−])")
_LAYOUT = frozenset(
    {
        *("left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "cdot", "times", "quad", "qquad"),
        *("mathrm", "mathit", "mathbf", "mathsf", "text", "textrm", "operatorname", "displaystyle"),
    }
)


class _Made(NamedTuple):
    """What a formula is made of: names and numbers in order, and how often each sign stands in it.

    Attributes:
        names: The names.
        numbers: The numbers.
        signs: How often each sign stands in it.
        shape: Names and numbers together, each number as `#`.
    """

    names: tuple[str, ...]
    numbers: tuple[float, ...]
    signs: Counter[str]
    shape: tuple[str, ...]

    @property
    def decimals(self) -> Counter[float]:
        """The numbers that are not whole."""
        return Counter(number for number in self.numbers if number != int(number))

    def same(self, other: _Made) -> bool:
        """Whether both are made of the same."""
        return self[:3] == other[:3]


def check_laws(links: ClaimLinks, study: StudyFiles, science_data: Mapping[str, Any]) -> list[GateFinding]:
    """Compare every formula for the target with what the nodes recorded.

    Args:
        links: The links of the paper.
        study: The study's files.
        science_data: The parsed `science_data.json`; it names the target.

    Returns:
        One `numeric_mismatch` per formula that is another.
    """
    context = science_data.get("experiment_context")
    target = context.get("target") if isinstance(context, Mapping) else None
    if not isinstance(target, str) or not target:
        return []
    equations = _equations(links)
    recorded = recorded_formulas(study, science_data) if equations else {}
    laws = _laws(links, equations, _left_sides(target, recorded)) if recorded else ()
    found = []
    for place, text in laws:
        node_id = _right(text, recorded)
        if node_id is not None:
            found.append(
                finding(
                    "numeric_mismatch",
                    f"the printed formula {text!r} differs from the recorded one: {node_id} has "
                    f"{recorded[node_id]!r}",
                    **links.paper.where(place.start),
                    printed=text,
                    evidence=Evidence(
                        node_id=node_id, metric_path="submission.formula", formula=recorded[node_id]
                    ),
                    fix="Write the paper again; formulas are generated, not edited.",
                )
            )
    return found


class _Equation(NamedTuple):
    """Mathematics with an equals sign: where it stands, and its first two sides."""

    place: Span
    left: str
    right: str


def _equations(links: ClaimLinks) -> list[_Equation]:
    paper = links.paper
    found = []
    for span in paper.formulas.items:
        left, *right = paper.uncommented[span.start : span.end].strip("$").split("=")
        if right and paper.body.start <= span.start < paper.body.end:
            found.append(_Equation(span, left, right[0].strip()))
    return found


def _left_sides(target: str, recorded: Mapping[str, str]) -> list[_Made]:
    """How papers write the target: by its name, and as the derivative that it is for some formulas."""
    from ari.paper.formula import equation_latex
    from sr_harness.engine import latex
    from sr_harness.engine.build import var
    from sr_harness.errors import ExpressionError

    sides = {latex(var(target))}
    for formula in dict.fromkeys(recorded.values()):
        try:
            sides.add(equation_latex(formula, target, None).partition(" = ")[0])
        except ExpressionError:
            continue
    return [_made(side) for side in sides]


def _laws(
    links: ClaimLinks, equations: Iterable[_Equation], sides: Sequence[_Made]
) -> Iterator[tuple[Span, str]]:
    """Equations whose left side is the target, with what stands on the right."""
    sections = Sections(links.paper)
    for equation in equations:
        place, left = equation.place, _made(equation.left)
        if (
            any(left.same(side) for side in sides)
            and sections.at(place.start) in STRICT_SECTIONS
            and _MARKED.search(links.paper.source, place.start, place.end) is None
        ):
            yield place, equation.right


def _right(text: str, recorded: Mapping[str, str]) -> str | None:
    """The node whose formula a text should be; None where it is right or cannot be judged."""
    from sr_harness.engine import latex, parse
    from sr_harness.errors import ExpressionError

    printed = _made(text)
    alike, known = None, not printed.decimals
    first: dict[str, str] = {}
    for node, formula in recorded.items():
        first.setdefault(formula, node)
    for formula, node in first.items():
        try:
            expression = parse(formula)
        except ExpressionError:
            continue
        for digits in (None, max(LEAST_DIGITS, shown_digits(text))):
            made = _made(latex(expression, digits=digits))
            if made.same(printed):
                return None
            known = known or printed.decimals <= made.decimals
            if alike is None and made.shape == printed.shape:
                alike = node
    return alike if alike is not None or known else next(iter(recorded), None)


def _made(latex: str) -> _Made:
    names: list[str] = []
    numbers: list[float] = []
    signs: Counter[str] = Counter()
    shape: list[str] = []
    for token in _TOKEN.finditer(latex):
        name, number, sign = token.group("name", "number", "sign")
        if sign or name == "frac":
            signs["/" if name else sign.replace("−", "-")] += 1
        elif number:
            numbers.append(float(number))
            shape.append("#")
        elif name not in _LAYOUT:
            names.append(name)
            shape.append(name)
    return _Made(tuple(names), tuple(numbers), signs, tuple(shape))
