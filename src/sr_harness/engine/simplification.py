"""Make a formula shorter without changing its values.

Promises: `simplify(e)` has the value of `e` at every point where either is finite, up to the rounding of
intermediate results (numbers are gathered, equal factors become powers, equal terms are counted), and it is
never longer. No point of the domain is gained or lost: `x/x` and `log(x) - log(x)` stay, because they have
no value everywhere. It is not algebra: expanding, factoring and identities are SymPy's business.

Sums and products are treated as wholes, so a chain of thousands of terms takes one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from . import content, kernels
from .build import add, div, mul, neg, num, pow_, sub
from .expression import Expression, postorder, with_args
from .rendering import number_text

_PASSES: Final = 6
_LARGEST_POWER: Final = 64
_MOST_FACTORS: Final = 64
_SHORT_NUMBER: Final = 6
_EVEN: Final = frozenset({"cos", "cosh", "abs", "sec", "sech"})
_ODD: Final = frozenset({"sin", "tan", "sinh", "tanh", "arcsin", "arctan", "csc", "cot", "sign"})
_NOT_NEGATIVE: Final = frozenset({"abs", "sqrt", "exp", "cosh", "sigmoid"})
_TOTAL: Final = frozenset({"num", "const", "var", "param", "group", "add", "sub", "mul", "neg"}) | {
    "sin", "cos", "tanh", "arctan", "abs", "sigmoid", "sign", "min", "max", "sech"
}  # fmt: skip


class Term(NamedTuple):
    """A number times an expression; `base` is None for the number alone."""

    number: float
    base: Expression | None


def simplify(expr: Expression) -> Expression:
    """A formula of the same values that is at most as long."""
    current = expr
    for _ in range(_PASSES):
        following = _pass(current)
        if following == current:
            break
        if following.size > current.size:
            return current
        current = following
    return current


def _pass(root: Expression) -> Expression:
    """Rewrite every node once, operands first; inner links of a chain are skipped."""
    done: dict[int, Expression] = {}
    stack: list[tuple[Expression, tuple[Expression, ...] | None]] = [(root, None)]
    while stack:
        node, parts = stack.pop()
        if id(node) in done:
            continue
        if parts is None:
            parts = _parts(node)
            stack.append((node, parts))
            stack.extend((part, None) for part in parts if id(part) not in done)
            continue
        done[id(node)] = _rewrite(node, lambda part: done[id(part)])
    return done[id(root)]


def _kind(node: Expression) -> str:
    """`sum`, `product` or `other`; a minus sign belongs to the sum it stands before."""
    inner = node
    while inner.op == "neg":
        inner = inner.args[0]
    if inner.op in ("add", "sub"):
        return "sum"
    return "product" if inner.op in ("mul", "div") or node.op == "neg" else "other"


def _parts(node: Expression) -> tuple[Expression, ...]:
    """What must be rewritten before the node: terms of a sum, factors of a product, else the operands."""
    kind = _kind(node)
    if kind == "sum":
        return tuple(term for _, term in _signed_terms(node))
    if kind == "product":
        return tuple(factor for _, factor in _sided_factors(node)[1])
    return () if node.op == "group" else node.args


def _signed_terms(node: Expression) -> list[tuple[float, Expression]]:
    """Terms of a chain of sums and differences, in order, with their signs."""
    terms: list[tuple[float, Expression]] = []
    stack = [(1.0, node)]
    while stack:
        sign, item = stack.pop()
        if item.op in ("add", "sub"):
            stack.append((sign if item.op == "add" else -sign, item.args[1]))
            stack.append((sign, item.args[0]))
        elif item.op == "neg":
            stack.append((-sign, item.args[0]))
        else:
            terms.append((sign, item))
    return terms


def _sided_factors(node: Expression) -> tuple[float, list[tuple[bool, Expression]]]:
    """Sign and factors of a chain of products and quotients; True marks a factor above the line."""
    sign = 1.0
    factors: list[tuple[bool, Expression]] = []
    stack = [(True, node)]
    while stack:
        above, item = stack.pop()
        if item.op == "mul":
            stack.extend(((above, item.args[1]), (above, item.args[0])))
        elif item.op == "div":
            stack.extend(((not above, item.args[1]), (above, item.args[0])))
        elif item.op == "neg":
            sign = -sign
            stack.append((above, item.args[0]))
        else:
            factors.append((above, item))
    return sign, factors


def _rewrite(node: Expression, done: Callable[[Expression], Expression]) -> Expression:
    kind = _kind(node)
    if kind == "sum":
        return _sum((sign, done(term)) for sign, term in _signed_terms(node))
    if kind == "product":
        sign, factors = _sided_factors(node)
        return _product(sign, [(above, done(factor)) for above, factor in factors])
    if not node.args or node.op == "group":
        return node
    args = tuple(done(arg) for arg in node.args)
    if node.op in ("sum", "gather", "delay"):
        return with_args(node, args)
    folded = _computed(node.op, args)
    if folded is not None:
        return folded
    if node.op == "pow":
        return _power(node, args[0], args[1])
    return _function(node, args)


# ------------------------------------------------------------------------------------------------- sums
def _sum(signed: Iterable[tuple[float, Expression]]) -> Expression:
    """Count equal terms, gather the numbers, put a positive term first."""
    counts: dict[Expression | None, float] = {}
    for sign, term in signed:
        for part in _terms_of(sign, term):
            counts[part.base] = counts.get(part.base, 0.0) + part.number
    constant = counts.pop(None, 0.0)
    terms = [Term(n, base) for base, n in counts.items() if n != 0.0 or not (base and is_total(base))]
    if constant != 0.0 or not terms:
        terms.append(Term(constant, None))
    return _factored(terms)


def _factored(terms: list[Term]) -> Expression:
    """A sum with what all its terms share in front, where that is plainer."""
    total = _joined_terms(list(terms))
    if total.op not in ("add", "sub") or total.size > content.LARGEST:
        return total
    common = content.common_factors(total) if all(term.base for term in terms) else None
    if common is not None:
        return common
    shared = content.uniform(total)
    if shared is None:
        return total
    number, rest = shared
    return content.plainest(content.Product(number, {rest: 1}, {}), total)


def _terms_of(sign: float, term: Expression) -> list[Term]:
    """A rewritten term, taken apart; it may itself have become a sum."""
    if _kind(term) == "sum":
        return [_term(sign * inner, part) for inner, part in _signed_terms(term)]
    return [_term(sign, term)]


def _term(sign: float, node: Expression) -> Term:
    if node.op == "num" and node.value is not None:
        return Term(sign * node.value, None)
    chain: list[Expression] = []
    first = node
    while first.op in ("mul", "div"):
        chain.append(first)
        first = first.args[0]
    number = sign
    rest: Expression | None
    if first.op == "num" and first.value is not None and chain and chain[-1].op == "mul":
        number, rest = sign * first.value, chain.pop().args[1]
    elif first.op == "neg":
        number, rest = -sign, first.args[0]
    else:
        return Term(sign, node)
    for link in reversed(chain):
        rest = Expression(link.op, (rest, link.args[1]))
    return Term(number, rest)


def _joined_terms(terms: list[Term]) -> Expression:
    if all(term.number < 0.0 for term in terms) and len(terms) > 1:
        return neg(_joined_terms([Term(-term.number, term.base) for term in terms]))
    first = next((k for k, term in enumerate(terms) if term.number > 0.0), 0)
    terms.insert(0, terms.pop(first))
    result = _single(terms[0])
    for term in terms[1:]:
        if term.number < 0.0:
            result = sub(result, _single(Term(-term.number, term.base)))
        else:
            result = add(result, _single(term))
    return result


def _single(term: Term) -> Expression:
    if term.base is None:
        return num(term.number)
    if term.number == 1.0:
        return term.base
    return _with_number(term.number, term.base)


def _with_number(number: float, base: Expression) -> Expression:
    """`number * base` with the number at the very front of a product."""
    chain: list[Expression] = []
    first = base
    while first.op in ("mul", "div"):
        chain.append(first)
        first = first.args[0]
    result = neg(first) if number == -1.0 else mul(number, first)
    if first.op == "num" and first.value is not None:
        result = num(number * first.value)
    for link in reversed(chain):
        result = Expression(link.op, (result, link.args[1]))
    return result


def is_total(node: Expression) -> bool:
    """Whether the expression is finite for all finite inputs (leaving overflow aside)."""
    for part in postorder(node):
        whole = part.op == "pow" and part.args[1].op == "num" and _is_whole_power(part.args[1].value)
        if part.op not in _TOTAL and not whole:
            return False
    return True


def _is_whole_power(value: float | None) -> bool:
    return value is not None and value.is_integer() and 0 <= value <= _LARGEST_POWER


# --------------------------------------------------------------------------------------------- products
def _product(sign: float, factors: list[tuple[bool, Expression]]) -> Expression:
    """Gather the numbers in front, join equal factors above and below the line."""
    if len(factors) > _MOST_FACTORS:
        return _rebuilt(sign, factors)  # gathered apart, so many factors could overflow where they did not
    above, below = sign, 1.0
    upper: dict[Expression, int] = {}
    lower: dict[Expression, int] = {}
    for is_above, factor in _joined_exponentials(_below_the_line(list(_flattened(factors)))):
        if factor.op == "neg":
            above, factor = -above, factor.args[0]  # noqa: PLW2901
        if factor.op == "num" and factor.value is not None:
            above, below = (above * factor.value, below) if is_above else (above, below * factor.value)
            continue
        base, count = _whole_power(factor)
        number, base = _without_number(base, count)
        above, below = (above * number, below) if is_above else (above, below * number)
        side = upper if is_above else lower
        side[base] = side.get(base, 0) + count
    above, below = _reduced(above, below)
    if not (math.isfinite(above) and math.isfinite(below)):
        return _rebuilt(sign, factors)
    if above == 0.0 and below != 0.0 and not lower and all(is_total(base) for base in upper):
        return num(0.0)
    plain = _assembled(above, below, _powers(upper), _powers(lower))
    if above == 0.0 or below == 0.0 or not (upper or lower) or plain.size > content.LARGEST:
        return plain
    has_sums = any(base.op in ("add", "sub") for base in (*upper, *lower))
    if above.is_integer() and below == 1.0 and not has_sums:
        return plain
    ratio = content.fraction_of(above) / content.fraction_of(below)
    return content.plainest(content.Product(ratio, upper, lower, decimal=below == 1.0), plain)


def _flattened(factors: Iterable[tuple[bool, Expression]]) -> Iterable[tuple[bool, Expression]]:
    """Factors that have themselves become products are taken apart."""
    for is_above, factor in factors:
        if factor.op in ("mul", "div"):
            sign, inner = _sided_factors(factor)
            if sign < 0.0:
                yield True, num(-1.0)
            yield from ((is_above == inner_above, part) for inner_above, part in inner)
        else:
            yield is_above, factor


def _below_the_line(factors: list[tuple[bool, Expression]]) -> list[tuple[bool, Expression]]:
    """Factors above the line with a negative exponent go below it, if anything else is left above."""
    sunk = [is_above and _is_negative_power(factor) for is_above, factor in factors]
    if not any(sunk) or not any(
        is_above and not down for (is_above, _), down in zip(factors, sunk, strict=True)
    ):
        return factors
    moved = []
    for (is_above, factor), down in zip(factors, sunk, strict=True):
        if down:
            inverse = _power(factor, factor.args[0], num(-(factor.args[1].value or 0.0)))
            moved.append((False, inverse))
        else:
            moved.append((is_above, factor))
    return moved


def _is_negative_power(node: Expression) -> bool:
    exponent = node.args[1].value if node.op == "pow" and node.args[1].op == "num" else None
    return exponent is not None and exponent < 0.0


def _joined_exponentials(factors: list[tuple[bool, Expression]]) -> list[tuple[bool, Expression]]:
    """Several exponentials as one, with the sum of their exponents."""
    exponents = [
        (1.0 if is_above else -1.0, factor.args[0]) for is_above, factor in factors if factor.op == "exp"
    ]
    if len({exponent for _, exponent in exponents}) < 2:
        return factors
    rest = [(is_above, factor) for is_above, factor in factors if factor.op != "exp"]
    return [*rest, (True, Expression("exp", (_sum(exponents),)))]


def _reduced(above: float, below: float) -> tuple[float, float]:
    """The number above and the number below the line: one number where nothing is lost by it."""
    if below == 0.0:
        return above, below
    quotient = above / below
    small = above.is_integer() and below.is_integer() and abs(below) <= 1000.0
    exact = quotient * below == above and (quotient.is_integer() or not small)
    if exact or not small:
        return (quotient, 1.0) if math.isfinite(quotient) and (quotient or not above) else (above, below)
    common = float(math.gcd(int(above), int(below))) * math.copysign(1.0, below)
    return above / common, below / common


def _whole_power(node: Expression) -> tuple[Expression, int]:
    if node.op == "pow":
        exponent = node.args[1].value if node.args[1].op == "num" else None
        if exponent is not None and _is_whole_power(exponent) and exponent >= 1:
            return node.args[0], int(exponent)
    return node, 1


def _without_number(base: Expression, count: int) -> tuple[float, Expression]:
    """The number of a product under a whole power, raised to it, and the base without it."""
    if count == 1 or base.op not in ("mul", "div", "neg"):
        return 1.0, base
    number, rest = content.coefficient(base)
    value = content.as_float(number**count)
    if rest is None or value is None or len(number_text(value)) > _SHORT_NUMBER:
        return 1.0, base
    return value, rest


def _powers(side: dict[Expression, int]) -> list[Expression]:
    return [base if count == 1 else pow_(base, float(count)) for base, count in side.items()]


def _assembled(above: float, below: float, upper: list[Expression], lower: list[Expression]) -> Expression:
    if below != 1.0:
        lower = [num(below), *lower]
    if above == -1.0 and upper:
        upper[0] = neg(upper[0])
    elif above != 1.0 or not upper:
        upper = [num(above), *upper]
    result = upper[0]
    for factor in upper[1:]:
        result = mul(result, factor)
    if not lower:
        return result
    bottom = lower[0]
    for factor in lower[1:]:
        bottom = mul(bottom, factor)
    return div(result, bottom)


def _rebuilt(sign: float, factors: list[tuple[bool, Expression]]) -> Expression:
    """The factors in their order, where gathering them could overflow."""
    (first_above, first), *rest = factors
    result = first if first_above else div(1.0, first)
    if sign < 0.0:
        result = neg(result)
    for is_above, factor in rest:
        result = mul(result, factor) if is_above else div(result, factor)
    return result


# ---------------------------------------------------------------------------------- powers and functions
def _computed(op: str, args: tuple[Expression, ...]) -> Expression | None:
    """An operation on numbers, carried out where the result says as much as the operation did."""
    values = [arg.value for arg in args if arg.op == "num" and arg.value is not None]
    if len(values) != len(args):
        return None
    with np.errstate(all="ignore"):
        if op in ("min", "max"):
            result = min(values) if op == "min" else max(values)
        elif op in kernels.BINARY:
            result = float(kernels.BINARY[op](np.float64(values[0]), np.float64(values[1])))
        else:
            result = float(kernels.UNARY[op](np.float64(values[0])))
    if not math.isfinite(result):
        return None
    speaking = op in ("abs", "sign", "min", "max") or result.is_integer()
    plain_power = op == "pow" and values[1].is_integer() and values[1] >= 0.0
    return num(result) if (speaking and abs(result) < 1e15) or plain_power else None


def _power(node: Expression, base: Expression, exponent: Expression) -> Expression:
    value = exponent.value if exponent.op == "num" else None
    if value == 1.0:
        return base
    if value == 0.5:
        return Expression("sqrt", (base,))
    if value == -1.0:
        return div(1.0, base)
    if value is not None and value.is_integer() and value % 2 == 0.0 and base.op in ("neg", "abs"):
        return pow_(base.args[0], exponent)
    inner, count = _whole_power(base)
    joined = count * value if value is not None and value > 0.0 and value.is_integer() else -1.0
    if count > 1 and _is_whole_power(joined):
        return pow_(inner, joined)
    result = with_args(node, (base, exponent))
    if _is_whole_power(value) and base.op in ("mul", "div", "neg"):
        bare = _product(1.0, [(True, result)])
        return bare if content.cost(bare) <= content.cost(result) else result
    return result


def _function(node: Expression, args: tuple[Expression, ...]) -> Expression:
    if len(args) != 1:
        distinct = tuple(dict.fromkeys(args))
        return distinct[0] if len(distinct) == 1 else Expression(node.op, distinct)
    inner = args[0]
    if node.op == "inv":
        return _product(1.0, [(False, inner)])
    sign, bare = _outer_sign(inner)
    if sign < 0.0 and node.op in _EVEN:
        return Expression(node.op, (bare,))
    if sign < 0.0 and node.op in _ODD:
        return _product(-1.0, [(True, Expression(node.op, (bare,)))])
    if node.op == "abs" and inner.op in _NOT_NEGATIVE:
        return inner
    if node.op == "sqrt":
        return _root(with_args(node, args), inner)
    if node.op == "log" and inner.op == "exp":
        return inner.args[0]
    return with_args(node, args)


def _root(node: Expression, inner: Expression) -> Expression:
    """Square roots of squares and of square numbers."""
    base, count = _whole_power(inner)
    if count % 2 == 0:
        if count % 4 == 0:
            return pow_(base, count / 2.0)
        return Expression("abs", (base,)) if count == 2 else pow_(Expression("abs", (base,)), count / 2.0)
    if inner.op not in ("mul", "div"):
        return node
    number, rest = content.coefficient(inner)
    if rest is None or number <= 0 or number == 1:
        return node
    top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if top * top != number.numerator or bottom * bottom != number.denominator:
        return node
    root = Expression("sqrt", (rest,))
    result = _product(1.0, [(True, num(float(top))), (False, num(float(bottom))), (True, root)])
    return result if result.size <= node.size else node


def _outer_sign(node: Expression) -> tuple[float, Expression]:
    """The sign that stands before an expression, and the expression without it."""
    if node.op == "neg":
        return -1.0, node.args[0]
    if node.op in ("mul", "div"):
        term = _term(1.0, node)
        if term.number < 0.0 and term.base is not None:
            return -1.0, _single(Term(-term.number, term.base))
    return 1.0, node
