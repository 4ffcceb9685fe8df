r"""Made-up studies with papers: every number right, printed in many ways, amid numbers that claim nothing.

`write_study` writes a small checkpoint (trees, science data, bibliography, figures, paper) whose paper passes
the strict final gate. Nothing here uses the gate.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BAIT = (
    "Work since 1998 \\cite{smith2020,lee2021} and a survey of 2019 \\citep[p.~12]{lee2021} differ.",
    "Table~\\ref{tab:rows} and Eqs.~(3) and~(4), Figures 2--5, Theorem 1.2 and Section 4.2 give details.",
    "We ran Python 3.11.4 and gcc 12.2 (v2.3.1) on 2024-05-08 at 11:30.",
    "See doi:10.1000/182.5 and arXiv:2401.01234.",
    "A 95\\% confidence interval is given; 60\\% of the rows train and 32 GB of memory suffice.",
    "Each of the 48 threads did 10 runs with seed 42 on 3 machines under x86-64 with AVX-512.",
    "The law is $y = a_1 x^2 + b_{12} e^{-x}$ and costs $O(n^{2})$ per step.",
    "The first half of the text, one of them, and double precision claim nothing.",
)


@dataclass
class Study:
    """A study in the making."""

    nodes: dict[str, dict[str, float]] = field(default_factory=dict)
    claims: list[dict[str, Any]] = field(default_factory=list)

    def claim(
        self, node: str, metric: str, *, unit: str = "", baseline: str = "", formula: str = "identity"
    ) -> tuple[str, float]:
        """Register a claim with one number; returns its anchor and value."""
        proposed = self.nodes[node][metric]
        place = {"node_id": node, "metric_path": f"metrics.{metric}"}
        operands, value = {"value": place}, proposed
        if baseline:
            base = self.nodes[baseline][metric]
            operands = {"baseline": {**place, "node_id": baseline}, "proposed": place}
            value = (proposed - base) / base * 100 if formula.endswith("percent") else proposed / base
        number = len(self.claims) + 1
        used = [node, baseline] if baseline else [node]
        assertion = {
            "id": f"NC{number}", "claim_id": f"C{number}", "metric": metric, "value": value, "unit": unit,
            "formula": formula, "operands": operands, "rounding": "printed",
        }  # fmt: skip
        self.claims.append(
            {"id": f"C{number}", "text": f"{metric} of {node}", "section": "results",
             "supported_by": {"nodes": used, "results": [place]}, "numeric_assertions": [assertion]}
        )  # fmt: skip
        return f"CLAIM:C{number}:NC{number}", value


def _nodes(random_: random.Random, count: int) -> dict[str, dict[str, float]]:
    nodes = {}
    for index in range(count):
        nodes[f"n{index}"] = {
            "GFlops/s": round(random_.uniform(40, 900), 3),
            "GB/s": round(random_.uniform(10, 95), 4),
            "sec": round(random_.uniform(0.5, 60), 4),
            "nrmse": random_.uniform(1e-9, 5e-7),
            "r2": random_.uniform(0.31, 0.96),
            "delta": -random_.uniform(1.3, 9.7),
            "cells": float(random_.randrange(12_000, 990_000)),
        }
    return nodes


def _power(value: float) -> str:
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"${mantissa}\\times10^{{{int(exponent)}}}$"


_Sentence = Callable[[Study, str, str], str]


def _throughput(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "GFlops/s", unit="GFlop/s")
    return f"The variant {node.replace('n', 'V')} reaches {value:.1f} GFlop/s with 48 threads. % {anchor}"


def _bandwidth(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "GB/s", unit="GB/s")
    return f"Its bandwidth is \\SI{{{value:.2f}}}{{GB\\per\\second}}, Figure~\\ref{{fig:1}}. % {anchor}"


def _wrapped(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "GB/s")
    return f"Measured over all runs and taken as\nthe median, it moves\n{value:.3f} GB/s. % {anchor}"


def _gain(study: Study, node: str, base: str) -> str:
    anchor, value = study.claim(
        node, "GFlops/s", baseline=base, formula="relative_increase_percent", unit="%"
    )
    return f"This changes throughput by {value:.1f}\\% against the start. % {anchor}"


def _ratio(study: Study, node: str, base: str) -> str:
    anchor, value = study.claim(node, "sec", baseline=base, formula="relative_gain", unit="x")
    return f"% {anchor}\nThe ratio of run times is {value:.3f}$\\times$ in the median."


def _error(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "nrmse")
    return f"The largest error is {_power(value)}. % {anchor}"


def _two(study: Study, node: str, base: str) -> str:
    first, a = study.claim(base, "r2")
    second, b = study.claim(node, "r2")
    return f"The share of explained variance goes from {a:.4f} to {b:.4f}. % {first} % {second}"


def _negative(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "delta", unit="%")
    return f"Accuracy moves by {value:.2f}\\%. % {anchor}".replace("by -", "by −")


def _thousands(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "cells")
    return f"It visits {value:,.0f} cells on the way. % {anchor}"


def _linked(study: Study, node: str, _base: str) -> str:
    anchor, value = study.claim(node, "sec", unit="s")
    return f"Run time is \\hyperlink{{ev:1}}{{\\textbf{{{value:.2f}}}}}\\,s here. % {anchor}"


SENTENCES: tuple[_Sentence, ...] = (
    _throughput, _bandwidth, _wrapped, _gain, _ratio, _error, _two, _negative, _thousands, _linked,
)  # fmt: skip


def _table(study: Study, nodes: list[str]) -> Iterator[str]:
    yield "\\begin{table}[t]\n\\caption{Variants. }\\label{tab:rows}\n\\begin{tabular}{lrr}\n\\toprule"
    yield "variant & GFlop/s & $R^2$ \\\\\n\\midrule"
    for node in nodes:
        first, a = study.claim(node, "GFlops/s", unit="GFlop/s")
        second, b = study.claim(node, "r2")
        yield f"V{node[1:]} & {a:.2f} & {b:.3f} \\\\ % {first} {second}"
    yield "\\bottomrule\n\\end{tabular}\n\\end{table}"


def paper_text(study: Study, random_: random.Random, *, sentences: int, rows: int, filler: int = 1) -> str:
    """Write a paper about a study, registering a claim for every number."""
    names = list(study.nodes)
    lines = [
        "\\documentclass[10pt]{article}\n\\usepackage{siunitx}\n\\begin{document}\n\\begin{abstract}",
        _throughput(study, names[1], names[0]),
        "\\end{abstract}\n\\section{Introduction}",
        *BAIT,
        "\\section{Results}\\label{sec:results}",
    ]
    for index in range(sentences):
        node, base = random_.choice(names[1:]), names[0]
        lines.append(SENTENCES[index % len(SENTENCES)](study, node, base))
        lines += [BAIT[(index + k) % len(BAIT)] for k in range(filler)]
        if index % 4 == 3:
            lines.append("")
    lines += _table(study, names[1 : 1 + rows])
    lines.append(
        "\\begin{figure}\\includegraphics[width=0.5\\linewidth]{figures/fig_1.pdf}"
        "\\caption{The sweep.}\\label{fig:1}\\end{figure}"
    )
    headline = study.nodes[names[1]]["GFlops/s"]
    lines += [
        "\\section{Limitations}\nOne machine only.",
        f"\\section{{Conclusion}}\nWe reach {headline:.1f} GFlop/s.",
        "\\bibliography{refs}\n\\end{document}\n",
    ]
    return "\n".join(lines)


def write_study(
    directory: Path, *, seed: int, sentences: int = 20, rows: int = 4, nodes: int = 6, filler: int = 1
) -> Study:
    """Write a checkpoint whose paper is right.

    Args:
        directory: Where to; created.
        seed: Another seed, other numbers.
        sentences: Sentences with a number in the results.
        rows: Rows of the table.
        nodes: Nodes of the tree.
        filler: Sentences without a claim between two with one.

    Returns:
        The study, for its registry.
    """
    random_ = random.Random(seed)
    study = Study(_nodes(random_, nodes))
    tex = paper_text(study, random_, sentences=sentences, rows=rows, filler=filler)
    (directory / "figures").mkdir(parents=True)
    (directory / "figures" / "fig_1.pdf").write_bytes(b"%PDF made up\n")
    (directory / "paper.tex").write_text(tex, encoding="utf-8")
    (directory / "refs.bib").write_text("@article{smith2020, year={2020}}\n@misc{lee2021, year={2021}}\n")
    tree = {
        name: {
            "id": name, "parent_id": None if name == "n0" else "n0", "depth": int(name != "n0"),
            "status": "completed", "label": "draft" if name == "n0" else "improve", "metrics": metrics,
            "score": 0.5, "children": [n for n in study.nodes if n != "n0"] if name == "n0" else [],
        }
        for name, metrics in study.nodes.items()
    }  # fmt: skip
    detail = {
        name: {**node, "has_real_data": True, "work_dir": f"experiments/{name}", "eval_summary": "",
               "metrics_with_metadata": {}, "trace_log": [], "artifacts": []}
        for name, node in tree.items()
    }  # fmt: skip
    science = {
        "configurations": [
            {"config_id": f"cfg{i}", "rank": i, "node_id": name, "parameters": {}, "metrics": metrics}
            for i, (name, metrics) in enumerate(study.nodes.items(), 1)
        ],
        "experiment_context": {},
        "summary_stats": {"count": len(tree)},
        "claims": study.claims,
        "numeric_assertions": [a for claim in study.claims for a in claim["numeric_assertions"]],
    }
    documents = {
        "tree.json": {"schema_version": 1, "root_node_id": "n0", "nodes": tree},
        "nodes_tree.json": {"schema_version": 1, "root_node_id": "n0", "nodes": detail},
        "science_data.json": science,
        "figures_manifest.json": {"figures": {"fig_1": "figures/fig_1.pdf"}, "latex_snippets": {}},
    }
    for name, document in documents.items():
        (directory / name).write_text(json.dumps(document), encoding="utf-8")
    return study
