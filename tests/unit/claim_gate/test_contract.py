"""The metric contract over several configurations, where evidence is shared, missing or contradicts."""

from __future__ import annotations

from typing import Any

import pytest

from ari.pipeline.claim_gate.contract import check_contract


def configuration(rank: int, values: dict[str, Any], **tags: str) -> dict[str, Any]:
    return {"config_id": f"cfg{rank}", "rank": rank, "measurements": values, "_provenance": tags}


def kinds(contract: dict[str, Any] | None, *configurations: dict[str, Any]) -> list[tuple[str, bool]]:
    found = check_contract(contract, {"configurations": list(configurations)})
    return [(breach.kind, breach.blocking) for breach in found]


SHARE = {"key": "speed", "invariants": ["value / peak <= 1"], "required_measured": ["peak"]}


def test_a_ceiling_measured_once_serves_every_configuration() -> None:
    measured = configuration(2, {"speed": 3.0, "peak": 10.0}, peak="microbench")
    assert kinds(SHARE, configuration(1, {"speed": 9.0}), measured) == []
    assert kinds(SHARE, configuration(1, {"speed": 11.0}), measured) == [("invariant_violation", True)]


def test_a_declared_ceiling_is_neither_shared_nor_evidence() -> None:
    declared = configuration(2, {"speed": 3.0, "peak": 10.0}, peak="declared")
    assert kinds(SHARE, configuration(1, {"speed": 9.0}), declared) == [
        ("invariant_violation", True),  # it cannot be computed for the best configuration
        ("placeholder_denominator", True),
    ]


def test_what_cannot_be_computed_elsewhere_than_in_the_best_is_a_warning() -> None:
    contract = {"key": "speed", "invariants": ["model <= speed"], "formula": "model * 2"}
    best = configuration(1, {"speed": 4.0, "model": 2.0})
    assert kinds(contract, best, configuration(2, {"speed": 3.0})) == [
        ("invariant_violation", False),
        ("recompute_mismatch", False),
    ]


def test_the_residual_must_belong_to_the_best_configuration() -> None:
    contract = {"key": "speed", "correctness": {"expr": "err < 1e-6"}, "correctness_required": True}
    compared = configuration(2, {"speed": 3.0, "err": 0.0}, err="reference")
    assert kinds(contract, configuration(1, {"speed": 9.0, "err": 0.0}, err="declared"), compared) == [
        ("correctness_uncovered", True)
    ]
    assert kinds(contract, configuration(1, {"speed": 9.0, "err": 0.0}, err="correctness"), compared) == []
    assert kinds(contract, configuration(1, {"speed": 9.0, "err": 1.0}, err="correctness")) == [
        ("correctness_failed", True)
    ]


def test_a_metric_that_nobody_reports_does_not_pass() -> None:
    assert kinds({"key": "speed"}, configuration(1, {"other": 1.0})) == [("claim_evidence_missing", True)]
    assert kinds({"key": "speed"}) == [("claim_evidence_missing", True)]


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("roofline_efficiency", 1.0, True),
        ("parallelEfficiency", 1.2, False),
        ("efficiency_percent", 87.0, True),
        ("hit_probability", -0.1, False),
        ("residual_norm", 12.0, True),
        ("normalized_speed", 1.01, False),
        ("utilization", None, True),
    ],
)
def test_names_that_promise_a_bound(name: str, value: float | None, holds: bool) -> None:
    assert (kinds(None, configuration(1, {name: value})) == []) == holds


def test_records_of_any_shape_do_no_harm() -> None:
    science = {
        "configurations": [None, {"measurements": 3, "_provenance": []}, {"rank": "x", "metrics": {"a": "b"}}]
    }
    assert check_contract({"key": "a", "claims": [1], "invariants": [2], "tolerance": "x"}, science) == []
    assert check_contract({"key": 7}, {"configurations": "none"}) == []
