"""Which configuration is best: repeats brought together, a mean with its interval, and honest ties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ari.errors import ConfigError, FormatError
from ari.formats.jsonio import strict_dumps
from ari.formats.node_results import node_results, read_node_results
from ari.pipeline.criteria import known_direction
from ari.transform.spread import describe

MAX_FILES = 10_000


@dataclass(frozen=True)
class Observation:
    """What one node, one file or one caller measured.

    Attributes:
        parameters: Its configuration.
        values: Metric to its values, repeats in their order; never empty.
        source: Where it comes from.
    """

    parameters: Mapping[str, Any]
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    source: str = ""


def observations(folder: Path) -> tuple[list[Observation], list[str]]:
    """Read what was measured in a folder.

    Args:
        folder: A study (its nodes that count, with every repeat that a run printed), or any folder with
            `results*.json` files.

    Returns:
        The observations, and what could not be read.

    Raises:
        ConfigError: When there is nothing.
    """
    from ari.checkpoint.readers import is_checkpoint

    found, faults = _of_study(folder) if is_checkpoint(folder) else _of_files(folder)
    if not found:
        raise ConfigError(
            f"{folder} holds no results: neither a study with measured nodes nor results*.json files",
            cure="Name the folder of a study or of results, or hand the results over in the call.",
        )
    return found, faults


def _of_study(path: Path) -> tuple[list[Observation], list[str]]:
    from ari.evaluation.command import repeated_values
    from ari.execution.records import load
    from ari.transform.configurations import parameters
    from ari.transform.view import StudyView

    view = StudyView(path)
    found, faults = [], []
    for node in view.nodes.values():
        faults += [f"{node.id}: {fault}" for fault in node.unreadable]
        if not node.counts:
            continue
        values: dict[str, list[float]] = {name: [value] for name, value in node.metrics.items()}
        if view.kind == "command":
            runs = load(path / "records" / node.id, node_id=node.id).runs
            repeats = repeated_values(runs, path / (node.state.work_dir or f"experiments/{node.id}"))
            values |= {name: each for name, each in repeats.items() if name in values and _finite(each)}
        found.append(Observation(parameters(node), values, node.id))
    return found, faults


def _finite(values: Sequence[float]) -> bool:
    return all(math.isfinite(value) for value in values)


def _of_files(folder: Path) -> tuple[list[Observation], list[str]]:
    files = sorted(path for path in folder.rglob("results*.json") if path.is_file() and not path.is_symlink())
    if len(files) > MAX_FILES:
        raise ConfigError(f"{folder} holds {len(files)} results files; at most {MAX_FILES} are read")
    found, faults = [], []
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            results = read_node_results(path)
        except FormatError as error:
            faults.append(f"{name}: {error.message}")
            continue
        found.append(Observation(results.params, _numbers(results.measurements), name))
    return found, faults


def given_observations(results: Sequence[Mapping[str, Any]]) -> list[Observation]:
    """Observations that a caller hands over: objects with `params` and `measurements`.

    Raises:
        FormatError: When one is not in that shape.
    """
    found = []
    for place, document in enumerate(results):
        read = node_results(document, source=f"results[{place}]")
        found.append(Observation(read.params, _numbers(read.measurements), f"results[{place}]"))
    return found


def _numbers(measurements: Mapping[str, Any]) -> dict[str, list[float]]:
    """The finite numbers among the measurements; a list holds repeats."""
    found = {}
    for name, value in measurements.items():
        values = value if isinstance(value, list) else [value]
        numbers = [float(each) for each in values if _is_number(each)]
        if numbers:
            found[name] = numbers
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def analyse(
    found: Sequence[Observation],
    *,
    metric: str,
    higher_is_better: bool | None = None,
    group_by: Sequence[str] = (),
) -> dict[str, Any]:
    """Bring repeats together and rank the configurations by one metric.

    Args:
        found: The observations.
        metric: The metric.
        higher_is_better: Its direction; None where its name says it.
        group_by: Names of the parameters that make a configuration; default: all.

    Returns:
        `configurations`, best first, each with n, mean, median, spread and from three values on the 95 %
        interval of the mean; `best`; `ties`: configurations whose interval overlaps the best one's, or that
        have too few values to tell; `left_out`.

    Raises:
        ConfigError: When the direction is not known, or no observation holds the metric.
    """
    names = sorted({name for each in found for name in each.values})
    direction = known_direction(metric) if higher_is_better is None else higher_is_better
    if direction is None:
        raise ConfigError(
            f"whether {metric!r} is better high or low is not known", cure="Give higher_is_better."
        )
    keys = sorted({key for each in found for key in each.parameters})
    unknown = [key for key in group_by if key not in keys]
    if unknown:
        raise ConfigError(
            f"there is no parameter {unknown[0]!r}", cure=f"Parameters: {', '.join(keys) or 'none'}."
        )
    groups: dict[bytes, tuple[dict[str, Any], list[float], list[str]]] = {}
    left_out = []
    for each in found:
        if metric not in each.values:
            left_out.append(each.source)
            continue
        chosen = {key: each.parameters.get(key) for key in (group_by or sorted(each.parameters))}
        group = groups.setdefault(strict_dumps(chosen), (chosen, [], []))
        group[1].extend(each.values[metric])
        group[2].append(each.source)
    if not groups:
        raise ConfigError(
            f"no result holds the metric {metric!r}", cure=f"Metrics there are: {', '.join(names) or 'none'}."
        )
    rows = [
        {"parameters": parameters, **describe(values), "sources": sources}
        for parameters, values, sources in groups.values()
    ]
    rows.sort(key=lambda row: -row["mean"] if direction else row["mean"])
    return {
        "metric": metric,
        "higher_is_better": direction,
        "configurations": rows,
        "best": rows[0]["parameters"],
        "ties": [row["parameters"] for row in rows[1:] if _may_tie(rows[0], row)],
        "left_out": left_out,
    }


def _may_tie(best: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the data do not tell two configurations apart: intervals that overlap, or none."""
    if "interval" not in best or "interval" not in other:
        return True
    return bool(best["interval"][0] <= other["interval"][1] and other["interval"][0] <= best["interval"][1])
