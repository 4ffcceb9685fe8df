"""Planting single-number faults in a paper, to see whether the gate finds every one.

Nothing here uses the linker or the gate: the anchors, the printed numbers and the rule of what is a fault are
read anew, simply and on purpose differently. `plant_faults` takes any paper with its `science_data.json`,
`plant_formula_faults` any paper with the formulas of its nodes; `undetected` runs the gate on each of them.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

_LITERAL = re.compile(
    r"(?<![\w.^_{\\-])(?P<sign>[-−+]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<fraction>\.\d+)?(?P<exp>e[-+]?\d+)?"
    r"(?P<power>\s*\\(?:times|cdot)\s*10\s*\^\s*\{(?P<n>[-−]?\d+)\})?(?![\d])"
)
_ANCHORED = re.compile(r"CLAIM:(\w[\w.-]*):(\w[\w.-]*)")
_MARKUP = re.compile(r"\\(?:path|hyperlink|hyperref|ref|label|cite\w*|textcolor)\s*(?:\[[^\]]*\])?\{[^{}]*\}")
_PREFIXED = re.compile(r"(?P<before>\s|~|\\,|\{)(?P<prefix>[GMk])(?P<unit>Flops?/s|FLOPS|B/s|B\b|Flop\\per)")
_FEWER = re.compile(r"\b(fall|drop|decreas|reduc|lower|less|declin|below|cut|under|loss)", re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """A paper with one number that is wrong.

    Attributes:
        kind: What was done to it.
        tex: The paper.
        line: Line of the number.
        anchor: `Cx:NCx` that it belongs to.
        original: The text as it was.
        replacement: The text as it is.
    """

    kind: str
    tex: str
    line: int
    anchor: str
    original: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.kind} at line {self.line} ({self.anchor}): {self.original!r} -> {self.replacement!r}"


@dataclass(frozen=True)
class _Target:
    start: int
    text: str
    value: float
    quantum: float
    anchor: str
    assertion: Mapping[str, Any]
    truth: float
    percent: bool


def plant_faults(tex: str, science_data: Mapping[str, Any], others: Sequence[float] = ()) -> Iterator[Fault]:
    """Plant one fault after the other.

    Args:
        tex: A paper whose numbers are right.
        science_data: Its registry; the `value` of an assertion is taken for the truth.
        others: Values that a writer could take by mistake, beside those of the same metric of other nodes.

    Yields:
        Papers with a single wrong number each. Changes that stay within the tolerance are none.
    """
    for target in _targets(tex, science_data):
        seen: set[str] = set()
        near = [*others, *_of_other_nodes(target.assertion, science_data)]
        for kind, replacement in _mutations(target, near):
            text, drop = replacement
            end = target.start + len(target.text)
            if text in seen or not _leaves_tolerance(target, text, drop):
                continue
            seen.add(text)
            tail = tex[end:]
            if drop == "percent":
                tail = tail.replace("\\%", "", 1)
            elif drop == "add":
                text = f"{text}\\%"
            yield Fault(
                kind=kind,
                tex=tex[: target.start] + text + tail,
                line=tex.count("\n", 0, target.start) + 1,
                anchor=target.anchor,
                original=target.text,
                replacement=text + (" without %" if drop == "percent" else ""),
            )
        yield from _unit_faults(tex, target)


def plant_formula_faults(
    tex: str, formulas: Mapping[str, str], inputs: Sequence[str] = ()
) -> Iterator[Fault]:
    r"""Plant one fault after the other in the formulas that a paper prints.

    Found are the texts in `\path` and `\texttt` that are a formula but for the rounding of its numbers, laws
    written as mathematics in the text, and what stands below the marks `% EQUATION:` and `% FORMULA:`.

    Args:
        tex: A paper whose formulas are right.
        formulas: Node to the formula it submitted.
        inputs: Names of the inputs, one of which could be taken for another.

    Yields:
        Papers with one wrong formula each.
    """
    shapes = {_shape(text) for text in formulas.values()}
    for match in re.finditer(r"\\(?:path|texttt)\{(?:\w+ = )?(?P<text>[^{}]+)\}", tex):
        line = tex[tex.rfind("\n", 0, match.start()) + 1 : tex.find("\n", match.end())]
        row = re.match(r"\\texttt\{([\w\\]+)\} &", line)
        node = row.group(1).replace("\\", "") if row else ""
        text = match.group("text")
        if not _is_formula(_shape(text), shapes) or (_shape(text) == "#" and node not in formulas):
            continue
        right = {_rounded(t) for t in ([formulas[node]] if node in formulas else formulas.values())}
        changes = list(_formula_changes(text))
        if node in formulas:
            changes += [("formula of another node", _rounded(other)) for other in formulas.values()]
            changes += [("another input", c) for c in _renamed(text, inputs)]
        for kind, changed in dict.fromkeys(changes):
            if _rounded(changed) not in right and changed != text:
                yield _formula_fault(tex, match.span("text"), changed, kind, node, match.start())
    for law in re.finditer(r"\$[^$=\n]*[A-Za-z][^$=\n]* = (?P<text>[^$=\n]*[A-Za-z][^$=\n]*)\$", tex):
        for kind, changed in _formula_changes(law.group("text")):
            yield _formula_fault(tex, law.span("text"), changed, kind, "", law.start())
    for mark in re.finditer(
        r"^% (?:EQUATION|FORMULA):(\S+).*\n(?:\{\\footnotesize\n.*\n)?(.*)", tex, re.MULTILINE
    ):
        for kind, changed in _formula_changes(mark.group(2)):
            yield _formula_fault(tex, mark.span(2), changed, kind, mark.group(1), mark.start())


def _formula_fault(tex: str, place: tuple[int, int], changed: str, kind: str, node: str, where: int) -> Fault:
    start, end = place
    return Fault(
        kind=kind,
        tex=tex[:start] + changed + tex[end:],
        line=tex.count("\n", 0, where) + 1,
        anchor=node,
        original=tex[start:end],
        replacement=changed,
    )


_PLAIN_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")


def _shape(formula: str) -> str:
    return re.sub(r"\s", "", _PLAIN_NUMBER.sub("#", formula))


def _is_formula(shape: str, shapes: Iterable[str]) -> bool:
    """Whether a text has the shape of a formula, or of a part of one."""
    part = re.sub(r"^-?\(?|\)$", "", shape) if shape.startswith("-(") else shape
    return shape in shapes or (re.search(r"[-+*/]", part) is not None and any(part in s for s in shapes))


def _rounded(formula: str) -> str:
    return _PLAIN_NUMBER.sub(lambda m: f"{float(m.group()):.4g}", formula)


def _formula_changes(text: str) -> Iterator[tuple[str, str]]:
    for number in _PLAIN_NUMBER.finditer(text):
        for changed in _digits_changed(number.group()):
            yield "digit of a formula", text[: number.start()] + changed + text[number.end() :]
    for sign in re.finditer(r" ([-+]) |(?<!\*)(\*)(?!\*)|(\*\*)", text):
        start, end = sign.span(sign.lastindex or 0)
        swapped = {"+": "-", "-": "+", "*": "/", "**": "*"}[sign.group(sign.lastindex or 0)]
        yield "operator of a formula", text[:start] + swapped + text[end:]


def _renamed(text: str, inputs: Sequence[str]) -> Iterator[str]:
    for name in inputs:
        for other in inputs:
            changed = re.sub(rf"\b{re.escape(name)}\b", other, text)
            if changed != text:
                yield changed


def undetected(
    checkpoint: Path, faults: Iterable[Fault], scratch: Path, *, paper: str = "paper.tex"
) -> tuple[int, list[Fault]]:
    """Run the strict final gate on every faulty paper.

    Args:
        checkpoint: The study.
        faults: The faults.
        scratch: An empty directory.
        paper: Name of the paper in the checkpoint.

    Returns:
        How many faults were tried, and those for which no error names their line.
    """
    from ari.pipeline.claim_gate.gate import run_hard_gate

    copy = scratch / "checkpoint"
    shutil.copytree(checkpoint, copy)
    tried, missed = 0, []
    for fault in faults:
        (copy / paper).write_text(fault.tex, encoding="utf-8")
        report = run_hard_gate(copy, paper=copy / paper)
        tried += 1
        if not report.should_block or fault.line not in [error.line for error in report.errors]:
            missed.append(fault)
    return tried, missed


def _assertions(science_data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for claim in science_data.get("claims", []):
        for assertion in claim.get("numeric_assertions", []):
            found[f"{claim.get('id')}:{assertion['id']}"] = assertion
    return found


def _of_other_nodes(assertion: Mapping[str, Any], science_data: Mapping[str, Any]) -> list[float]:
    """What other configurations have where an assertion takes its value from."""
    place = assertion.get("operands", {}).get("value", {})
    family, _, metric = str(place.get("metric_path", "")).partition(".")
    found = []
    for configuration in science_data.get("configurations", []):
        value = (configuration.get(family) or {}).get(metric) if family == "metrics" else None
        if configuration.get("node_id") != place.get("node_id") and isinstance(value, (int, float)):
            found.append(float(value))
    return found


def _targets(tex: str, science_data: Mapping[str, Any]) -> Iterator[_Target]:
    """The literals that anchors stand for: the one on the anchor's line (or the next text) with its value."""
    assertions = _assertions(science_data)
    lines = tex.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    taken: set[int] = set()
    for number, line in enumerate(lines):
        comment = re.search(r"(?<!\\)%", line)
        if comment is None:
            continue
        for claim, numeric in _ANCHORED.findall(line[comment.start() :]):
            key = f"{claim}:{numeric}"
            assertion = assertions.get(key)
            if assertion is None or not isinstance(assertion.get("value"), (int, float)):
                continue
            place = number
            if not line[: comment.start()].strip():
                place = next(i for i in range(number + 1, len(lines)) if re.match(r"\s*[^%\s]", lines[i]))
            target = _target(tex, lines[place], starts[place], key, assertion, taken)
            if target is not None:
                taken.add(target.start)
                yield target


