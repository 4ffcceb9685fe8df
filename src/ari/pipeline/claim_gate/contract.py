"""Whether the measurements keep the metric contract, and the invariants that hold without one.

A contract is checked against every configuration that reports its metric. What several configurations share
(a ceiling measured once) is taken from the configuration in which it is tagged as measured. Evidence is a tag
of `_provenance`, never a name: `microbench` and `benchmark` for ceilings, `correctness` and `reference` for
residuals. An expression that cannot be computed is not fulfilled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ari.pipeline.claim_gate.assertions import POLICY_RELATIVE
from ari.pipeline.claim_gate.formula_eval import evaluate, names_in

CONTRACT_KINDS = frozenset(
    {
        "invariant_violation",
        "correctness_failed",
        "correctness_uncovered",
        "placeholder_denominator",
        "recompute_mismatch",
        "claim_evidence_missing",
        "ceiling_unmeasured",
    }
)
"""Kinds of finding that block the final gate under either policy: they are false, whatever one's taste."""

MEASURED = frozenset({"microbench", "benchmark"})
COMPARED = frozenset({"correctness", "reference"})

FLAGS = ("correctness_required", "ceiling_must_be_measured")
"""Flags that belong to the idea; once minted they stand."""

_AT_MOST_ONE = frozenset(
    {"normalized", "normalised", "efficiency", "utilization", "utilisation", "attainment"}
)
_PERCENT_WORDS = frozenset({"percent", "pct"})


class ContractFinding(NamedTuple):
    """A breach of the contract.

    Attributes:
        kind: One of `CONTRACT_KINDS`.
        message: What is wrong.
        fix: What would mend it.
        value: The number concerned.
        node_id: The node it was measured on, where known.
        metric: The metric.
        blocking: Whether it is an error; otherwise it concerns a configuration that no headline rests on.
    """

    kind: str
    message: str
    fix: str
    value: float | None = None
    node_id: str | None = None
    metric: str | None = None
    blocking: bool = True


@dataclass(frozen=True)
class _Configuration:
    name: str
    node_id: str | None
    values: Mapping[str, Any]
    tags: Mapping[str, str]


@dataclass(frozen=True)
class _Contract:
    key: str
    formula: str
    ceiling_select: str
    invariants: Sequence[str]
    check: str
    requires: Sequence[str]
    required_measured: Sequence[str]
    claims: Sequence[tuple[str, Sequence[str]]]
    correctness_required: bool
    ceiling_must_be_measured: bool
    absolute: float
    relative: float


@dataclass
class _Findings:
    found: list[ContractFinding] = field(default_factory=list)

    def add(self, kind: str, message: str, fix: str, **details: Any) -> None:  # noqa: ANN401 - passed on
        self.found.append(ContractFinding(kind, message, fix, **details))


def check_contract(
    contract: Mapping[str, Any] | None,
    science_data: Mapping[str, Any],
    config_nodes: Mapping[str, str] | None = None,
) -> list[ContractFinding]:
    """Check the configurations of a study against its contract and the general invariants.

    Args:
        contract: The contract; None for a study without one.
        science_data: The parsed `science_data.json`.
        config_nodes: Name of a configuration to its node.

    Returns:
        The breaches.
    """
    configurations = _configurations(science_data, config_nodes or {})
    findings = _Findings()
    read = _read(contract) if isinstance(contract, Mapping) else None
    if read is not None:
        _Check(read, configurations, findings).run()
    guarded = {read.key} if read is not None and read.invariants else set()
    _check_names(configurations, guarded, findings)
    return findings.found


def _configurations(science_data: Mapping[str, Any], nodes: Mapping[str, str]) -> list[_Configuration]:
    listed = science_data.get("configurations")
    found = []
    for index, document in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(document, Mapping):
            continue
        values: dict[str, Any] = {}
        for part in ("parameters", "metrics", "measurements"):
            held = document.get(part)
            values.update(held if isinstance(held, Mapping) else {})
        tags = document.get("_provenance")
        name = document.get("config_id")
        name = name if isinstance(name, str) else f"configuration {index + 1}"
        node_id = document.get("node_id") or nodes.get(name)
        rank = document.get("rank")
        order = rank if isinstance(rank, int | float) and not isinstance(rank, bool) else float("inf")
        found.append(
            (order, index, _Configuration(name, node_id, values, tags if isinstance(tags, Mapping) else {}))
        )
    return [configuration for _, _, configuration in sorted(found, key=lambda item: item[:2])]


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _read(contract: Mapping[str, Any]) -> _Contract | None:
    key = _text(contract.get("key"))
    if not key:
        return None
    correctness = contract.get("correctness")
    correctness = correctness if isinstance(correctness, Mapping) else {}
    claims = contract.get("claims")
    tolerance = contract.get("tolerance")
    tolerance = tolerance if isinstance(tolerance, Mapping) else {"relative": POLICY_RELATIVE}
    check = _text(correctness.get("expr"))
    return _Contract(
        key=key,
        formula=_text(contract.get("formula")),
        ceiling_select=_text(contract.get("ceiling_select")),
        invariants=tuple(text for text in _texts(contract.get("invariants")) if text.strip()),
        check=check,
        requires=_texts(correctness.get("requires")) or names_in(check),
        required_measured=_texts(contract.get("required_measured")),
        claims=tuple(
            (_text(claim.get("claim")), _texts(claim.get("required_evidence")))
            for claim in (claims if isinstance(claims, list) else [])
            if isinstance(claim, Mapping)
        ),
        correctness_required=contract.get("correctness_required") is True,
        ceiling_must_be_measured=contract.get("ceiling_must_be_measured") is True,
        absolute=_share(tolerance.get("absolute")),
        relative=_share(tolerance.get("relative")),
    )


