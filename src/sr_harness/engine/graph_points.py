"""Random graphs on which formulas with graph terms can be compared.

What each name is follows from how the formulas use it: a relation stands before index letters in a graph
term; a name with one letter is a value per node, with several a value per row of the relation; one without
letters is a value per row if it stands in graph terms of one relation only, else a value per node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..errors import AlignmentError
from .expression import Expression
from .program import compile_program
from .structure import Structure

NODES: Final = 9
ROWS: Final = 23


def random_graph(
    formulas: tuple[Expression, ...], limits: Mapping[str, tuple[float, float]], rng: np.random.Generator
) -> tuple[dict[str, Any], Structure]:
    """Data and structure on which all the formulas can be evaluated.

    Args:
        formulas: Formulas with graph terms.
        limits: Range of every variable.
        rng: Source of the values.

    Raises:
        AlignmentError: the formulas use one name in ways that do not go together.
    """
    columns = _relation_columns(formulas)
    homes = _homes(formulas)
    data: dict[str, Any] = {
        name: rng.integers(0, NODES, size=(ROWS, count)) for name, count in columns.items()
    }
    for name, home in homes.items():
        if name in columns:
            raise AlignmentError(f"{name!r} is used both as a relation and as a variable")
        data[name] = rng.uniform(*limits[name], size=NODES if home is None else ROWS)
    structure = Structure(
        variable_axes={
            name: ("node",) if home is None else (f"rows of {home}",) for name, home in homes.items()
        },
        variable_structures={name: home for name, home in homes.items() if home is not None},
        relation_names=tuple(columns),
        num_nodes=NODES,
        node_axis="node",
    )
    return data, structure


def _relation_columns(formulas: tuple[Expression, ...]) -> dict[str, int]:
    columns: dict[str, int] = {}
    for formula in formulas:
        for step in compile_program(formula).steps:
            if step.op in ("sum", "gather") and step.node.name is not None:
                count = len(step.node.index)
                if columns.setdefault(step.node.name, count) != count:
                    raise AlignmentError(f"the relation {step.node.name!r} is used with different indices")
    return columns


def _homes(formulas: tuple[Expression, ...]) -> dict[str, str | None]:
    """Where each variable lives: None for nodes, else the relation on whose rows."""
    uses: dict[str, set[str | None]] = {}
    for formula in formulas:
        for leaf in compile_program(formula).leaves:
            if leaf.node.op != "var":
                continue
            on_nodes = leaf.context is None or len(leaf.node.index) == 1
            uses.setdefault(leaf.column, set()).add(
                None if on_nodes or leaf.context is None else leaf.context[0]
            )
    for name, places in uses.items():
        if len(places) > 1:
            raise AlignmentError(f"{name!r} is used both per node and per row of a relation")
    return {name: places.pop() for name, places in uses.items()}
