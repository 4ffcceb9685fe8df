"""Minting the metric contract: stated or derived, once, with lines where it cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.errors import ExperimentError, FormatError
from ari.pipeline.metric_spec import CONTRACT_NAME, make_metric_spec, mint_contract
from support.studies import copy_study

EXAMPLES = Path(__file__).parents[3] / "examples"
COMMAND = """# Fast

Metrics: GFlops/s (higher is better)

## Command
```bash
./run {a}
```

## Parameters
- a: 1, 2
"""
CEILING = "\n## Ceiling\n- metric: peak\n- for: GFlops/s\n- command: ./peak\n"
CORRECT = "\n## Correctness\n- check: max_abs_err < 1e-9\n"
STATED = """
## Metric contract
- key: roof_share
- formula: `geomean(gflops_byK / ceiling_byK)`
- invariants:
  - value <= 1
  - model_sec <= sec
- correctness: max_abs_err < 1e-4
- required_measured: dram_peak_bw, ceiling_byK
- ceiling_select: cache_bw if bw > dram_peak_bw else dram_peak_bw
- claim: large pages help needs thp_on_tput, thp_off_tput
- ceiling must be measured: yes
- tolerance: 2 %
"""


def mint(text: str, folder: Path, **options: object) -> dict[str, object]:
    return mint_contract(text, folder=folder, **options)


def test_a_stated_contract_has_the_documented_shape(tmp_path: Path) -> None:
    assert mint(COMMAND + STATED, tmp_path) == {
        "key": "roof_share",
        "formula": "geomean(gflops_byK / ceiling_byK)",
        "invariants": ["value <= 1", "model_sec <= sec"],
        "correctness": {"expr": "max_abs_err < 1e-4", "requires": ["max_abs_err"]},
        "correctness_required": True,
        "required_measured": ["dram_peak_bw", "ceiling_byK"],
        "ceiling_select": "cache_bw if bw > dram_peak_bw else dram_peak_bw",
        "claims": [{"claim": "large pages help", "required_evidence": ["thp_on_tput", "thp_off_tput"]}],
        "ceiling_must_be_measured": True,
        "tolerance": {"absolute": 0.0, "relative": 0.02},
    }


def test_a_contract_may_be_given_as_the_file_itself(tmp_path: Path) -> None:
    block = '\n## Metric contract\n```json\n{"key": "speed", "invariants": ["value >= 0"]}\n```\n'
    assert mint(COMMAND + block, tmp_path)["invariants"] == ["value >= 0"]
    with pytest.raises(ExperimentError, match=r"line 15: the metric contract is no JSON"):
        mint(COMMAND + "\n## Metric contract\n```json\n{oops}\n```\n", tmp_path)
    with pytest.raises(FormatError, match=r"/invariants/0"):
        mint(COMMAND + '\n## Metric contract\n```json\n{"key": "s", "invariants": [1]}\n```\n', tmp_path)


def test_a_command_with_a_ceiling_must_stay_below_what_was_measured(tmp_path: Path) -> None:
    contract = mint(COMMAND + CEILING + CORRECT, tmp_path)
    assert contract["key"] == "GFlops/s"
    assert contract["invariants"] == ["value / peak <= 1"]
    assert contract["required_measured"] == ["peak"]
    assert contract["correctness"] == {"expr": "max_abs_err < 1e-9", "requires": ["max_abs_err"]}
    assert contract["correctness_required"] is True
    assert contract["ceiling_must_be_measured"] is True
    assert mint(COMMAND, tmp_path) == {"key": "GFlops/s", "tolerance": {"absolute": 0.0, "relative": 0.02}}


@pytest.mark.parametrize(("metric", "invariant"), [("", "value >= 0"), ("Metrics: r2\n", "value <= 1")])
def test_a_formula_is_bounded_by_what_its_metric_means(tmp_path: Path, metric: str, invariant: str) -> None:
    (tmp_path / "d.csv").write_text("x,y\n1,2\n")
    text = f"# Law\n\n{metric}\n## Data\n- source: d.csv\n- target: y\n"
    assert mint(text, tmp_path)["invariants"] == [invariant]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("- invariant: __import__('os').system('id')", r"line 14: .* is no expression"),
        ("- formula: value ** 2", r"line 14: .*Pow is not allowed"),
        ("- ceiling must be measured: perhaps", r"line 14: 'perhaps' is neither yes nor no"),
        ("- claim: it is fast", r"line 14: a claim names the evidence it needs"),
        ("- tolerance: some", r"line 14: the tolerance 'some' is not understood"),
        ("- colour: blue", r"line 14: a metric contract has no 'colour'"),
        ("no item", r"line 13: the section '## Metric contract' states nothing"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(tmp_path: Path, item: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        mint(f"{COMMAND}\n## Metric contract\n{item}\n", tmp_path)


def test_the_block_of_ideas_does_not_move_the_lines(tmp_path: Path) -> None:
    block = (
        "<!-- AUTO-APPENDED BY VirSci (idea.json) — DO NOT EDIT -->\n## A\nx\n<!-- END AUTO-APPENDED -->\n"
    )
    with pytest.raises(ExperimentError, match="line 18:"):
        mint(f"{COMMAND}{block}\n## Metric contract\n- formula: a ** b\n", tmp_path)


def test_a_contract_is_minted_once(tmp_path: Path) -> None:
    (tmp_path / "experiment.md").write_text(COMMAND + CEILING)
    assert make_metric_spec(checkpoint=tmp_path)["minted"] is True
    first = (tmp_path / CONTRACT_NAME).read_bytes()
    (tmp_path / "experiment.md").write_text(COMMAND)
    again = make_metric_spec(checkpoint=tmp_path, proposal={"ceiling_must_be_measured": False})
    assert again["minted"] is False
    assert again["contract"] == json.loads(first)
    assert (tmp_path / CONTRACT_NAME).read_bytes() == first


@pytest.mark.parametrize("name", ["kepler", "matmul"])
def test_a_study_without_a_contract_gets_the_one_it_would_have_begun_with(name: str, tmp_path: Path) -> None:
    study = copy_study(name, tmp_path)
    (study / CONTRACT_NAME).unlink(missing_ok=True)
    made = make_metric_spec(checkpoint=study)
    example = EXAMPLES / name
    text = (example / "experiment.md").read_text(encoding="utf-8")
    assert made["minted"] is True
    assert made["contract"] == mint_contract(text, folder=example)


def test_a_proposal_may_add_and_never_drop(tmp_path: Path) -> None:
    (tmp_path / "experiment.md").write_text(COMMAND + CEILING + CORRECT)
    proposal = {
        "key": "other",
        "invariants": ["value >= 0"],
        "correctness_required": False,
        "ceiling_must_be_measured": False,
        "tolerance": {"absolute": 0.0, "relative": 9.0},
    }
    contract = make_metric_spec(checkpoint=tmp_path, proposal=proposal)["contract"]
    assert contract["key"] == "GFlops/s"
    assert contract["invariants"] == ["value / peak <= 1", "value >= 0"]
    assert contract["correctness_required"] is True
    assert contract["ceiling_must_be_measured"] is True
    assert contract["tolerance"]["relative"] == 0.02


def test_a_proposal_with_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"Attribute is not allowed|only .* may be called"):
        mint(COMMAND, tmp_path, proposal={"invariants": ["value.real > 0"]})
