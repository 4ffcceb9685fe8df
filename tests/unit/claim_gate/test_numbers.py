"""Numbers as papers print them: value, unit and kind; and what is no number of the paper at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ari.pipeline.claim_gate.links import link_paper_claims

HEAD = "\\documentclass{article}\n\\begin{document}\n\\section{Results}\n"


def mentions(text: str, preamble: str = "") -> list[Any]:
    return list(link_paper_claims(f"{preamble}{HEAD}{text}\n\\end{{document}}\n", {}).mentions)


@pytest.mark.parametrize(
    ("text", "value", "quantum"),
    [
        ("312.40", 312.4, 0.01),
        ("1,234", 1234, 1),
        ("1{,}234", 1234, 1),
        ("12\\,345.6", 12345.6, 0.1),
        ("$4.44\\times10^{-16}$", 4.44e-16, 1e-18),
        ("$4.44\\cdot 10^{-16}$", 4.44e-16, 1e-18),
        ("4.44 $\\times 10^{-16}$", 4.44e-16, 1e-18),
        ("3×10⁻⁵", 3e-5, 1e-5),
        ("$10^{-6}$", 1e-6, 1e-6),
        ("4.44e-16", 4.44e-16, 1e-18),
        ("1.235e+05", 123500, 100),
        ("$-3.2$", -3.2, 0.1),
        ("by −3.2", -3.2, 0.1),
        ("by $-$3.2", -3.2, 0.1),
        ("(-3.2)", -3.2, 0.1),
        ("= -3.2", -3.2, 0.1),
        ("\\num{1.2e-3}", 1.2e-3, 1e-4),
        ("\\SI{312.4}{GFlop\\per\\second}", 312.4, 0.1),
        ("\\qty{3}{\\giga\\byte\\per\\second}", 3, 1),
        ("\\hyperlink{ev:C1}{\\textbf{0.71}}", 0.71, 0.01),
        ("three-fold", 3, 1),
        ("twice as fast", 2, 1),
        ("half the time", 0.5, 0.1),
        ("by a factor of two", 2, 1),
        ("an order of magnitude", 10, 10),
        ("twenty-five percent", 25, 1),
        ("a dozen configurations", 12, 1),
    ],
)
def test_one_number_is_read(text: str, value: float, quantum: float) -> None:
    (found,) = mentions(f"It is {text} here.")
    assert found.number.value == pytest.approx(value)
    assert found.number.quantum == pytest.approx(quantum)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("74.0\\%", "percent"),
        ("74 percent", "percent"),
        ("$73.25\\,\\mathrm{GB/s}$", "rate"),
        ("312.4 GFlop/s", "rate"),
        ("\\textbf{312.4}\\,GFLOPS", "rate"),
        ("120 tokens per second", "rate"),
        ("1.75x", "ratio"),
        ("1.74$\\times$ faster", "ratio"),
        ("$1.74\\times$", "ratio"),
        ("3 times faster", "ratio"),
        ("48 GiB", "size"),
        ("4.8 s", "time"),
        ("12 ms per step", "time"),
    ],
)
def test_its_unit_is_read(text: str, kind: str) -> None:
    (found,) = mentions(f"It is {text} here.")
    assert found.unit is not None and found.unit.kind == kind
    assert found.requires_assertion == (kind != "time")


@pytest.mark.parametrize(
    "text",
    [
        "as in \\cite[p.~12]{smith2020} and \\ref{tab:3}",
        "see https://example.org/12.5% now",
        "see \\url{https://example.org/12.5%} now",
        "see doi:10.1000/182 and arXiv:2401.01234",
        "on 2024-05-08 at 11:30, on 8 May, May 8, and 8.5.2024",
        "with gcc 12.2.0 and v1.2.3",
        "GPT-4, ResNet-50, x1, 3D, the 2nd, AVX-512",
        "$x_1^2 + a_{12} e^{-t} = y^{10}$",
        "\\vspace{2pt}\\includegraphics[width=0.5\\linewidth]{fig_3.pdf}",
        "\\rule{2pt}{3pt}\\textcolor{red!50}{text}",
        "% a comment with 99.9\\%",
        "\\begin{verbatim}\n99.9\n\\end{verbatim}",
        "\\verb|99.9|",
        "\\begin{tikzpicture}\\draw (0,0) -- (1.5,2);\\end{tikzpicture}",
        "\\multicolumn{2}{c}{both} \\cmidrule(lr){2-3}",
        "two figures, one of them, the first half, double precision, half of the rows",
        "digest 3f786850e387550fdab836ed7e6dc881de23001b",
    ],
)
def test_what_is_no_number(text: str) -> None:
    assert [found.text for found in mentions(f"This is {text}\n and so on.")] == []


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("Table 3, Figures 2--5, Eqs.~(3) and (4), \\S 4.2 and [12, 15]", ["figure_table_ref"] * 8),
        ("since 1998, in 2019, Smith et al. (2020)", ["citation_year"] * 3),
        ("48 threads, 10 independent runs, seed 42", ["experimental_setting"] * 3),
        ("a 95\\% confidence interval, 32 GB of memory", ["experimental_setting"] * 2),
        ("the split is 60\\% and batch size of 64", ["experimental_setting"] * 2),
        ("$y = 3.2\\times10^{-3} x^2 + 2x$", ["ambiguous"] * 2),
        ("in 2048 GB/s", ["result_claim"]),
        ("the figure 74\\% shows", ["result_claim"]),
    ],
)
def test_numbers_that_claim_nothing(text: str, types: list[str]) -> None:
    found = [mention.type for mention in mentions(f"We saw {text} then.")]
    assert found == types[: len(found)]
    assert len(found) == len(types)


@pytest.mark.parametrize("word", ["sıx", "ſix", "SİX", "six"])
def test_a_number_word_may_hold_letters_that_fold_to_ascii(word: str) -> None:
    text = f"It ran {word} configurations, Ten-fold."
    assert [(m.number.value, m.text) for m in mentions(text)] == [(6.0, word), (10.0, "Ten-fold")]


def test_a_number_behind_a_macro_is_read_where_it_is_used() -> None:
    (found,) = mentions("We reach \\best{} GFlop/s.", "\\newcommand{\\best}{312.4}\n")
    assert (found.number.value, found.line, found.type) == (312.4, 5, "result_claim")


def test_an_argument_that_never_closes_hides_nothing() -> None:
    assert [m.number.value for m in mentions("\\label{oops\n\nIt is 74.0\\% here.")] == [74.0]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["\\", "{", "}", "$", "%", "\n", "\n\n", "CLAIM:C1:NC1", "12.5", "-", "^", "_", "\\%", "&",
             "\\\\", "\\begin{table}", "\\end{tabular}", "\\caption{", "\\SI{1}{", "\\section{", "[",
             "]", " ", "×10⁻", "é", "three-fold", "10^{", "\\newcommand{\\a}{1}", "\\a", "1,234",
             "\\verb|", "\\ref{fig:", "x"]
        ),
        max_size=60,
    )
)  # fmt: skip
def test_any_text_is_linked_without_an_exception(parts: list[str]) -> None:
    text = "".join(parts)
    links = link_paper_claims(
        f"{HEAD}{text}", {"claims": [{"id": "C1", "numeric_assertions": [{"id": "NC1"}]}]}
    )
    record = links.to_dict()
    assert all(mention["line"] >= 1 for mention in record["numeric_mentions"])
