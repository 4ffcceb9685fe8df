"""What the paper says of the parts that were taken out of a formula."""

from __future__ import annotations

import pytest

from ari.findings.parts import taken_out


@pytest.mark.parametrize(
    ("formula", "part", "without", "label"),
    [
        (
            "0.4*prey*(2.25 - predators)",
            "factor 1",
            "with the constant factor 0.4 set to one",
            "0.4 set to 1",
        ),
        ("0.4*prey*(2.25 - predators)", "factor 2", "without the factor prey", "without prey"),
        ("x + 3", "term 2", "without the constant term 3", "without 3"),
        ("x - sin(y)", "term 2", "without the term -sin(y)", "without -sin(y)"),
        ("a**1.5", "input a", "without the input a", "without a"),
        (None, "input a", "without the input a", "without a"),
        ("x +", "factor 2", "without the part factor 2", "without factor 2"),
        ("x*y", "factor 9", "without the part factor 9", "without factor 9"),
    ],
)
def test_a_part_is_named_by_what_it_is(formula: str | None, part: str, without: str, label: str) -> None:
    taken = taken_out(formula, part)
    assert (taken.without(), taken.label) == (without, label)


def test_the_text_is_shown_as_the_paper_shows_it() -> None:
    taken = taken_out("0.4*prey", "factor 1")
    assert taken.without(lambda text: f"<{text}>") == "with the constant factor <0.4> set to one"
    assert taken.named(lambda text: f"<{text}>") == "the constant factor <0.4>"
