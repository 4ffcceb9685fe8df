"""Every small checkpoint of claim_gate/: links, numbers and findings under both policies and phases."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ari.pipeline.claim_gate.gate import run_hard_gate
from ari.pipeline.claim_gate.links import link_paper_claims

CASES = sorted((Path(__file__).parent / "vectors" / "claim_gate").iterdir())
MENTION_KEYS = ("line", "value", "unit", "type", "section", "requires_assertion")


def _expected(case: Path) -> dict[str, Any]:
    return json.loads((case / "expected.json").read_text(encoding="utf-8"))


def _links(case: Path) -> Any:
    manifest = case / "figures_manifest.json"
    return link_paper_claims(
        (case / "paper.tex").read_text(encoding="utf-8"),
        json.loads((case / "science_data.json").read_text(encoding="utf-8")),
        json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else None,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_links(case: Path) -> None:
    expected = _expected(case)
    links = _links(case)
    found = [link.to_dict() for link in links.paper_claim_links]
    assert [{k: v for k, v in link.items() if k != "span_hash"} for link in found] == expected["links"]
    assert links.unresolved_anchors == expected["unresolved_anchors"]
    assert links.figure_refs == expected["figure_refs"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_numeric_mentions(case: Path) -> None:
    found = [mention.to_dict() for mention in _links(case).numeric_mentions]
    assert [{key: mention[key] for key in MENTION_KEYS} for mention in found] == _expected(case)["mentions"]


@pytest.mark.parametrize("phase", ["draft", "final"])
@pytest.mark.parametrize("policy", ["warn", "strict"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gate(case: Path, policy: Any, phase: Any) -> None:
    expected = _expected(case)
    wanted = expected["gate"][policy]
    report = run_hard_gate(case, phase=phase, policy=policy, paper=case / "paper.tex")
    errors = Counter(finding.kind for finding in report.errors)
    other = expected.get("accept", {}).get("errors_any")
    if other:
        assert errors and set(errors) <= set(other)
    else:
        assert errors == wanted["errors"]
        assert Counter(finding.kind for finding in report.warnings) == wanted["warnings"]
        assert report.status == wanted["status"]
    assert report.should_block == wanted["should_block"][phase]
    for name, value in expected["gate_metrics"].items():
        assert report.metrics[name] == value