def _share(value: object) -> float:
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    return max(float(value), 0.0) if sound else 0.0  # type: ignore[arg-type]


class _Check:
    """One contract against the configurations that report its metric."""

    def __init__(
        self, contract: _Contract, configurations: Sequence[_Configuration], findings: _Findings
    ) -> None:
        self._contract = contract
        self._all = configurations
        self._reporting = [c for c in configurations if contract.key in c.values]
        self._findings = findings
        self._shared = self._measured_somewhere()

    def run(self) -> None:
        contract = self._contract
        if not self._reporting:
            self._findings.add(
                "claim_evidence_missing",
                f"no configuration reports {contract.key!r}, the metric of the contract",
                f"Measure {contract.key!r}, or run the study whose contract this is.",
                metric=contract.key,
            )
        for index, configuration in enumerate(self._reporting):
            self._check_configuration(configuration, blocking=index == 0)
        self._check_evidence()

    def _measured_somewhere(self) -> dict[str, Any]:
        shared: dict[str, Any] = {}
        for configuration in self._all:
            for name, tag in configuration.tags.items():
                if tag in MEASURED and name in configuration.values:
                    shared.setdefault(name, configuration.values[name])
        return shared

    def _scope(self, configuration: _Configuration) -> dict[str, Any]:
        scope = {**self._shared, **configuration.values}
        scope["value"] = configuration.values[self._contract.key]
        if self._contract.ceiling_select:
            ceiling = evaluate(self._contract.ceiling_select, scope)
            if ceiling.ok and not isinstance(ceiling.value, bool):
                scope["ceiling"] = ceiling.value
        return scope

    def _check_configuration(self, configuration: _Configuration, *, blocking: bool) -> None:
        scope = self._scope(configuration)
        details = {"node_id": configuration.node_id, "metric": self._contract.key}
        for text in self._contract.invariants:
            held = evaluate(text, scope)
            if held.ok and held.value is True:
                continue
            reported = _scalar(scope["value"])
            if held.ok and held.value is False:
                message = f"{configuration.name}: the invariant {text!r} does not hold for {_show(reported)}"
                fix = "Find out which measurement is wrong; a value that cannot be must not be reported."
            else:
                why = held.reason or "it is no condition"
                message = f"{configuration.name}: the invariant {text!r} cannot be checked: {why}"
                fix = "Measure what the invariant needs, so that it can be computed."
            self._findings.add(
                "invariant_violation", message, fix, value=reported,
                blocking=blocking or held.value is False, **details,
            )  # fmt: skip
        self._recompute(configuration, scope, details, blocking=blocking)
        self._check_correctness(configuration, details, blocking=blocking)

    def _recompute(
        self,
        configuration: _Configuration,
        scope: Mapping[str, Any],
        details: Mapping[str, Any],
        *,
        blocking: bool,
    ) -> None:
        contract = self._contract
        if not contract.formula:
            return
        result = evaluate(contract.formula, scope)
        reported = _scalar(scope["value"])
        if not result.ok or isinstance(result.value, bool | list) or result.value is None:
            why = result.reason or "it gives no single number"
            self._findings.add(
                "recompute_mismatch",
                f"{configuration.name}: {contract.key} cannot be recomputed by {contract.formula!r}: {why}",
                "Report the operands of the formula beside the metric.",
                value=reported, blocking=blocking, **details,
            )  # fmt: skip
            return
        allowed = max(contract.absolute, contract.relative * abs(result.value)) + 1e-12 * abs(result.value)
        if reported is None or abs(reported - result.value) > allowed:
            self._findings.add(
                "recompute_mismatch",
                f"{configuration.name}: {contract.key} is reported as {_show(reported)}, but "
                f"{contract.formula!r} gives {_show(result.value)}",
                f"Report {_show(result.value)}, or mend the operands.",
                value=result.value, **details,
            )  # fmt: skip

    def _check_correctness(
        self, configuration: _Configuration, details: Mapping[str, Any], *, blocking: bool
    ) -> None:
        contract = self._contract
        if not contract.check:
            return
        result = evaluate(contract.check, configuration.values)
        if result.ok and result.value is True:
            return
        residuals = {name: _scalar(configuration.values.get(name)) for name in contract.requires}
        if result.ok and result.value is False:
            self._findings.add(
                "correctness_failed",
                f"{configuration.name}: the correctness check {contract.check!r} fails for "
                + ", ".join(f"{name} = {_show(value)}" for name, value in residuals.items()),
                "The result is wrong; its speed or quality may not be reported.",
                value=next(iter(residuals.values()), None), **details,
            )  # fmt: skip
        elif self._compared(contract.requires) or not blocking:  # else it is said once, for the whole study
            self._findings.add(
                "correctness_uncovered",
                f"{configuration.name}: the check {contract.check!r} cannot be made: {result.reason}",
                "Measure the residual in this configuration, too.",
                blocking=blocking, **details,
            )  # fmt: skip

    def _compared(self, names: Sequence[str]) -> bool:
        """Whether the headline's configuration was compared with a reference by these residuals."""
        headline = self._reporting[:1] or self._all
        return all(any(c.tags.get(name) in COMPARED and name in c.values for c in headline) for name in names)

    def _check_evidence(self) -> None:
        contract = self._contract
        for name in contract.required_measured:
            if name not in self._shared:
                tag = next((c.tags[name] for c in self._all if name in c.tags), "")
                self._findings.add(
                    "placeholder_denominator",
                    f"{name} must be measured, but it is {f'tagged {tag!r}' if tag else 'not tagged at all'}",
                    f"Run the micro-benchmark that measures {name} and tag it 'microbench' or 'benchmark'.",
                    metric=name,
                )
        tags = {tag for c in self._all for tag in c.tags.values()}
        if contract.ceiling_must_be_measured and not tags & MEASURED:
            self._findings.add(
                "ceiling_unmeasured",
                "the contract asks for a measured ceiling, and nothing is tagged as measured",
                "Run a micro-benchmark of the ceiling and tag it 'microbench' or 'benchmark'.",
                metric=contract.key,
            )
        self._check_comparison(tags)
        for claim, names in contract.claims:
            missing = [name for name in names if not any(name in c.values for c in self._all)]
            if missing:
                self._findings.add(
                    "claim_evidence_missing",
                    f"the claim {claim!r} needs {', '.join(missing)}, which no configuration reports",
                    f"Measure {', '.join(missing)}, or drop the claim.",
                )

    def _check_comparison(self, tags: set[str]) -> None:
        contract = self._contract
        if contract.check and (contract.correctness_required or not self._reported(contract.requires)):
            covered = self._compared(contract.requires)
        else:
            covered = not contract.correctness_required or bool(tags & COMPARED)
        if not covered:
            what = ", ".join(contract.requires) or "a residual"
            self._findings.add(
                "correctness_uncovered",
                f"the result must be compared with a reference, and {what} is not tagged so",
                f"Measure {what} against a reference and tag it 'correctness' or 'reference'.",
                metric=contract.key,
            )

    def _reported(self, names: Sequence[str]) -> bool:
        return all(any(name in c.values for c in self._all) for name in names)


