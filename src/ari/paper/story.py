"""What the writers of sections share: the study, its evidence, the figures that exist, and common phrases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ari.findings.analysis import error_metric
from ari.findings.study import FinishedStudy, Node
from ari.paper.document import FigureBlock, Marks, listed
from ari.paper.evidence import Evidence, Number

if TYPE_CHECKING:
    from ari.findings.residuals import ResidualView

METRIC_NAMES = {
    "nrmse": "normalised root mean square error", "rmse": "root mean square error", "mae": "mean absolute "
    "error",
    "mse": "mean square error", "r2": "coefficient of determination", "max_abs_error": "largest absolute "
    "error",
    "max_rel_error": "largest relative error",
    "trajectory_error": "error of the integrated trajectories in standard deviations of the state",
}  # fmt: skip


@dataclass
class Story:
    """One paper in the making.

    Attributes:
        study: The finished study.
        evidence: The numbers that may be printed.
        marks: The things in the text.
        figures: The figures that exist, by their name without `fig_`.
        residuals: What the residuals look like; None for command studies.
        spans: Per input and target the smallest and largest value in the data and the unit, where known.
        used: Names of the figures that a section has placed.
    """

    study: FinishedStudy
    evidence: Evidence
    marks: Marks
    figures: Mapping[str, FigureBlock]
    residuals: ResidualView | None = None
    variables: Sequence[Mapping[str, Any]] = ()
    used: list[str] = field(default_factory=list)

    @property
    def best(self) -> Node:
        """The reported node."""
        if self.study.best is None:
            raise ValueError("a paper needs a result")
        return self.study.best

    @property
    def error(self) -> str:
        """The error metric that formulas are compared by."""
        return error_metric(self.study)

    def n(self, number: Number | None, before: str = "", after: str = "") -> str:
        """A number between two texts; nothing at all where it is not known."""
        return f"{before}{self.marks.add(number)}{after}" if number is not None else ""

    def metric(self, node: Node, name: str, before: str = "", after: str = "") -> str:
        """A metric of a node between two texts; nothing where it is not asserted."""
        return self.n(self.evidence.metric(node.id, name), before, after)

    def root_fact(self, name: str, before: str = "", after: str = "") -> str:
        """A fact of the study, recorded at the root."""
        root = self.study.root
        return self.metric(root, name, before, after) if root is not None else ""

    def experiment(self, node: Node) -> str:
        """How a text names a node."""
        return f"experiment {self.marks.name(node.id)}"

    def experiments(self, nodes: Sequence[Node]) -> str:
        """How a text names several nodes."""
        names = listed([self.marks.name(node.id) for node in nodes])
        return f"experiment{'' if len(nodes) == 1 else 's'} {names}"

    def level(self, node: Node, name: str) -> str:
        """The value of a node's parameter: a number with its claim, or a word."""
        number = self.evidence.parameter(node.id, name)
        if number is not None:
            return self.marks.add(number)
        value = node.params.get(name)
        return "nothing" if value in ("", None) else self.marks.raw(str(value))

    def see(self, name: str) -> str:
        """A reference to a figure, where it exists; the figure is then placed by `take`."""
        return self.marks.figure(name) if name in self.figures else ""

    def take(self, *names: str) -> list[FigureBlock]:
        """The figures of these names that exist and are not placed yet."""
        found = [name for name in names if name in self.figures and name not in self.used]
        self.used += found
        return [self.figures[name] for name in found]

    def metric_words(self, name: str) -> str:
        """A metric in words and by its name."""
        plain = name.removeprefix("sealed_")
        words = METRIC_NAMES.get(plain)
        return f"{words} ({self.marks.name(plain)})" if words else self.marks.name(plain)


def sentences_of(text: str) -> list[str]:
    """Split prose into sentences; line breaks are blanks."""
    flat = " ".join(text.split())
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'(])", flat)
    return [part for part in parts if part]


def words(texts: Sequence[str]) -> str:
    """Strategy and family names as words."""
    return listed([text.replace("_", " ") for text in texts])
