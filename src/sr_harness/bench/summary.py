"""The tables of a benchmark: recovery rates with intervals, and what recovery costs.

A group is one method on one set of problems at one level of noise. Our search appears twice where peers ran:
on all problems, and on the sample that the peers had.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from sr_harness.bench.methods import OURS
from sr_harness.bench.settings import BenchmarkSettings
from sr_harness.bench.store import Result, write_atomically

Z_95: Final = 1.959963984540054
ACCURATE: Final = 0.999
FORMULA_WIDTH: Final = 120


class Interval(NamedTuple):
    """Low and high end, as shares."""

    low: float
    high: float


@dataclass(frozen=True)
class Group:
    """The figures of one method on one set of problems at one level of noise.

    Attributes:
        problems: `all` or `sample`.
        n: Problems.
        recovered: True formulas found, up to a constant offset or factor.
        rate: The share of that.
        low: Lower end of the 95 % interval of the rate.
        high: Its upper end.
        strict: True formulas found.
        median_processor_seconds: Median over the recovered, None without any.
        median_wall_seconds: The same for wall time.
        processor_seconds: Total over all problems.
        accurate: Problems with R² above 0.999 on test rows without noise.
        stopped: Trials that had to be killed.
        failed: Trials that ended with an error.
    """

    method: str
    problems: str
    noise: float
    n: int
    recovered: int
    rate: float
    low: float
    high: float
    strict: int
    median_processor_seconds: float | None
    median_wall_seconds: float | None
    processor_seconds: float
    accurate: int
    stopped: int
    failed: int


def wilson(successes: int, trials: int, z: float = Z_95) -> Interval:
    """Wilson's score interval of a share (E. B. Wilson, 1927); (0, 1) without any trial."""
    if trials == 0:
        return Interval(0.0, 1.0)
    share = successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def summarise(results: Sequence[Result], settings: BenchmarkSettings) -> list[Group]:
    """The groups, by noise, then set of problems, then method."""
    sample = set(settings.peer_ids)
    groups = []
    for noise in settings.noise:
        here = [result for result in results if result.noise == noise]
        ours = [result for result in here if result.method == OURS]
        groups.append(_group(OURS, "all", noise, ours))
        if settings.peers:
            groups.append(_group(OURS, "sample", noise, [r for r in ours if r.id in sample]))
        for peer in settings.peers:
            groups.append(_group(peer, "sample", noise, [r for r in here if r.method == peer]))
    return groups


def _group(method: str, problems: str, noise: float, results: Sequence[Result]) -> Group:
    found = [result for result in results if result.recovered]
    interval = wilson(len(found), len(results))
    return Group(
        method=method,
        problems=problems,
        noise=noise,
        n=len(results),
        recovered=len(found),
        rate=round(len(found) / len(results), 6) if results else 0.0,
        low=round(interval.low, 6),
        high=round(interval.high, 6),
        strict=sum(result.strict for result in results),
        median_processor_seconds=_median([result.processor_seconds for result in found]),
        median_wall_seconds=_median([result.wall_seconds for result in found]),
        processor_seconds=round(sum(result.processor_seconds for result in results), 1),
        accurate=sum((result.r2_inside or 0.0) > ACCURATE for result in results),
        stopped=sum(result.status == "stopped" for result in results),
        failed=sum(result.status == "failed" for result in results),
    )


def _median(values: Sequence[float]) -> float | None:
    return round(median(values), 2) if values else None


def write_summary(
    directory: Path,
    results: Sequence[Result],
    settings: BenchmarkSettings,
    notes: Sequence[str],
    command: str,
) -> dict[str, Any]:
    """Write `summary.csv`, `summary.md` and `summary.json`.

    Args:
        directory: Where to.
        results: All results.
        settings: What was asked for.
        notes: What the reader must know, a sentence each.
        command: The command that made the results.

    Returns:
        The JSON document.
    """
    groups = summarise(results, settings)
    rows = [asdict(group) for group in groups]
    document = {
        "schema_version": 1,
        "command": command,
        "settings": settings.model_dump(mode="json"),
        "groups": rows,
        "notes": list(notes),
        "missed": [
            {"method": r.method, "noise": r.noise, "id": r.id, "formula": r.formula, "truth": r.truth}
            for r in results
            if not r.recovered
        ],
    }
    write_atomically(directory / "summary.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(directory / "summary.csv", text.getvalue())
    write_atomically(directory / "summary.md", markdown(groups, results, settings, notes, command))
    return document


def markdown(
    groups: Sequence[Group],
    results: Sequence[Result],
    settings: BenchmarkSettings,
    notes: Sequence[str],
    command: str,
) -> str:
    """The tables as a page of Markdown."""
    lines = [
        f"# Benchmark of {settings.table}",
        "",
        f"`{command}`",
        "",
        f"{len(settings.ids)} problems, {settings.rows} training rows, seed {settings.seed}; at most "
        f"{settings.time_limit:g} s and {settings.threads} thread{'s' * (settings.threads > 1)} a problem, "
        f"{settings.work} units of work for our own search.",
        "",
        *(f"- {note}" for note in notes),
        *([""] if notes else []),
        "| method | problems | noise | n | recovered | 95 % interval | strict | R² > 0.999 "
        "| median processor s where recovered | processor s in all |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_row(group) for group in groups),
        "",
        "## Every problem",
        "",
        "| problem | method | noise | verdict | processor s | R² inside | found |",
        "|---|---|---|---|---|---|---|",
        *(_line(result) for result in results),
    ]
    return "\n".join(lines) + "\n"


def _row(group: Group) -> str:
    spent = "–" if group.median_processor_seconds is None else f"{group.median_processor_seconds:.2f}"
    return (
        f"| {group.method} | {group.problems} | {group.noise:g} | {group.n} "
        f"| {group.recovered} ({group.rate:.1%}) | {group.low:.1%} to {group.high:.1%} | {group.strict} "
        f"| {group.accurate} | {spent} | {group.processor_seconds:.0f} |"
    )


def _line(result: Result) -> str:
    fit = "–" if result.r2_inside is None else f"{result.r2_inside:.6f}"
    formula = (result.formula or result.error or "–").replace("|", "\\|").replace("\n", " ")
    shown = formula if len(formula) <= FORMULA_WIDTH else formula[: FORMULA_WIDTH - 1] + "…"
    return (
        f"| {result.id} | {result.method} | {result.noise:g} | {verdict_word(result)} "
        f"| {result.processor_seconds:.2f} | {fit} | `{shown}` |"
    )


def verdict_word(result: Result) -> str:
    """The verdict in a word or two."""
    if result.strict:
        return "exact"
    if result.recovered:
        return f"up to a constant {result.how}"
    return result.status if result.status != "done" else "missed"
