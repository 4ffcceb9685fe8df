"""The files that carry claims: science data, links, gate report."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.errors import FormatError
from ari.formats.gate_report import GateReport
from ari.formats.paper_claim_links import PaperClaimLinks
from ari.formats.science_data import ScienceData

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors" / "checkpoints" / "gflops_run"
LEFT_OUT = {"node_id": "n2", "reason": "the command failed", "status": "errored"}


def test_science_data_reads_its_parts_and_writes_what_it_read() -> None:
    data = ScienceData.read(VECTORS / "science_data.json")
    assert data.configurations[0].provenance == {"ceiling_byK": "microbench", "max_abs_err": "correctness"}
    assert data.claims[0].numeric_assertions[0].operands["value"].node_id == "node_simd"
    document = data.to_dict() | {"left_out": [LEFT_OUT]}
    assert ScienceData.from_document(document, source="x").left_out[0].reason == "the command failed"
    assert ScienceData.from_document(document, source="x").to_dict() == document


def test_an_assertion_says_how_it_is_rounded() -> None:
    document = ScienceData.read(VECTORS / "science_data.json").to_dict()
    document["numeric_assertions"][0]["rounding"] = "printed"
    assert ScienceData.from_document(document, source="x").numeric_assertions[0].rounding == "printed"
    document["numeric_assertions"][0]["rounding"] = "up"
    with pytest.raises(FormatError, match="/numeric_assertions/0/rounding"):
        ScienceData.from_document(document, source="x")


def test_links_have_a_range_of_two_lines() -> None:
    links = PaperClaimLinks.read(VECTORS / "paper_claim_links.json")
    assert links.paper_claim_links[0].line_range == [5, 5]
    document = links.to_dict()
    document["paper_claim_links"][0]["line_range"] = [5]
    with pytest.raises(FormatError, match="line_range"):
        PaperClaimLinks.from_document(document, source="x")


def test_a_finding_of_the_gate_is_known_by_type_and_kind() -> None:
    report = {
        "gate": "claim_evidence_hard_gate",
        "phase": "final",
        "policy": "strict",
        "status": "failed",
        "should_block": True,
        "errors": [{"type": "numeric_mismatch", "line": 9, "value": 3.0}],
    }
    read = GateReport.from_document(report, source="x")
    assert read.errors[0].kind == "numeric_mismatch"
    assert read.to_dict()["errors"][0]["value"] == 3.0
    with pytest.raises(FormatError, match="/errors/0/type"):
        GateReport.from_document(report | {"errors": [{"line": 9}]}, source="x")