def _target(
    tex: str, line: str, start: int, key: str, assertion: Mapping[str, Any], taken: set[int]
) -> _Target | None:
    text = _MARKUP.sub(lambda match: " " * len(match.group()), re.sub(r"(?<!\\)%.*", "", line))
    truth = float(assertion["value"])
    for match in _LITERAL.finditer(text):
        if start + match.start() in taken:
            continue
        percent = re.match(r"\s*\$?\\%", text[match.end() :]) is not None
        value, quantum = _value(match)
        target = _Target(start + match.start(), match.group(), value, quantum, key, assertion, truth, percent)
        if percent == (assertion.get("unit") == "%") and not _off(target, value, quantum):
            return target
    return None


def _value(match: re.Match[str]) -> tuple[float, float]:
    digits = match.group("digits").replace(",", "")
    fraction = match.group("fraction") or ""
    power = match.group("n") or (match.group("exp") or "e0")[1:]
    exponent = int(power.replace("−", "-"))
    number = Decimal(digits + fraction).scaleb(exponent)
    quantum = Decimal(1).scaleb(exponent - max(0, len(fraction) - 1))
    return float(-number if match.group("sign") in ("-", "−") else number), float(quantum)


def _off(target: _Target, value: float, quantum: float) -> bool:
    """Whether a number leaves the tolerance: the rule of the documentation, written down once more."""
    given = target.assertion.get("tolerance") or {"relative": 0.02}
    absolute, relative = float(given.get("absolute", 0.0)), float(given.get("relative", 0.0))
    distance = abs(value - target.truth)
    if target.assertion.get("rounding") == "printed" or absolute == relative == 0.0:
        return distance > 0.5000001 * quantum or (value == 0.0 and target.truth != 0.0)
    return distance > max(absolute, relative * abs(target.truth)) * (1 + 1e-9) + 1e-300


