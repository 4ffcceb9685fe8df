r"""Units as papers write them: which quantity, which scale, and whether the unit marks a result.

Units are read after a number (`312.4 GFlop/s`, `$73.25\,\mathrm{GB/s}$`, `74\%`, `1.75x`), from the second
argument of `\SI` and `\qty`, and from an assertion's `unit` or its metric's name. An unknown word is no unit:
nothing is compared that is not known on both sides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["percent", "ratio", "rate", "size", "time", "other"]
Dimensions = tuple[tuple[str, int], ...]


class Unit(NamedTuple):
    """A unit that is understood.

    Attributes:
        kind: What sort of quantity; percent, ratio, rate and size mark a result.
        scale: Factor to the base unit of its dimensions.
        dimensions: Base unit to power, sorted; empty for pure numbers.
    """

    kind: Kind
    scale: float
    dimensions: Dimensions

    @property
    def marks_result(self) -> bool:
        """Whether a number that carries this unit claims a result."""
        return self.kind in ("percent", "ratio", "rate", "size")


PERCENT = Unit("percent", 0.01, ())
RATIO = Unit("ratio", 1.0, ())

_PREFIXES = {
    "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12,
}  # fmt: skip
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_PREFIX_WORDS = {
    "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15,
    "milli": 1e-3, "micro": 1e-6, "nano": 1e-9, "pico": 1e-12, "centi": 1e-2,
}  # fmt: skip
_SYMBOLS = {
    "s": "s", "sec": "s", "secs": "s", "B": "B", "bit": "bit", "bits": "bit", "b": "bit", "Hz": "Hz",
    "W": "W", "Wh": "Wh", "J": "J", "m": "m", "g": "g", "V": "V", "N": "N", "Pa": "Pa",
    "eV": "eV", "mol": "mol",
    "Flop": "flop", "Flops": "flop", "FLOP": "flop", "FLOPs": "flop", "FLOPS": "flop",
    "flop": "flop",
    "flops": "flop", "Op": "op", "Ops": "op", "OP": "op", "OPS": "op", "op": "op", "ops": "op",
}  # fmt: skip
_WORDS = {
    "second": "s", "seconds": "s", "byte": "B", "bytes": "B", "hertz": "Hz", "watt": "W", "watts": "W",
    "joule": "J", "joules": "J", "metre": "m", "metres": "m", "meter": "m", "meters": "m", "gram": "g",
    "grams": "g", "volt": "V", "volts": "V",
}  # fmt: skip
_FIXED = {
    "min": (60.0, "s"), "mins": (60.0, "s"), "minute": (60.0, "s"), "minutes": (60.0, "s"),
    "h": (3600.0, "s"), "hour": (3600.0, "s"), "hours": (3600.0, "s"), "day": (86400.0, "s"),
    "days": (86400.0, "s"), "cm": (1e-2, "m"), "K": (1.0, "K"), "rad": (1.0, "rad"), "deg": (1.0, "deg"),
}  # fmt: skip
_RATIO_NAMES = frozenset({"x", "X", "×", "times", "fold", "ratio"})
_FACTOR = re.compile(r"^([A-Za-zµμ]+)(?:\^?\{?(-?\d)\}?)?$")
_SI_MACRO = re.compile(r"\\([A-Za-z]+)")
_SPELLED_RATE = re.compile(r"\s*\bper\s+")


def _build_table() -> dict[str, tuple[float, str]]:
    table: dict[str, tuple[float, str]] = {}
    for symbol, base in {**_SYMBOLS, **_WORDS}.items():
        table[symbol] = (1.0, base)
    for symbol, base in _SYMBOLS.items():
        for prefix, factor in _PREFIXES.items():
            table.setdefault(prefix + symbol, (factor, base))
        if base in ("B", "bit"):
            table.update({prefix + symbol: (factor, base) for prefix, factor in _BINARY.items()})
    for word, base in _WORDS.items():
        table.update({prefix + word: (factor, base) for prefix, factor in _PREFIX_WORDS.items()})
    return table | _FIXED


_TABLE = _build_table()
_SI_NAMES = {
    "second": "s", "byte": "B", "bit": "bit", "hertz": "Hz", "watt": "W", "joule": "J", "metre": "m",
    "meter": "m", "gram": "g", "kilogram": "kg", "volt": "V", "newton": "N", "pascal": "Pa", "kelvin": "K",
    "minute": "min", "hour": "h", "day": "day", "percent": "%", "flop": "flop",
    "kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "milli": "m", "micro": "u",
    "nano": "n", "pico": "p", "kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti",
}  # fmt: skip


@lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit | None:
    r"""Read a unit that stands alone.

    Args:
        text: Such as `GFlop/s`, `\giga\byte\per\second`, `%`, `x`, `ms`, `tokens/s`.

    Returns:
        The unit; None when it is not known.
    """
    bare = text.strip().strip("$").strip()
    if bare in (r"\%", "%", "percent", "per cent", "pp", r"\percent", "percentage points"):
        return PERCENT
    if bare in _RATIO_NAMES or bare == r"\times":
        return RATIO
    flat = _flatten(bare)
    if not flat:
        return None
    over = flat.split("/")
    powers: dict[str, int] = {}
    scale = 1.0
    for index, part in enumerate(over):
        for factor in filter(None, re.split(r"[\s·*]+", part)):
            read = _factor(factor, counted=index == 0 and len(over) > 1)
            if read is None:
                return None
            factor_scale, base, power = read
            sign = -power if index else power
            scale *= factor_scale**sign
            powers[base] = powers.get(base, 0) + sign
    if powers == {"flop": 1} and re.search(r"[sS]$", flat):
        powers["s"] = -1  # GFLOPS says per second in its last letter
    dimensions = tuple(sorted((base, power) for base, power in powers.items() if power))
    return Unit(_kind(dimensions), scale, dimensions) if dimensions else None


def _flatten(text: str) -> str:
    """Turn macros of siunitx and spelled-out rates into symbols, `/` and blanks."""
    text = re.sub(r"\\(?:mathrm|text|textrm|mathit|operatorname|rm)\b", "", text)
    text = text.replace(r"\per", "/").replace(r"\cdot", "·").replace("⋅", "·")
    text = re.sub(r"\\squared?\b", "^2", text)
    text = re.sub(r"\\[,;:! ]|~", " ", text)
    text = _SI_MACRO.sub(lambda match: _SI_NAMES.get(match.group(1), match.group(0)), text)
    text = _SPELLED_RATE.sub("/", text)
    text = re.sub(r"\{([^{}]*)\}", r"\1", text).replace("$", "")
    return re.sub(r"\s*/\s*", "/", text).strip()


def _factor(factor: str, *, counted: bool) -> tuple[float, str, int] | None:
    match = _FACTOR.match(factor)
    if match is None:
        return None
    name, power = match.group(1), int(match.group(2) or 1)
    known = _TABLE.get(name)
    if known is None:
        # anything may be counted per second: tokens, requests, rows
        return (1.0, name.lower().rstrip("s"), power) if counted and len(name) > 1 else None
    return known[0], known[1], power


def _kind(dimensions: Dimensions) -> Kind:
    powers = dict(dimensions)
    if any(power < 0 for power in powers.values()):
        return "rate"
    if powers in ({"B": 1}, {"bit": 1}, {"flop": 1}):
        return "size"
    return "time" if powers == {"s": 1} else "other"


SEPARATOR = r"(?:[ \t]|\n(?![ \t]*\n)|~|\\[,;:! ]|\{\}|\}|\$)*"
"""What may stand between a number and what belongs to it."""
_AFTER = re.compile(
    SEPARATOR + r"(?:(?P<percent>\\%|%|\\percent\b|\\textpercent\b|per\s?cent\b|percentage\s+points?\b|pp\b)"
    r"|(?P<cross>\\times\b(?!\s*[\d$\\{(A-Za-z])|\\times\b(?=\$|\s*\$)|×(?!\s*[\d$]))"
    r"|(?P<ex>[xX](?![\w^_])(?!\s*[\d$]))"
    r"|-?(?P<fold>fold\b)"
    r"|(?P<faster>times\b|faster\b|slower\b|speed-?ups?\b)"
    r"|\\(?:mathrm|text|textrm|si|unit|operatorname|mathit)\s*\{(?P<braced>[^{}]*)\}"
    r"|(?P<plain>[A-Za-zµμ]+(?:\s?/\s?[A-Za-zµμ]+|\s+per\s+[A-Za-z]+|\s?\$?\^\s?\{?-?\d\}?\$?)*))"
)


class UnitAfter(NamedTuple):
    """What stands behind a number: its unit and where the unit ends."""

    unit: Unit
    end: int


def unit_after(text: str, position: int, *, math: bool) -> UnitAfter | None:
    """Read the unit behind a number.

    Args:
        text: The text, comments blanked out.
        position: End of the number.
        math: Whether the number stands in a formula, where letters are symbols and no units.

    Returns:
        The unit; None when what follows is none.
    """
    match = _AFTER.match(text, position)
    if match is None:
        return None
    group = match.lastgroup
    if group == "percent":
        return UnitAfter(PERCENT, match.end())
    if group in ("cross", "fold", "faster") or (group == "ex" and not math):
        return UnitAfter(RATIO, match.end())
    written = match.group("braced") if group == "braced" else match.group("plain")
    if written is None or (group == "plain" and math and "$" not in text[position : match.start("plain")]):
        return None
    unit = parse_unit(written)
    if unit is None and group == "plain":
        return _shorter(text, match.start("plain"), written)
    return UnitAfter(unit, match.end()) if unit is not None else None


def _shorter(text: str, start: int, written: str) -> UnitAfter | None:
    """Read only the first word: `s per run` is a time."""
    first = re.match(r"[A-Za-zµμ]+", written)
    unit = parse_unit(first.group()) if first else None
    return UnitAfter(unit, start + first.end()) if unit is not None and first is not None else None
