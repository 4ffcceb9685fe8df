"""`run_hard_gate`: does the paper say what was measured?

The links and every number are computed anew from the `.tex` and the files of the study; recorded links are no
input. The gate checks that paper and results agree, not that the results are true. It writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from ari.errors import ConfigError
from ari.formats.gate_report import GateFinding, GateReport, Phase, Policy
from ari.formats.jsonio import Json
from ari.formats.metric_contract import forbidden_expressions
from ari.pipeline.claim_gate.claims import check_claims
from ari.pipeline.claim_gate.contract import CONTRACT_KINDS, FLAGS, check_contract
from ari.pipeline.claim_gate.findings import BLOCKING, finding
from ari.pipeline.claim_gate.formula_checks import check_formulas
from ari.pipeline.claim_gate.includes import read_source
from ari.pipeline.claim_gate.law_checks import check_laws
from ari.pipeline.claim_gate.links import link_paper_claims
from ari.pipeline.claim_gate.numeric_checks import NumericOutcome, check_numbers, compute_values
from ari.pipeline.claim_gate.paper_checks import check_citations, check_figures, check_includes
from ari.pipeline.claim_gate.printed_formulas import check_texts
from ari.pipeline.claim_gate.source import PaperSource
from ari.pipeline.claim_gate.study import StudyFiles

PAPER_NAMES = ("full_paper.tex", "paper.tex")
"""Where the paper is looked for when none is named; the first that exists."""


def run_hard_gate(
    checkpoint: Path, *, phase: Phase = "final", policy: Policy = "strict", paper: Path | None = None
) -> GateReport:
    """Check a paper against the study it reports.

    Args:
        checkpoint: The checkpoint, or a published bundle with the same files.
        phase: `draft` never blocks; `final` blocks on what is false or unsupported.
        policy: `strict` asks for an assertion behind every result number of abstract, results and
            conclusion; `warn` only warns of what is not backed. A broken contract blocks under both.
        paper: The `.tex` file; default: `full_paper.tex` of the checkpoint.

    Returns:
        The report. Bad content of the checkpoint or the paper is a finding, never an exception.

    Raises:
        ConfigError: If phase or policy is none of those.
    """
    if phase not in get_args(Phase) or policy not in get_args(Policy):
        raise ConfigError(
            f"there is no phase {phase!r} with policy {policy!r}",
            cure="Phases are draft and final, policies are strict and warn.",
        )
    run = _Run(Path(checkpoint), policy, paper)
    run.check()
    return run.report(phase)


class _Run:
    """One pass of the gate over one checkpoint."""

    def __init__(self, checkpoint: Path, policy: Policy, paper: Path | None) -> None:
        self._directory = checkpoint
        self._policy = policy
        self._paper = paper or next(
            (checkpoint / name for name in PAPER_NAMES if (checkpoint / name).exists()),
            checkpoint / PAPER_NAMES[0],
        )
        self._file = self._named(self._paper)
        self._study = StudyFiles.read(checkpoint)
        self.errors: list[GateFinding] = []
        self.warnings: list[GateFinding] = []
        self._metrics: dict[str, Any] = {}

    def _named(self, path: Path) -> str:
        try:
            return path.resolve().relative_to(self._directory.resolve()).as_posix()
        except (ValueError, OSError):
            return path.name

    def check(self) -> None:
        """Run every check; the order is that of the report."""
        source = self._read_paper()
        science = self._read_science()
        manifest = self._study.load("figures_manifest.json", required=False)
        links = link_paper_claims(
            source or PaperSource.of_text("", self._file),
            science,
            manifest if isinstance(manifest, Mapping) else None,
        )
        values = compute_values(links.registry, self._study)
        claims = check_claims(links.registry, self._study, self._file)
        self.errors += claims.errors
        self.warnings += claims.warnings
        if source is not None:
            self._take(
                check_numbers(links, values, study=self._study, science_data=science, policy=self._policy)
            )
            self.errors += check_formulas(source, self._study)
            self.errors += check_texts(links, self._study, science)
            self.errors += check_laws(links, self._study, science)
            self.warnings += check_figures(links, manifest, self._directory)
            for errors, warnings in (
                check_citations(links.paper, self._paper.parent),
                check_includes(source),
            ):
                self.errors += errors
                self.warnings += warnings
        self._check_contract(science, links.registry.config_nodes)
        self._report_faults()
        total = len(links.registry.claims)
        self._metrics = {
            "total_claims": total,
            "grounded_claims": claims.grounded,
            "execution_grounded_claim_rate": claims.grounded / total if total else 0.0,
            **self._metrics,
        }

    def _take(self, outcome: NumericOutcome) -> None:
        self.errors += outcome.errors
        self.warnings += outcome.warnings
        self._metrics.update(outcome.metrics)

    def _read_paper(self) -> PaperSource | None:
        try:
            return read_source(self._paper, self._directory)
        except OSError as error:
            self.errors.append(
                finding(
                    "paper_missing",
                    f"{self._file} cannot be read: {error.strerror or error}",
                    file=self._file,
                    fix="Write the paper first, or name it with --paper.",
                )
            )
            return None

    def _read_science(self) -> Mapping[str, Any]:
        document = self._study.load("science_data.json")
        if isinstance(document, Mapping):
            if not any(isinstance(claim, Mapping) for claim in _list(document.get("claims"))):
                self.warnings.append(
                    finding(
                        "no_claims",
                        "science_data.json holds no claim, so nothing in the paper is backed",
                        file="science_data.json",
                        fix="Derive the claims from the nodes (nodes_to_science_data) first.",
                    )
                )
            return document
        if document is not None:
            self._broken("science_data.json", "it holds no JSON object")
        return {}

    def _broken(self, file: str, message: str) -> None:
        fix = "Restore the file; `ari validate` says what is wrong with it."
        self.errors.append(finding("input_invalid", f"{file}: {message}", file=file, fix=fix))

    def _report_faults(self) -> None:
        for fault in self._study.faults:
            kind = "input_missing" if fault.absent else "input_invalid"
            fix = (
                "Run the stage that writes it."
                if fault.absent
                else "Restore the file; `ari validate` says what is wrong with it."
            )
            self.errors.append(finding(kind, fault.message, file=fault.file, fix=fix))

    def _check_contract(self, science: Mapping[str, Any], config_nodes: Mapping[str, str]) -> None:
        contract = self._contract(science)
        count = 0
        for breach in check_contract(contract, science, config_nodes):
            found = finding(
                breach.kind,
                breach.message,
                fix=breach.fix,
                file="science_data.json",
                evidence={"value": breach.value, "node_id": breach.node_id, "metric_path": breach.metric},
            )
            (self.errors if breach.blocking else self.warnings).append(found)
            count += breach.kind == "invariant_violation"
        self._metrics["invariant_violation_count"] = count
        self._metrics["contract_violation_count"] = (
            sum(error.kind in CONTRACT_KINDS for error in self.errors) - count
        )

    def _contract(self, science: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The contract as it was minted; what `science_data.json` holds is a copy that may drop nothing."""
        copied = science.get("metric_contract")
        minted: Json = self._study.load("metric_contract.json", required=False)
        copied = copied if isinstance(copied, Mapping) else None
        contract = minted if isinstance(minted, Mapping) else copied
        if contract is None:
            return None
        if copied is not None and contract is not copied and dict(copied) != dict(contract):
            self.warnings.append(
                finding(
                    "contract_differs",
                    "science_data.json holds another contract than metric_contract.json; the latter counts",
                    file="science_data.json",
                    fix="Write science_data.json again, so that it takes the contract over as it was minted.",
                )
            )
        for forbidden in forbidden_expressions(contract):
            self._broken("metric_contract.json", f"{forbidden.where}: {forbidden.reason}")
        flags = {
            flag: True for flag in FLAGS if contract.get(flag) is True or (copied or {}).get(flag) is True
        }
        return {**contract, **flags}

    def report(self, phase: Phase) -> GateReport:
        """Build the report of a phase."""
        blocking = any(error.kind in BLOCKING[self._policy] for error in self.errors)
        return GateReport(
            gate="claim_evidence_hard_gate",
            phase=phase,
            policy=self._policy,
            status="failed" if self.errors else "warn" if self.warnings else "passed",
            should_block=phase == "final" and blocking,
            errors=self.errors,
            warnings=self.warnings,
            metrics=self._metrics,
        )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
