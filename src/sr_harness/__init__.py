"""Structured data, an expression language and symbolic discovery.

`SymbolicRegressor` is loaded when it is first used: scikit-learn takes its time, and is an extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sr_harness.regressor import SymbolicRegressor

__all__ = ["SymbolicRegressor"]


def __getattr__(name: str) -> object:
    if name == "SymbolicRegressor":
        from sr_harness.regressor import SymbolicRegressor

        return SymbolicRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