def _leaves_tolerance(target: _Target, text: str, drop: str) -> bool:
    if drop:
        return target.truth != 0.0
    match = _LITERAL.fullmatch(text)
    return match is not None and _off(target, *_value(match))


def _mutations(target: _Target, others: Sequence[float]) -> Iterator[tuple[str, tuple[str, str]]]:
    text = target.text
    for kind, change in _CHANGES.items():
        for replacement in change(text):
            if replacement != text:
                yield kind, (replacement, "")
    for other in others:
        if not math.isclose(other, target.value, rel_tol=1e-3):
            yield "value of another node", (_printed_as(text, other), "")
    if target.percent and target.value:
        yield "fraction for percent", (f"{target.value / 100:.4g}", "percent")
        yield "percent sign lost", (text, "percent")
    elif "\\" not in text and target.assertion.get("unit") in ("", None):
        yield "percent for plain number", (text, "add")


def _printed_as(text: str, value: float) -> str:
    """A value the way that a literal is printed: a power of ten, or as many places behind the point."""
    power = re.search(r"\\(times|cdot)\s*10", text)
    if power is not None:
        mantissa, exponent = f"{value:.{len(text[: power.start()].strip().partition('.')[2])}e}".split("e")
        return f"{mantissa} \\{power.group(1)} 10^{{{int(exponent)}}}"
    places = len(text.partition(".")[2])
    shown = f"{value:.{min(max(places, 1), 12)}f}"
    return shown if float(shown) or not value else f"{value:.4g}"


