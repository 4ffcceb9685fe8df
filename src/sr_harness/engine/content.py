"""The numbers of a formula, put where a reader expects them: the content of sums, and plain fractions.

`a/(b/2 + 1/2)` is `2*a/(b + 1)`: the number that all terms of a sum share (its content) moves in front, where
it meets the other numbers of the product. Numbers are exact fractions here, `0.1` being one tenth, so nothing
is rounded on the way. Promises: a form is preferred if it has fewer nodes, or as many and shorter numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from .build import add, div, mul, neg, num, pow_, sub
from .expression import Expression, postorder
from .rendering import number_text

LARGEST: Final = 400
"""Nodes of a product up to which other forms are looked for."""
_MOST_TERMS: Final = 40
_MOST_CONTENTS: Final = 6
_PLAIN_DENOMINATORS: Final = frozenset({*range(2, 10), 16, 32, 64})
_SHORT_DECIMAL: Final = 6
_LARGEST_DENOMINATOR: Final = 1000


class Product(NamedTuple):
    """A number times powers above and below the line; `decimal` says whether the number may be a decimal."""

    number: Fraction
    upper: dict[Expression, int]
    lower: dict[Expression, int]
    decimal: bool = True


def cost(expr: Expression) -> tuple[int, int]:
    """What a form costs its reader: nodes first, then the digits of its numbers."""
    digits = sum(
        len(number_text(node.value))
        for node in postorder(expr)
        if node.op == "num" and node.value is not None
    )
    return expr.size, digits


def fraction_of(value: float) -> Fraction:
    """The fraction that a float means: the small one that it rounds, else what its decimal text says."""
    small = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return small if float(small) == value else Fraction(repr(value))


def coefficient(term: Expression) -> tuple[Fraction, Expression | None]:
    """A term as an exact number times the rest; the rest is None for a number alone."""
    number = Fraction(1)
    chain: list[Expression] = []
    first = term
    while first.op in ("mul", "div", "neg"):
        if first.op == "neg":
            number = -number
        elif first.args[1].op == "num" and first.args[1].value:
            value = fraction_of(first.args[1].value)
            number = number * value if first.op == "mul" else number / value
        else:
            chain.append(first)
        first = first.args[0]
    if first.op == "num" and first.value is not None:
        number *= fraction_of(first.value)
        if not chain:
            return number, None
        last = chain.pop()
        rest = last.args[1] if last.op == "mul" else div(1.0, last.args[1])
    else:
        rest = first
    for link in reversed(chain):
        rest = Expression(link.op, (rest, link.args[1]))
    return number, rest


def weighted(number: Fraction, rest: Expression | None) -> Expression | None:
    """`number * rest` in its plainest form; None where the number has no float64."""
    forms = [form for form in _weighted_forms(number, rest) if form is not None]
    return min(forms, key=cost, default=None)


def _weighted_forms(number: Fraction, rest: Expression | None) -> Iterator[Expression | None]:
    value = as_float(number)
    if value is None:
        return
    if rest is None:
        yield num(value)
    elif number == 1:
        yield rest
        return
    elif number == -1:
        yield neg(rest)
        return
    else:
        yield _in_front(num(value), rest)
    if plain_denominator(number):
        above = num(float(number.numerator))
        if rest is not None:
            above = rest if number.numerator == 1 else _in_front(above, rest)
        yield div(above, float(number.denominator))


def _in_front(number: Expression, rest: Expression) -> Expression:
    """The number as the first factor of a chain."""
    chain: list[Expression] = []
    first = rest
    while first.op in ("mul", "div"):
        chain.append(first)
        first = first.args[0]
    result = number if first.op == "num" and first.value == 1.0 and chain else mul(number, first)
    for link in reversed(chain):
        result = Expression(link.op, (result, link.args[1]))
    return result


def as_float(number: Fraction) -> float | None:
    """The nearest float64; None where it would overflow or vanish."""
    try:
        value = float(number)
    except OverflowError:
        return None
    return value if value != 0.0 or number == 0 else None


def plain_denominator(number: Fraction) -> bool:
    """Whether the number is better written as a fraction than as a decimal."""
    if number.denominator == 1 or abs(number.numerator) > 10**6:
        return False
    value = as_float(number)
    long = value is not None and len(number_text(abs(value))) > _SHORT_DECIMAL
    return number.denominator in _PLAIN_DENOMINATORS or (long and number.denominator <= _LARGEST_DENOMINATOR)


def terms_of(node: Expression) -> list[tuple[Fraction, Expression | None]] | None:
    """The terms of a sum with their numbers; None where it has too many or is no sum."""
    found: list[tuple[Fraction, Expression | None]] = []
    stack = [(1, node)]
    while stack:
        sign, item = stack.pop()
        if item.op in ("add", "sub"):
            stack.append((sign if item.op == "add" else -sign, item.args[1]))
            stack.append((sign, item.args[0]))
        elif item.op == "neg" and item.args[0].op in ("add", "sub"):
            stack.append((-sign, item.args[0]))
        else:
            number, rest = coefficient(item)
            found.append((sign * number, rest))
        if len(found) > _MOST_TERMS:
            return None
    return found if len(found) > 1 else None


def joined(terms: list[tuple[Fraction, Expression | None]]) -> Expression | None:
    """The sum of the terms, a positive one first; None where a number has no float64."""
    order = list(terms)
    first = next((k for k, (number, _) in enumerate(order) if number > 0), 0)
    order.insert(0, order.pop(first))
    result = weighted(*order[0])
    for number, rest in order[1:]:
        part = weighted(abs(number), rest)
        if result is None or part is None:
            return None
        result = add(result, part) if number > 0 else sub(result, part)
    return result


def contents(terms: list[tuple[Fraction, Expression | None]]) -> list[Fraction]:
    """Numbers that may be taken out of a sum: those of its terms, their common divisor, and signs."""
    sizes = [abs(number) for number, _ in terms if number != 0]
    common = Fraction(math.gcd(*(s.numerator for s in sizes)), math.lcm(*(s.denominator for s in sizes)))
    found = list(dict.fromkeys([Fraction(1), common, *sizes]))[:_MOST_CONTENTS]
    return [sign * size for size in found for sign in (1, -1)]


def divided(node: Expression, content: Fraction) -> Expression | None:
    """A sum divided by a number, term by term."""
    terms = terms_of(node)
    return None if terms is None else joined([(number / content, rest) for number, rest in terms])


def uniform(node: Expression) -> tuple[Fraction, Expression] | None:
    """A sum whose terms all have the same number (but for signs): that number, and the sum without it."""
    terms = terms_of(node)
    if terms is None or len({abs(number) for number, _ in terms}) != 1:
        return None
    size = abs(terms[0][0])
    if size in (0, 1):
        return None
    rest = joined([(number / size, part) for number, part in terms])
    return None if rest is None else (size, rest)


def assembled(product: Product) -> list[Expression]:
    """The ways to write a product: its number as a decimal, or as a fraction."""
    number = product.number
    value = as_float(number)
    if value is None:
        return []
    ways = []
    if product.decimal or number.denominator == 1:
        ways.append(_written(value, 1.0, product))
    if plain_denominator(number) or not product.decimal:
        ways.append(_written(float(number.numerator), float(number.denominator), product))
    if product.decimal and number and len(number_text(value)) > _SHORT_DECIMAL:
        inverse = as_float(1 / number)
        if inverse is not None and len(number_text(inverse)) <= _SHORT_DECIMAL:
            ways.append(_written(1.0, inverse, product))
    return ways


def _written(above: float, below: float, product: Product) -> Expression:
    upper = [base if count == 1 else pow_(base, float(count)) for base, count in product.upper.items()]
    lower = [base if count == 1 else pow_(base, float(count)) for base, count in product.lower.items()]
    if below != 1.0:
        lower.insert(0, num(below))
    if above == -1.0 and upper:
        upper[0] = neg(upper[0])
    elif above != 1.0 or not upper:
        upper.insert(0, num(above))
    result = _chain(upper)
    return div(result, _chain(lower)) if lower else result


def _chain(factors: list[Expression]) -> Expression:
    result = factors[0]
    for factor in factors[1:]:
        result = mul(result, factor)
    return result


def plainest(product: Product, plain: Expression) -> Expression:
    """The cheapest form of a product, `plain` where none is cheaper.

    The content of one sum after the other is taken out where that helps.
    """
    best = _Cheapest(plain)
    best.offer(product)
    for above, base in [*((True, b) for b in product.upper), *((False, b) for b in product.lower)]:
        terms = terms_of(base)
        start = best.product or product
        for content in contents(terms) if terms is not None else []:
            changed = _taken_out(start, base, content, above=above)
            if changed is not None:
                best.offer(changed)
    return best.form


class _Cheapest:
    """The cheapest form offered so far, and the product that it writes (None for the plain form)."""

    def __init__(self, plain: Expression) -> None:
        self.form, self.cost = plain, cost(plain)
        self.product: Product | None = None

    def offer(self, product: Product) -> None:
        """Keep the product if it is cheaper in one of its forms."""
        for form in assembled(product):
            if cost(form) < self.cost:
                self.form, self.cost, self.product = form, cost(form), product


def _taken_out(product: Product, base: Expression, content: Fraction, *, above: bool) -> Product | None:
    """The product with the content of one of its sums moved into its number."""
    side = product.upper if above else product.lower
    inner = None if content == 1 or base not in side else divided(base, content)
    if inner is None:
        return None
    changed = {(inner if key == base else key): count for key, count in side.items()}
    if len(changed) != len(side):
        return None  # it has become another factor of the product, which the next pass joins
    power = content ** side[base]
    number = product.number * power if above else product.number / power
    upper, lower = (changed, product.lower) if above else (product.upper, changed)
    return product._replace(number=number, upper=upper, lower=lower)


def common_factors(node: Expression) -> Expression | None:
    """A sum with the factors that all its terms share taken out: `a*x + a*y` as `a*(x + y)`.

    Only powers that are the same in every term count, so that a polynomial stays one.
    """
    terms = terms_of(node)
    if terms is None or any(rest is None for _, rest in terms):
        return None
    rows = [factors_of(rest) for _, rest in terms if rest is not None]
    shared = {key: count for key, count in rows[0].items() if all(row.get(key) == count for row in rows[1:])}
    if not shared:
        return None
    inner = joined([(number, _remaining(row, shared)) for (number, _), row in zip(terms, rows, strict=True)])
    if inner is None:
        return None
    upper = {base: count for (base, is_above), count in shared.items() if is_above}
    lower = {base: count for (base, is_above), count in shared.items() if not is_above}
    result = _written(1.0, 1.0, Product(Fraction(1), {**upper, inner: 1}, lower))
    return result if cost(result) < cost(node) else None


def factors_of(node: Expression) -> dict[tuple[Expression, bool], int]:
    """Bases of a product with their powers; True marks those above the line."""
    found: dict[tuple[Expression, bool], int] = {}
    stack = [(True, node)]
    while stack:
        above, item = stack.pop()
        if item.op == "mul":
            stack.extend(((above, item.args[1]), (above, item.args[0])))
        elif item.op == "div":
            stack.extend(((not above, item.args[1]), (above, item.args[0])))
        else:
            power = item.args[1].value if item.op == "pow" and item.args[1].op == "num" else None
            whole = power is not None and power.is_integer() and 1 < power <= _MOST_TERMS
            base, count = (item.args[0], int(power or 0)) if whole else (item, 1)
            found[base, above] = found.get((base, above), 0) + count
    return found


def _remaining(
    row: dict[tuple[Expression, bool], int], shared: dict[tuple[Expression, bool], int]
) -> Expression | None:
    left = {key: count for key, count in row.items() if key not in shared}
    if not left:
        return None
    upper = {base: count for (base, above), count in left.items() if above}
    lower = {base: count for (base, above), count in left.items() if not above}
    return _written(1.0, 1.0, Product(Fraction(1), upper, lower))