def _scalar(value: object) -> float | None:
    result = evaluate("v", {"v": value})
    return result.value if result.ok and isinstance(result.value, float) else None


def _show(value: float | None) -> str:
    return "no number" if value is None else f"{value:.6g}"


def _check_names(configurations: Sequence[_Configuration], guarded: set[str], findings: _Findings) -> None:
    """Invariants that a metric's own name states: an efficiency is at most one."""
    for configuration in configurations:
        for name, value in configuration.values.items():
            bounds = _bounds(str(name)) if name not in guarded else None
            number = _scalar(value) if bounds is not None else None
            if number is None or bounds is None:
                continue
            low, high = bounds
            if not low - 1e-9 <= number <= high + 1e-9:
                findings.add(
                    "invariant_violation",
                    f"{configuration.name}: {name} = {_show(number)} lies outside {_span(low, high)}, "
                    "which its name promises",
                    "Correct the measurement, or give the metric a name that fits.",
                    value=number, node_id=configuration.node_id, metric=str(name),
                )  # fmt: skip


def _span(low: float, high: float) -> str:
    return f"{low:g} to {high:g}" if low > float("-inf") else f"the range up to {high:g}"


@lru_cache(maxsize=4096)
def _bounds(name: str) -> tuple[float, float] | None:
    words = set(_words(name))
    full = 100.0 if words & _PERCENT_WORDS or "%" in name else 1.0
    if "probability" in words:
        return 0.0, full
    return (float("-inf"), full) if words & _AT_MOST_ONE else None


def _words(name: str) -> Iterator[str]:
    return (word.lower() for word in re.split(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])", name) if word)
