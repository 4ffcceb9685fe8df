"""Which skills there are, and what each has to be told before its tools can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class SkillInfo:
    """One skill of this distribution.

    Attributes:
        name: Its name; the server is called `ari-skill-<name>`.
        summary: What its tools are for.
        needs: Options without which it cannot be served, each an alternative to those in its own tuple.
        takes: Options it can do without.
    """

    name: str
    summary: str
    needs: tuple[tuple[str, ...], ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Every option it understands."""
        return (*(name for group in self.needs for name in group), *self.takes)

    @property
    def usage(self) -> str:
        """Its options as a usage line has them."""
        needed = " ".join("|".join(f"--{option}" for option in group) for group in self.needs)
        optional = " ".join(f"[--{option}]" for option in self.takes)
        return f"{needed} {optional}".strip()


_ALL = (
    SkillInfo(
        "benchmark",
        "which configuration is best, and whether two of them differ",
        takes=("checkpoint", "work-dir"),
    ),
    SkillInfo(
        "coding",
        "files of a folder, contained commands and tests, results with their provenance",
        needs=(("work-dir",),),
        takes=("checkpoint", "time-limit"),
    ),
    SkillInfo(
        "evaluator",
        "metric contract, gate and review of a study; measurement of a node",
        needs=(("checkpoint",),),
        takes=("node",),
    ),
    SkillInfo("idea", "ranked research ideas", needs=(("experiment", "checkpoint"),), takes=("seed",)),
    SkillInfo("memory", "what the nodes of a study remember", needs=(("checkpoint",),), takes=("node",)),
    SkillInfo(
        "orchestrator",
        "start studies and sub-experiments below a folder, watch and read them",
        needs=(("root",),),
    ),
    SkillInfo("paper", "write, review, refine and compile the paper of a study", needs=(("checkpoint",),)),
    SkillInfo("plot", "the figures of a study", needs=(("checkpoint",),)),
    SkillInfo(
        "symbolic",
        "statistics, relationships, fits, discovery and comparison of formulas, on your data",
        needs=(("data",), ("target",)),
        takes=("inputs", "time", "seed", "work-dir"),
    ),
    SkillInfo("transform", "science_data.json from the executed nodes", needs=(("checkpoint",),)),
    SkillInfo("web", "papers from public services; off unless ARI_WEB=1", takes=("checkpoint",)),
)

CATALOGUE: Mapping[str, SkillInfo] = MappingProxyType({info.name: info for info in _ALL})
"""The skills of this distribution by name."""
