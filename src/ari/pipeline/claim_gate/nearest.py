"""Finding known values: the measured number nearest to a printed one, and the assertion that one repeats."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping

from ari.formats.gate_report import Evidence
from ari.pipeline.claim_gate.assertions import Assertion, Registry
from ari.pipeline.claim_gate.compare import agrees, read_as
from ari.pipeline.claim_gate.mentions import Mention
from ari.pipeline.claim_gate.units import Unit


class EvidenceIndex:
    """Known values, sorted, with where they come from."""

    def __init__(self, items: Iterable[tuple[float, Evidence]] = ()) -> None:
        self._items = sorted(
            ((value, order, e) for order, (value, e) in enumerate(items)), key=lambda i: i[:2]
        )
        self._values = [item[0] for item in self._items]

    def add(self, value: float) -> None:
        """Add a value that backs a number but is nothing to be shown."""
        insort(self._values, value)

    def nearest(self, mention: Mention) -> Evidence | None:
        """Find the evidence nearest to a printed number, read as it stands or as a fraction."""
        best: tuple[float, Evidence] | None = None
        for value in _readings(mention):
            place = bisect_left(self._items, value, key=lambda item: item[0])
            for known, _, evidence in self._items[max(0, place - 1) : place + 1]:
                off = abs(known - value) / max(abs(known), abs(value), 1e-300)
                if best is None or off < best[0]:
                    best = (off, evidence)
        return best[1] if best is not None else None

    def supports(self, mention: Mention) -> bool:
        """Whether some known value, rounded to the printed digits, is the printed number."""
        quantum = mention.number.quantum
        for value, scale in zip(_readings(mention), _scales(mention), strict=True):
            slack = 0.5 * quantum * scale * (1 + 1e-9)
            place = bisect_left(self._values, value - slack)
            if place < len(self._values) and self._values[place] <= value + slack:
                return True
        return False


def _scales(mention: Mention) -> tuple[float, ...]:
    unit = mention.unit
    return (1.0, unit.scale) if unit is not None and unit.scale != 1.0 else (1.0,)


def _readings(mention: Mention) -> tuple[float, ...]:
    return tuple(mention.number.value * scale for scale in _scales(mention))


class RepeatIndex:
    """The computed assertions by unit and value: does a number without an anchor repeat one of them?"""

    def __init__(self, registry: Registry, values: Mapping[str, float | None]) -> None:
        self._by_unit: dict[Unit | None, list[tuple[float, str, Assertion]]] = {}
        self._relative: dict[Unit | None, float] = {}
        self._absolute: dict[Unit | None, float] = {}
        for key, assertion in registry.assertions.items():
            value = values.get(key)
            if value is None:
                continue
            unit = assertion.unit
            self._by_unit.setdefault(unit, []).append((value, key, assertion))
            relative = 0.0 if assertion.printed else assertion.relative
            self._relative[unit] = max(self._relative.get(unit, 0.0), relative)
            self._absolute[unit] = max(self._absolute.get(unit, 0.0), assertion.absolute)
        for entries in self._by_unit.values():
            entries.sort(key=lambda entry: entry[:2])

    def contains(self, mention: Mention) -> bool:
        """Say whether a number is the value of some assertion, within its tolerance and in its unit."""
        percent = mention.unit is not None and mention.unit.kind == "percent"
        for unit, entries in self._by_unit.items():
            if percent != (unit is not None and unit.kind == "percent") and not mention.in_table:
                continue
            reading = read_as(mention, entries[0][2])
            if reading.value is None:
                continue
            relative = self._relative[unit]
            reach = max(self._absolute[unit], reading.quantum, 1.1 * relative * abs(reading.value))
            low = bisect_left(entries, reading.value - reach, key=lambda entry: entry[0])
            for value, _, assertion in entries[low:]:
                if value > reading.value + reach:
                    break
                if agrees(mention, assertion, value):
                    return True
        return False
