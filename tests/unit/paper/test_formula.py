"""The printed formula is the scored model, or the paper is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.errors import PaperError
from ari.findings.study import FinishedStudy
from ari.paper.formula import LONG, broken, check_printed, equation_latex, plain_lines, rounded_digits
from support.studies import written_study


def check(folder: Path, old: str, new: str, name: str = "kepler") -> dict[str, object]:
    checkpoint = written_study(name, folder)
    tex = (checkpoint / "full_paper.tex").read_text(encoding="utf-8")
    assert old in tex
    return check_printed(tex.replace(old, new), FinishedStudy.open(checkpoint))


def test_the_printed_formula_reproduces_every_part_of_the_data(tmp_path: Path) -> None:
    report = check(tmp_path, "T = a**1.5", "T = a**1.5")
    (formula,) = report["formulas"]  # type: ignore[misc]
    assert formula["relative_difference"] == {"train": 0.0, "validation": 0.0, "sealed": 0.0}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("T = a**1.5", "T = a**1.501", r"line \d+: on the validation rows .* recorded for node_0000"),
        ("T = a**1.5", "T = a**", r"line \d+: the printed formula cannot be read"),
        ("T = a**1.5", "T = sqrt(a)*a*x", r"line \d+: the printed formula cannot be read"),
        ("T = {a}^{1.5}", "T = {a}^{1.6}", r"the printed equation is not the formula of node_0000"),
        ("% FORMULA:node_0000", "% FORMULA:node_0099", r"belongs to no node \(node_0099\)"),
    ],
)
def test_a_formula_that_is_another_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(PaperError, match=message):
        check(tmp_path, old, new)


def test_another_way_of_writing_the_same_model_is_the_same(tmp_path: Path) -> None:
    checkpoint = written_study("kepler", tmp_path)
    tex = (checkpoint / "full_paper.tex").read_text(encoding="utf-8")
    only = tex.replace("% EQUATION:", "% ").replace("T = a**1.5", "T = a*sqrt(a)")
    (formula,) = check_printed(only, FinishedStudy.open(checkpoint))["formulas"]
    assert max(formula["relative_difference"].values()) < 1e-12


def test_a_network_formula_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(PaperError, match="recorded for node_0000"):
        check(tmp_path, "dtheta = omega + 0.45", "dtheta = omega + 0.46", "kuramoto")


def test_a_long_formula_is_broken_and_reads_back() -> None:
    text = " + ".join(f"{i}.123456789*sin(x{i})" for i in range(20))
    lines = plain_lines(text, "y")
    assert max(map(len, lines)) <= 54
    assert " ".join(line.strip() for line in lines) == f"y = {text}"
    shown = " + ".join([r"\frac{a + b}{c}"] * 30)
    pieces = broken(shown)
    assert " ".join(pieces) == shown and max(map(len, pieces)) < LONG
    assert all(piece.count("{") == piece.count("}") for piece in pieces)


def test_constants_are_rounded_for_reading_only_where_they_are_long() -> None:
    assert rounded_digits("a**1.5") is None
    assert rounded_digits("2.8779946676224464*a") == 4


def test_a_derivative_is_set_as_one_where_the_formula_has_its_state() -> None:
    shown = equation_latex("0.4*prey*(2.25 - predators)", "dprey_dt", None)
    assert shown.startswith(r"\frac{\mathrm{d}\,\mathrm{prey}}{\mathrm{d}t} = ")
    assert equation_latex("2*x", "distance_dt", None).startswith(r"\mathrm{distance}_")