def _swapped(text: str) -> Iterator[str]:
    head = re.split(r"\\|e", text)[0]
    for index in range(len(head) - 1):
        a, b = head[index], head[index + 1]
        if a.isdigit() and b.isdigit() and a != b and not (b == "0" and index == 0):
            yield text[:index] + b + a + text[index + 2 :]


def _digits_changed(text: str) -> Iterator[str]:
    head = re.split(r"\\|e", text)[0]
    for index, character in enumerate(head):
        if character.isdigit():
            for step in (1, 5):
                changed = str((int(character) + step) % 10)
                if not (index == 0 and changed == "0"):
                    yield text[:index] + changed + text[index + 1 :]


def _shifted(text: str) -> Iterator[str]:
    if "," in text or "\\" in text or "e" in text:
        return
    sign, number = (text[0], text[1:]) if text[0] in "-−+" else ("", text)
    whole, _, fraction = number.partition(".")
    digits = whole + fraction
    for places in (len(whole) - 1, len(whole) + 1):
        padded = digits.ljust(max(places, 1), "0")
        if 0 < places < len(padded):
            yield f"{sign}{padded[:places]}.{padded[places:]}"
        elif places == len(padded):
            yield sign + padded
        elif places == 0:
            yield f"{sign}0.{digits}"


def _sign_flipped(text: str) -> Iterator[str]:
    yield text[1:] if text[0] in "-−" else f"-{text.lstrip('+')}"


def _exponent_changed(text: str) -> Iterator[str]:
    match = re.search(r"(?:\^\s*\{|e)([-−+]?)(\d+)", text)
    if match is not None:
        start, end = match.span(2)
        yield text[:start] + str(int(match.group(2)) + 1) + text[end:]
        if match.group(1) in ("-", "−"):
            yield text[: match.start(1)] + text[match.end(1) :]


_CHANGES: dict[str, Callable[[str], Iterator[str]]] = {
    "digits swapped": _swapped,
    "digit changed": _digits_changed,
    "decimal point shifted": _shifted,
    "sign flipped": _sign_flipped,
    "exponent changed": _exponent_changed,
}


def _unit_faults(tex: str, target: _Target) -> Iterator[Fault]:
    """Another prefix of the unit behind the number, where the registry says which unit it is."""
    said = f"{target.assertion.get('unit') or ''} {target.assertion.get('metric') or ''}"
    if not re.search(r"\b[GMk](?:Flops?/s|FLOPS|B)", said):
        return
    end = target.start + len(target.text)
    line_end = tex.find("\n", end)
    match = _PREFIXED.match(tex[end:line_end].lstrip("$}") if line_end > 0 else tex[end:])
    if match is None:
        return
    offset = tex.index(match.group("prefix") + match.group("unit"), end)
    for prefix in "GMk":
        if prefix != match.group("prefix"):
            yield Fault(
                kind="unit prefix",
                tex=tex[:offset] + prefix + tex[offset + 1 :],
                line=tex.count("\n", 0, target.start) + 1,
                anchor=target.anchor,
                original=match.group("prefix") + match.group("unit"),
                replacement=prefix + match.group("unit"),
            )


def speaks_of_less(sentence: str) -> bool:
    """Whether a sentence speaks of a decrease: there a bare number may stand for a negative one."""
    return _FEWER.search(sentence) is not None
