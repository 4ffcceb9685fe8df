"""The leak lint: does a description give away the law that is to be found?

The specification advises that no description contains the formula of the data or names its functional form;
a program cannot judge language reliably, so findings are warnings. Two rules keep false alarms rare:
an assignment counts only where its right side is an expression with a name in it (`r = 0 at the axis` and
`1 atm = 101325 Pa` are none), and words that also name instruments, units or procedures (`cubic metres`,
`linear accelerator`, `exponential moving average`, 空气质量指数) count only together with a word such as
"decay", "relation" or 函数.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

_FORM_NOUN = (
    r"(?:function|functions|form|relation|relationship|dependence|dependency|law|curve|trend|model|fit|growth|"
    r"decay|decline|decrease|increase|rise|fall|term|terms|equation|shape|profile|response|behaviou?r|scaling)"
)
_ENGLISH = [
    rf"exponential(?:ly)?[\s-]+(?:{_FORM_NOUN}|decaying|growing|damped|increasing|decreasing|saturating)",
    r"(?:decays?|decaying|grows?|growing|falls?|rises?|increas\w+|decreas\w+|dependent|depends|damped|"
    r"saturat\w+)\s+(?:\w+\s+)?(?:exponentially|linearly|quadratically|cubically|logarithmically|"
    r"polynomially|sinusoidally|hyperbolically)",
    r"(?:quadratic|cubic|quartic|linear|logarithmic|hyperbolic|parabolic|logistic|gaussian|rational|"
    rf"trigonometric|harmonic)[\s-]+(?:{_FORM_NOUN}|polynomial|in\s+(?!the\b|a\b|situ\b)\w+)",
    r"(?:linearly|quadratically|inversely|exponentially|logarithmically)\s+(?:with|related|dependent|"
    r"proportional|on|in)",
    r"quadratically|sinusoidal(?:ly)?(?!\s+projection)|sigmoidal(?:ly)?|sigmoid|hyperbolic\s+tangent|"
    r"polynomials?|parabola|hyperbola",
    r"(?:sine|cosine|sin|cos)[\s-]+(?:wave|function|curve|law)|power[\s-]law|square[\s-]root[\s-]law|"
    r"inverse[\s-]square|inverse[\s-]cube",
    rf"(?:linear|polynomial|power[\s-]law|exponential)\s+combination|linear\s+superposition",
    r"proportional\s+to|scales?\s+(?:linearly|as|with)\s+(?:the\s+)?(?:square|cube|inverse|root|power|log)\w*",
    r"(?:arrhenius|michaelis[\s–-]menten|lotka[\s–-]volterra|stefan[\s–-]boltzmann|beer[\s–-]lambert)"
    r"(?:\s+(?:law|equation|kinetics|model|dynamics))?",
]
_NAMED_LAW = (
    r"\b(?!The\b|This\b|A\b|No\b)[A-Z][a-z]+(?:['’]s)?(?:\s+(?:first|second|third))?\s+(?:law|equation)\b"
)
_CHINESE = [
    r"指数(?:型|式|形式)?(?:衰减|增长|增加|减小|下降|上升|函数|关系|规律|律|曲线|依赖|形式)",
    r"(?:线性|二次|三次|多次|对数|双曲线?|有理|逻辑斯[谛蒂]|高斯|三角|幂)(?:型|式|形式)?"
    r"(?:函数|关系|增长|衰减|下降|上升|规律|律|曲线|方程|依赖|多项式|组合|叠加)",
    r"正弦|余弦|多项式|抛物线|幂律|[Ss]\s?[型形]曲线|平方反比|成?(?:正|反)比",
]
_FORMS = [
    *(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for pattern in _ENGLISH),
    re.compile(_NAMED_LAW),
    *(re.compile(pattern) for pattern in _CHINESE),
    re.compile("∝"),
]
_FUNCTIONS = (
    "sin cos tan sinh cosh tanh arcsin arccos arctan asin acos atan exp log ln log10 log2 sqrt abs sigmoid "
    "sign sec csc cot min max pow"
).split()
_UNITS = frozenset(
    "m s kg g mg t K mol cd A N J W Pa V C Hz h d min mm cm km nm um µm μm L l mL ml ppm ppb K rad deg bar "
    "hPa kPa MPa kHz MHz GHz kJ MJ kW MW eV keV MeV GeV kWh year years yr day days hour hours week month "
    "second seconds minute minutes unit units sr lx lm T F Wb S mmol µmol mV mA dB px".split()
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|[-+*/^·×÷−()²³√])|(?P<end>.))",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"(?<![<>!=:≤≥])={1,2}(?!=)")
_LEFT_NAME = re.compile(r"([^\W\d]\w*|\))(?:\s*\[[^\]]*\])?\s*$")
_QUANTITY_LEFT = re.compile(r"\d\s*\w+\s*$")
_UNIT_WORDS = frozenset({"unit", "units", "in", "单位"})
_WORDS_OF = re.compile(
    r"\b(?:square root|cube root|square|cube|logarithm|log|sine|cosine|exponential|reciprocal|inverse|product|"
    r"sum|ratio|quotient|difference)\s+of\s+(?:the\s+)?(?P<name>[^\W\d]\w*)",
    re.IGNORECASE,
)
_CHINESE_OF = re.compile(r"(?P<name>[^\W\d_]\w*?)\s*的\s*(?:平方根?|立方根?|倒数|对数|指数|正弦|余弦)")


class _Expression(NamedTuple):
    """The longest prefix of a text that reads as an expression."""

    text: str
    operators: tuple[str, ...]
    names: tuple[str, ...]
    calls: tuple[str, ...]
    starts_with_number: bool
    spaced: bool


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
    equation = _equation(text, names) or _bare_expression(text, names)
    if equation:
        return f"contains the equation {equation!r}"
    for pattern in _FORMS:
        found = pattern.search(text)
        if found:
            return f"names the functional form {found[0]!r}"
    for pattern in (_WORDS_OF, _CHINESE_OF):
        for found in pattern.finditer(text):
            if found["name"] in names:
                return f"names the functional form {found[0]!r}"
    return None


def _equation(text: str, names: Collection[str]) -> str | None:
    for sign in _ASSIGNMENT.finditer(text):
        left = _LEFT_NAME.search(text, 0, sign.start())
        if left is None or _QUANTITY_LEFT.search(text[: sign.start()]) or left[1].lower() in _UNIT_WORDS:
            continue
        right = _expression(text[sign.end() :])
        if _is_law(right, names):
            return f"{text[left.start() : sign.start()].strip()} = {right.text}"
    return None


def _is_law(expression: _Expression, names: Collection[str]) -> bool:
    if not expression.names or not (expression.operators or expression.calls):
        return False
    plain = set(expression.names) - set(_FUNCTIONS)
    if expression.starts_with_number and plain <= _UNITS and not plain & set(names):
        return False  # a quantity with its unit, such as 9.81 m/s**2
    dashes = set(expression.operators) <= {"-", "−", "/"} and not expression.calls
    words = all(len(name) > 1 and name not in names for name in plain)
    return not (dashes and words and not (expression.spaced and "/" in expression.operators))


def _bare_expression(text: str, names: Collection[str]) -> str | None:
    """An expression without an equals sign: `sin(x)` or `x**2 + 1` where x is a variable here."""
    for start in re.finditer(r"(?<![\w.)])(?:[^\W_]|_)", text):
        expression = _expression(text[start.start() :])
        known = [name for name in expression.names if name in names and name not in _UNITS]
        strong = {"**", "^", "*", "+", "·", "×", "²", "³", "√"} & set(expression.operators)
        if known and (strong or expression.calls):
            return expression.text
        composite = (
            expression.calls and expression.operators and set(expression.names) - set(expression.calls)
        )
        if composite and {"*", "+", "-", "−", "**", "^"} & set(expression.operators):
            return expression.text
    return None


def _expression(text: str) -> _Expression:
    operators: list[str] = []
    names: list[str] = []
    calls: list[str] = []
    depth, end, previous, first = 0, 0, "", ""
    spaced = False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or "end"
        value = token[kind]
        gap = token.start(kind) > token.start()
        operand = kind in {"number", "name"}
        if kind == "end" or (operand and previous == "operand" and (gap or kind == "number")):
            break
        if value == ")":
            if depth == 0:
                break
            depth -= 1
        elif value == "(":
            if previous == "operand" and not (names and names[-1] in _FUNCTIONS and not gap):
                break
            if previous == "operand":
                calls.append(names[-1])
            depth += 1
        elif kind == "op":
            if value in {"*", "/", "^", "**", "·", "×", "÷", "²", "³"} and previous not in {"operand"}:
                break
            if previous == "operand" or value == "√":
                operators.append(value)
                spaced = spaced or gap
        elif kind == "name":
            names.append(value)
        first = first or kind
        previous = "operand" if operand or value in {")", "²", "³"} else "operator"
        if previous == "operand" and depth == 0:
            end = token.end()
    used = text[:end]
    if end < len(text) and previous == "operator" and operators:
        operators.pop()
    return _Expression(used.strip(), tuple(operators), tuple(names), tuple(calls), first == "number", spaced)
