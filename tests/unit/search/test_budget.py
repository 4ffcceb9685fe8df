from __future__ import annotations

import pytest

from sr_harness.search import Budget
from sr_harness.search.budget import AllotmentSpent, Halt, Meter


def test_a_piece_of_work_that_no_longer_fits_is_not_begun() -> None:
    meter = Meter(Budget(10))
    meter.charge(8)
    with pytest.raises(Halt) as halt:
        meter.charge(3)
    assert halt.value.reason == "work"
    assert meter.used == 8


def test_an_allotment_ends_before_the_budget_does() -> None:
    meter = Meter(Budget(100))
    with meter.allot(0.2):
        meter.charge(20)
        with pytest.raises(AllotmentSpent):
            meter.charge(1)
    meter.charge(80)
    assert meter.left == 0


def test_cancelling_stops_at_the_next_charge() -> None:
    meter = Meter(Budget(100), should_stop=lambda: True)
    with pytest.raises(Halt) as halt:
        meter.charge(1)
    assert halt.value.reason == "cancelled"


def test_the_ceiling_in_seconds_is_named_as_the_reason() -> None:
    ticks = iter([0.0, 0.5, 2.5])
    meter = Meter(Budget(100, seconds=2.0), clock=lambda: next(ticks))
    meter.charge(1)
    with pytest.raises(Halt) as halt:
        meter.charge(1)
    assert halt.value.reason == "time"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"work": 0}, "at least 1 unit"), ({"work": 1, "seconds": 0.0}, "above 0 seconds")],
)
def test_a_budget_of_nothing_is_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Budget(**arguments)
