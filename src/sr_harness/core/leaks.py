"""The leak lint: does a description give away the law that is to be found?

The specification advises that no description contains the formula of the data or names its functional form;
a program cannot judge language reliably, so findings are warnings. To keep false alarms rare, words that
also name instruments, units or procedures (`cubic metres`, `linear accelerator`, `exponential moving
average`, 空气质量指数) count only together with a word such as "decay", "relation" or 函数; equations are
told from ordinary text in `sr_harness.core.equations`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from sr_harness.core.equations import find_equation

_NOUN = (
    r"(?:functions?|form|relation(?:ship)?|dependenc[ey]|law|curve|trend|model|fit|growth|decay|decline|"
    r"decrease|increase|rise|fall|terms?|equation|shape|profile|response|behaviou?r|scaling|polynomial)"
)
_ENGLISH = (
    rf"exponential(?:ly)?[\s-]+(?:{_NOUN}|decaying|growing|damped|increasing|decreasing|saturating)",
    r"(?:decay|grow|fall|rise|vary|varies|increas|decreas|depend|damp|saturat)\w*\s+(?:\w+\s+)?"
    r"(?:exponentially|linearly|quadratically|cubically|logarithmically|polynomially|hyperbolically)",
    r"(?:quadratic|cubic|quartic|linear|logarithmic|hyperbolic|parabolic|logistic|gaussian|rational|"
    rf"trigonometric|harmonic)[\s-]+{_NOUN}",
    r"(?:linearly|inversely|exponentially|logarithmically)\s+(?:related|dependent|proportional)",
    r"quadratically|sinusoidal(?:ly)?(?!\s+projection)|sigmoidal(?:ly)?|hyperbolic\s+tangent|polynomials?|"
    r"parabola|hyperbola",
    r"(?:sine|cosine)[\s-]+(?:wave|function|curve|law)|power[\s-]law|inverse[\s-](?:square|cube)",
    r"(?:linear|exponential)\s+(?:combination|superposition)",
    r"proportional\s+to|scales?\s+(?:linearly|as|with)\s+(?:the\s+)?(?:square|cube|inverse|root|power|log)\w*",
    r"(?:arrhenius|michaelis[\s–-]menten|lotka[\s–-]volterra|stefan[\s–-]boltzmann|beer[\s–-]lambert)",
)
_NAMED_LAW = (
    r"\b(?!(?:The|This|A|No)\b)[A-Z][a-z]+(?:['’]s)?(?:\s+(?:first|second|third))?\s+(?:law|equation)\b"
)
_CHINESE = (
    r"指数(?:型|式|形式)?(?:衰减|增长|增加|减小|下降|上升|函数|关系|规律|律|曲线|依赖|形式)",
    r"(?:线性|二次|三次|多次|对数|双曲线?|有理|逻辑斯[谛蒂]|高斯|三角|幂)(?:型|式|形式)?"
    r"(?:函数|关系|增长|衰减|下降|上升|规律|律|曲线|方程|依赖|多项式|组合|叠加)",
    r"正弦|余弦|多项式|抛物线|幂律|[Ss]\s?[型形]曲线|平方反比|成?(?:正|反)比|∝",
)
_FORMS = (
    *(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for pattern in _ENGLISH),
    re.compile(_NAMED_LAW),
    *(re.compile(pattern) for pattern in _CHINESE),
)
_OPERATION_ON = re.compile(
    r"\b(?:square root|cube root|square|cube|logarithm|log|sine|cosine|exponential|reciprocal|inverse|"
    r"product|sum|ratio|quotient|difference)\s+of\s+(?:the\s+)?(?P<name>[^\W\d]\w*)",
    re.IGNORECASE,
)
_CHINESE_OPERATION = re.compile(r"的\s?(?:平方根?|立方根?|倒数|对数|指数|正弦|余弦)")
_LONGEST_TEXT = 4000  # characters; what is longer is no description and must not cost time


def lint_descriptions(descriptions: Mapping[str, str]) -> list[str]:
    """Warn of descriptions that contain an equation or name a functional form.

    Args:
        descriptions: name of a variable or axis to its description; the names help to tell an expression in
            the variables from ordinary words.

    Returns:
        One message for each description that gives something away.
    """
    findings = []
    for name, text in descriptions.items():
        leak = find_leak(text, descriptions)
        if leak:
            findings.append(
                f"the description of {name!r} {leak}, which may give away the law to be found; "
                "describe meaning, unit and origin instead"
            )
    return findings


def find_leak(text: str, names: Collection[str] = ()) -> str | None:
    """Return what `text` gives away ("contains the equation …", "names the functional form …"), or None."""
    text = text[:_LONGEST_TEXT]
    equation = find_equation(text, names)
    if equation:
        return f"contains the equation {equation!r}"
    form = _form(text) or _operation(text, names)
    return f"names the functional form {form!r}" if form else None


def _form(text: str) -> str | None:
    found = next(filter(None, (pattern.search(text) for pattern in _FORMS)), None)
    return found[0] if found else None


def _operation(text: str, names: Collection[str]) -> str | None:
    """An operation on one of the variables, put in words: "square of x", "x 的平方"."""
    for found in _OPERATION_ON.finditer(text):
        if found["name"] in names:
            return found[0]
    for found in _CHINESE_OPERATION.finditer(text):
        before = text[: found.start()].rstrip()
        name = next((name for name in names if name and before.endswith(name)), None)
        if name:
            return f"{name} {found[0]}"
    return None
