"""How numbers are printed: every one is the value rounded to the digits it shows."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ari.paper.evidence import printed
from ari.paper.render import precise


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0"), (3.0, "3"), (1.5, "1.5"), (312.44, "312.4"), (7.5987, "7.599"), (57536.3, "57536"),
        (-0.02199, "$-0.02199$"), (0.99999998, "0.99999998"),
        (0.999999981234, "0.999999981"), (2.4722686e-05, r"$2.472 \times 10^{-5}$"),
        (1e-9, r"$1 \times 10^{-9}$"), (-1.25e9, r"$-1.25 \times 10^{9}$"), (120000.0, "120000"),
        (0.99951, "0.99951"), (1.0, "1"),
    ],
)  # fmt: skip
def test_printed(value: float, expected: str) -> None:
    assert printed(value) == expected


def read(text: str) -> tuple[float, float]:
    """Value and half a unit in the last place of a printed number, read back without the project's code."""
    match = re.fullmatch(r"\$?(-?[\d.]+)(?: \\times 10\^\{(-?\d+)\})?\$?", text)
    assert match, text
    power = Decimal(10) ** int(match.group(2) or 0)
    places = len(match.group(1).partition(".")[2])
    return float(Decimal(match.group(1)) * power), float(Decimal(10) ** -places * power / 2)


@given(st.floats(-1e300, 1e300))
def test_a_printed_number_is_the_value_rounded(value: float) -> None:
    for show in (printed, precise):
        shown, half = read(show(value))
        assert math.isclose(shown, value, rel_tol=1e-12) or abs(shown - value) <= half * (1 + 1e-9)
        assert shown != 0 or value == 0
