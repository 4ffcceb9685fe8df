"""Any text becomes LaTeX text, or is reported."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ari.latex.escape import escape, identifier


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "50 % of a_b & #1 {x} $5 ~ ^",
            r"50 \% of a\_b \& \#1 \{x\} \$5 \textasciitilde{} \textasciicircum{}",
        ),
        ("C:\\new", r"C:\textbackslash{}new"),
        ("α ≤ Ω", r"\ensuremath{\alpha} \ensuremath{\le} \ensuremath{\Omega}"),
        ("CO₂ m²", r"CO\textsubscript{2} m\textsuperscript{2}"),
        ("naïve Ångström", "naïve Ångström"),
        ("cafe\u0301", "café"),
        ("Dvořák ő", r"Dvo\v{r}ák \H{o}"),
        ("“so” – it…", r"``so'' -- it\ldots{}"),
        ("a\n\n\nb", "a\nb"),
        ("zero\u200bwidth", "zerowidth"),
    ],
)
def test_text_that_can_be_set(text: str, expected: str) -> None:
    assert escape(text).text == expected
    assert escape(text).lost == ()


def test_what_cannot_be_set_is_named_with_its_line_and_brings_no_number() -> None:
    escaped = escape("data\n面试 and 😀")
    assert escaped.text == "data\n[cjk unified ideograph] and [grinning face]"
    assert [(lost.character, lost.line) for lost in escaped.lost] == [("面", 2), ("试", 2), ("😀", 2)]


def test_a_name_may_be_broken_before_its_joints_but_not_before_digits() -> None:
    assert identifier("a_b/c_1").text == r"\texttt{a\allowbreak{}\_b\allowbreak{}/c\_1}"


@given(st.text(max_size=60))
def test_nothing_that_latex_would_obey_comes_through(text: str) -> None:
    shown = re.sub(r"\\ensuremath\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "", escape(text).text)
    bare = re.sub(r"\\(textbackslash|text[a-z]+|ensuremath|[A-Za-z]+|[^A-Za-z])", "", shown)
    assert not re.search(r"[%&#$_^~]", bare.replace("~", ""))
    assert shown.count("{") - shown.count(r"\{") == shown.count("}") - shown.count(r"\}")
    assert "\n\n" not in shown


def test_greek_letters_with_accents_keep_them() -> None:
    escaped = escape("Ωμέγα, Ό")
    assert escaped.lost == ()
    assert r"\ensuremath{\acute{\varepsilon}}" in escaped.text
    assert escaped.text.endswith(r"\ensuremath{\acute{\mathrm{O}}}")
