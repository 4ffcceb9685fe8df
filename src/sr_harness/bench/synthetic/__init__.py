"""Data of known systems, to try the search on and to teach with.

Owns the catalogue `SYSTEMS`. What is written never gives the law away: descriptions state meaning and unit,
and the law goes to a file beside the directory, `NAME.truth.json`, where no reader of the directory looks.
The same name, size, noise and seed give the same data.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from sr_harness.bench.store import write_atomically
from sr_harness.bench.synthetic.model import Sample, System
from sr_harness.bench.synthetic.networks import NETWORKS
from sr_harness.bench.synthetic.tables import TABLES
from sr_harness.core import write_context_data
from sr_harness.errors import BenchmarkError

SYSTEMS: Final[Mapping[str, System]] = MappingProxyType(
    {system.name: system for system in (*TABLES, *NETWORKS)}
)
"""Every system by name."""


class Written(NamedTuple):
    """Where the data and the law are, and which variable is to be explained."""

    directory: Path
    truth: Path
    target: str


def write_synthetic(
    name: str,
    directory: Path,
    *,
    rows: int | None = None,
    noise: float = 0.0,
    seed: int = 0,
    overwrite: bool = False,
) -> Written:
    """Write the data of a system as `context.data`, and its law beside them.

    Args:
        name: A name of `SYSTEMS`.
        directory: Where the data go; the law goes to `directory` with `.truth.json` at the end.
        rows: Rows of a table, or samples in time; None for the system's own number.
        noise: Standard deviation of the noise on the target, as a share of its root mean square.
        seed: Seed of everything random.
        overwrite: Replace what was written before.

    Raises:
        BenchmarkError: There is no such system.
        ContextWriteError: The directory cannot be written.
    """
    if name not in SYSTEMS:
        raise BenchmarkError(f"there is no system {name!r}; choose from {', '.join(SYSTEMS)}")
    system = SYSTEMS[name]
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    sample = system.draw(system.rows if rows is None else rows, rng)
    target = sample.variables[system.target]
    level = noise * float(np.sqrt(np.mean(np.square(target.values))))
    noisy = replace(target, values=target.values + level * rng.standard_normal(target.values.shape))
    place = write_context_data(
        directory,
        variables={**sample.variables, system.target: noisy},
        axes=sample.axes,
        num_nodes=sample.num_nodes,
        overwrite=overwrite,
    )
    truth = place.with_name(f"{place.name}.truth.json")
    write_atomically(truth, json.dumps(_truth(system, sample, noise, seed), indent=2) + "\n")
    return Written(place, truth, system.target)


def _truth(system: System, sample: Sample, noise: float, seed: int) -> dict[str, object]:
    return {
        "schema_version": 1,
        "system": system.name,
        "target": system.target,
        "formula": sample.formula,
        "constants": dict(sample.constants),
        "noise": noise,
        "seed": seed,
    }
