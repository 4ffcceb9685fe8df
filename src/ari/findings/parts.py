"""What an ablation took out of a formula, in words that hold for terms, factors, inputs and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Taken(NamedTuple):
    """What an ablation took out.

    Attributes:
        kind: `term`, `factor`, `input`, or `part` where the formula has no such part.
        text: The part as text, or its id.
        constant: Whether it is a number. A factor that is one leaves the formula as if it were set to one.
    """

    kind: str
    text: str
    constant: bool = False

    def named(self, show: Callable[[str], str] = str) -> str:
        """The part with its kind: `the factor 2 - x`, `the constant factor 0.4`."""
        return f"the {'constant ' if self.constant else ''}{self.kind} {show(self.text)}"

    def without(self, show: Callable[[str], str] = str) -> str:
        """The formula without it: `without the factor 2 - x`, `with the constant factor 0.4 set to one`."""
        if self.constant and self.kind == "factor":
            return f"with {self.named(show)} set to one"
        return f"without {self.named(show)}"

    @property
    def label(self) -> str:
        """The same, as short as a figure needs it."""
        return f"{self.text} set to 1" if self.constant and self.kind == "factor" else f"without {self.text}"


def taken_out(formula: str | None, part: str) -> Taken:
    """Find the part that an ablation took out of a formula.

    Args:
        formula: The formula as it was; None when it is not known.
        part: The id of the part, as the tool `list_parts` gives it.

    Returns:
        The part; with its id for a text where the formula cannot be read or has no such part.
    """
    from sr_harness.engine import parse, variables
    from sr_harness.errors import ExpressionError
    from sr_harness.tools.parts import parts_of

    try:
        found = next((p for p in parts_of(parse(formula or "")) if p.id == part), None)
        if found is not None:
            return Taken(found.kind, found.text, constant=not variables(parse(found.text)))
    except ExpressionError:
        pass  # it names columns that only the data can tell from functions
    kind, _, name = part.partition(" ")
    return Taken("input", name) if kind == "input" and name else Taken("part", part)
