"""A dictionary of arrays whose costly entries are made when they are first asked for.

Promise: seen from outside it is an ordinary `dict` of arrays. Entries given as a function without
arguments are computed at the first access and kept. So the positions of a long `size` axis, or the rows of
a split, cost nothing until somebody uses them.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
Source = Array | Callable[[], Array]
D = TypeVar("D")


class LazyArrays(dict[str, Array]):
    """A `dict` from names to arrays, computed on first access."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        super().__init__()
        for name in sources:
            source = dict.__getitem__(sources, name) if isinstance(sources, dict) else sources[name]
            dict.__setitem__(self, name, source)  # type: ignore[misc]

    def __getitem__(self, name: str) -> Array:
        value = dict.__getitem__(self, name)
        if callable(value):
            value = value()
            dict.__setitem__(self, name, value)
        return value

    def __iter__(self) -> Iterator[str]:  # overriding it makes dict(self) and {**self} use __getitem__
        return dict.__iter__(self)

    def get(self, name: str, default: D | None = None) -> Array | D | None:  # type: ignore[override]
        """Return the array, or `default` where there is none."""
        return self[name] if name in self else default  # noqa: SIM401 - it is that method

    def items(self) -> ItemsView[str, Array]:  # type: ignore[override]
        """View of the pairs; making each entry as it is reached."""
        return ItemsView(self)

    def values(self) -> ValuesView[Array]:  # type: ignore[override]
        """View of the arrays; making each entry as it is reached."""
        return ValuesView(self)

    def pop(self, name: str, *default: D) -> Array | D:
        """Remove an entry and return its array."""
        if name in self:
            dict.__setitem__(self, name, self[name])
        return dict.pop(self, name, *default)

    def popitem(self) -> tuple[str, Array]:
        """Remove and return the last pair."""
        name = next(reversed(self.keys()))
        value = self[name]
        del self[name]
        return name, value

    def setdefault(self, name: str, default: Array) -> Array:
        """Return the array, putting `default` there first where there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def copy(self) -> LazyArrays:
        """A shallow copy, as lazy as this one."""
        return LazyArrays(self)

    def __or__(self, other: Mapping[str, Array]) -> dict[str, Array]:  # type: ignore[override]
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Array]) -> dict[str, Array]:  # type: ignore[override]
        return {**other, **self}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __repr__(self) -> str:
        return f"LazyArrays({', '.join(self.keys())})"
