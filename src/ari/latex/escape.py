r"""Any text as LaTeX text that pdfLaTeX can set: escaped where it can be, named and reported where it cannot.

Promises: the result compiles in text mode with `inputenc` UTF-8, T1 fonts and `amssymb`; what is lost is
listed. A character that cannot be set is replaced by its Unicode name in brackets, without digits, so that no
number enters a text that did not hold one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u00ab": r"\guillemotleft{}",
    "\u00bb": r"\guillemotright{}",
    "\u2013": "--",
    "\u2014": "---",
    "\u2212": r"\ensuremath{-}",
    "\u2026": r"\ldots{}",
    "\u00a0": "~",
    "\u00ad": r"\-",
    "\u2009": r"\,",
    "\u202f": r"\,",
    "\u2002": r"\enspace{}",
    "\u2022": r"\textbullet{}",
    "\u00a7": r"\S{}",
    "\u20ac": r"\texteuro{}",
    "\u00a3": r"\pounds{}",
    "\u00a9": r"\textcopyright{}",
    "\u00ae": r"\textregistered{}",
    "\u2122": r"\texttrademark{}",
}
_MATH = {
    "°": r"^{\circ}", "±": r"\pm", "×": r"\times", "÷": r"\div", "·": r"\cdot", "≤": r"\le", "≥": r"\ge",
    "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∞": r"\infty", "∈": r"\in", "∑": r"\sum", "∏": r"\prod",
    "∫": r"\int", "√": r"\surd", "∂": r"\partial", "∇": r"\nabla", "→": r"\rightarrow", "←": r"\leftarrow",
    "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "∝": r"\propto", "∼": r"\sim", "¬": r"\neg",
    "∥": r"\parallel", "ℓ": r"\ell", "ħ": r"\hbar", "′": "{}'", "″": "{}''",
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ϵ": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ϑ": "vartheta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu",
    "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "varsigma", "τ": "tau", "υ": "upsilon",
    "φ": "varphi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega",
}  # fmt: skip
_GREEK_ROMAN = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True))
_SCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-", strict=True))
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0328": "k",
}  # fmt: skip
_GREEK_MARKS = {"\u0301": r"\acute", "\u0300": r"\grave", "\u0308": r"\ddot"}
_NATIVE = frozenset("ßøØæÆœŒłŁđĐðÐþÞıŋŊ¡¿")
"""Letters beyond ASCII without an accent that T1 fonts hold."""

_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f")


class Lost(NamedTuple):
    """A character that could not be set.

    Attributes:
        character: The character.
        name: Its Unicode name, or its code point.
        line: Line of the text, counted from 1.
    """

    character: str
    name: str
    line: int


class Escaped(NamedTuple):
    """Text for LaTeX and what could not be brought over."""

    text: str
    lost: tuple[Lost, ...] = ()


def escape(text: str) -> Escaped:
    """Bring any text into LaTeX.

    Args:
        text: Any text; line breaks stay line breaks, two in a row become one (no paragraph begins).

    Returns:
        The LaTeX text, and every character that had to be replaced by its name.
    """
    pieces: list[str] = []
    lost: list[Lost] = []
    line = 1
    joined = re.sub(r"\n\s*\n+", "\n", unicodedata.normalize("NFC", text.replace("\r\n", "\n")))
    for character in joined:
        if character == "\n":
            line += 1
        shown = _character(character)
        if shown is None:
            name = _name(character)
            lost.append(Lost(character, name, line))
            shown = "" if pieces and pieces[-1] == f"[{name}]" else f"[{name}]"
        pieces.append(shown)
    return Escaped("".join(pieces), tuple(lost))


def _character(character: str) -> str | None:
    """One character as LaTeX; None when no font here holds it."""
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character in "\n\t" or " " <= character <= "~":
        return character
    if character in _MATH:
        return rf"\ensuremath{{{_MATH[character]}}}"
    if character in _GREEK:
        return rf"\ensuremath{{\{_GREEK[character]}}}"
    if character in _GREEK_ROMAN:
        return _GREEK_ROMAN[character]
    if character in _SCRIPTS:
        return rf"\textsuperscript{{{_SCRIPTS[character]}}}"
    if character in _SUBSCRIPTS:
        return rf"\textsubscript{{{_SUBSCRIPTS[character]}}}"
    if character in _NATIVE:
        return character
    if character in _INVISIBLE or unicodedata.category(character) == "Cf":
        return ""
    return _accented(character)


def _accented(character: str) -> str | None:
    base, *marks = list(unicodedata.normalize("NFD", character))
    if marks and set(marks) <= _GREEK_MARKS.keys() and (base in _GREEK or base in _GREEK_ROMAN):
        letter = rf"\{_GREEK[base]}" if base in _GREEK else rf"\mathrm{{{_GREEK_ROMAN[base]}}}"
        for mark in marks:
            letter = rf"{_GREEK_MARKS[mark]}{{{letter}}}"
        return rf"\ensuremath{{{letter}}}"
    if len(marks) != 1 or marks[0] not in _ACCENTS or not (base.isascii() and base.isalpha()):
        return " " if unicodedata.category(character) in ("Zs", "Cc") else None
    if "\u00c0" <= character <= "\u00ff":
        return character  # Latin-1: in every T1 font, and easier to read as it is
    stem = rf"\{base}" if base in "ij" and _ACCENTS[marks[0]] not in "kcd" else base
    return rf"\{_ACCENTS[marks[0]]}{{{stem}}}"


def _name(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    if not name:
        return "unknown character"
    name = name.split("-")[0] if re.search(r"\d", name) else name
    return re.sub(r"\d+", "", name).strip()


def identifier(text: str) -> Escaped:
    """A name as typewriter text that may be broken before underscores, slashes and dots."""
    escaped = escape(text)
    broken = re.sub(r"(?<=[\w}])(\\_|/|\.|=)(?=[^\W\d])", r"\\allowbreak{}\1", escaped.text)
    return Escaped(rf"\texttt{{{broken}}}", escaped.lost)


_PATH_UNSAFE = {"\\": "/", "{": "(", "}": ")", "%": " percent", "#": "no. ", "^": "**", "~": "-", "$": "USD "}


def raw(text: str) -> Escaped:
    r"""Machine text (a formula, an error message) as `\path{…}`, which may be broken and is no prose."""
    typed = typewritten(text)
    return Escaped(rf"\path{{{typed.text}}}", typed.lost)


def typewritten(text: str) -> Escaped:
    r"""Machine text as `\path` can take it: Greek letters by name, accents left out.

    The few characters that `\path` cannot take inside an argument are replaced by what reads like them.
    """
    lost: list[Lost] = []
    pieces: list[str] = []
    for character in " ".join(unicodedata.normalize("NFKD", text).split()):
        if character in _PATH_UNSAFE:
            pieces.append(_PATH_UNSAFE[character])
        elif character.isascii():
            pieces.append(character)
        elif not unicodedata.combining(character):
            pieces.append(_ASCII.get(character, "?"))
            if character not in _ASCII:
                lost.append(Lost(character, _name(character), 1))
    return Escaped("".join(pieces), tuple(lost))


_ASCII = dict(_GREEK) | {
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u2026": "...", "\u2018": "'", "\u2019": "'", "\u201c": '"',
    "\u201d": '"', "×": "*", "·": "*", "≤": "<=", "≥": ">=", "→": "->",
}  # fmt: skip
