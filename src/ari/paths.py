"""Safe names and safe paths: no text from outside ever chooses where a file lies.

Two promises. `safe_name` turns any text (a title, a model id, a label) into one bounded file name from
which the text can be read back with `original_name`; a text too long for that keeps a hash in its name,
and `named_directory` records the original beside it. `inside` joins a relative path to a directory and
refuses whatever would leave it, symbolic links included.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

from ari.errors import PathEscapeError

MAX_NAME_BYTES = 100
"""Longest name that `safe_name` returns; far below the 255 bytes of common file systems."""

MAX_SLUG_BYTES = 60
"""Longest part of a title that `next_output` puts into a directory's name."""

ORIGINAL_NAME_FILE = "original_name.txt"
"""File in which `named_directory` keeps a text that was too long for its name."""

_ESCAPE = "="
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+,@")
_HASH_DIGITS = 16
_SHORTENED = re.compile(rf"{_ESCAPE}{_ESCAPE}[0-9a-f]{{{_HASH_DIGITS}}}\Z")
_ESCAPED = re.compile(rf"{_ESCAPE}([0-9A-F]{{2}})")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)}
)


def _escape(character: str) -> str:
    raw = character.encode("utf-8", "surrogatepass")
    return "".join(f"{_ESCAPE}{byte:02X}" for byte in raw)


def safe_name(text: str, *, limit: int = MAX_NAME_BYTES) -> str:
    """Turn any text into one safe, bounded file name.

    Letters, digits and ``. _ - + , @`` stand for themselves; every other character becomes ``=`` and two
    hexadecimal digits for each of its UTF-8 bytes. A dot or dash in front and a dot at the end are escaped
    too (hidden files, options, Windows), and so is the first letter of a reserved device name. A result
    longer than `limit` is cut and ends with ``==`` and 16 digits of the text's SHA-256.

    Args:
        text: Any text, the empty one included.
        limit: Longest result in bytes, at least 40.

    Returns:
        A name of ASCII characters, never empty, never ``.`` or ``..``, different for different texts.
    """
    if not text:
        return _ESCAPE * 2
    pieces = [c if c in _PLAIN else _escape(c) for c in text]
    if pieces[0] in {".", "-"} or text.split(".", 1)[0].lower() in _RESERVED:
        pieces[0] = _escape(text[0])
    if pieces[-1] == ".":
        pieces[-1] = _escape(".")
    name = "".join(pieces)
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    room = limit - len(digest) - 2
    head = ""
    for piece in pieces:
        if len(head) + len(piece) > room:
            break
        head += piece
    return f"{head}{_ESCAPE * 2}{digest}"


def original_name(name: str) -> str | None:
    """Read back the text that `safe_name` turned into `name`.

    Args:
        name: A result of `safe_name`.

    Returns:
        The text, or None when it was shortened and only the record of `named_directory` holds it.

    Raises:
        ValueError: If `name` cannot be a result of `safe_name`.
    """
    if name == _ESCAPE * 2:
        return ""
    if _SHORTENED.search(name):
        return None
    raw = _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), name).encode("latin-1")
    text = raw.decode("utf-8", "surrogatepass")
    if safe_name(text, limit=len(name)) != name:
        raise ValueError(f"{name!r} is not a name made by safe_name")
    return text


def named_directory(parent: Path, text: str) -> Path:
    """Create (or find) the directory under `parent` that stands for `text`.

    A name that had to be shortened keeps the whole text in `original_name.txt` inside the directory.

    Args:
        parent: An existing directory.
        text: Any text.

    Returns:
        The directory.
    """
    directory = parent / safe_name(text)
    directory.mkdir(exist_ok=True)
    record = directory / ORIGINAL_NAME_FILE
    if original_name(directory.name) is None and not record.exists():
        record.write_bytes(text.encode("utf-8", "surrogatepass"))
    return directory


def directory_text(directory: Path) -> str:
    """Return the text for which `named_directory` made this directory.

    Args:
        directory: A result of `named_directory`.

    Returns:
        The original text.
    """
    text = original_name(directory.name)
    if text is not None:
        return text
    return (directory / ORIGINAL_NAME_FILE).read_bytes().decode("utf-8", "surrogatepass")


def escape_reason(relpath: str) -> str:
    """Say why a relative path would leave its directory, judged by its text alone.

    Args:
        relpath: A path from a manifest, a tool call, a URL or data.

    Returns:
        The reason, or the empty string when the text is harmless.
    """
    if not relpath:
        return "it is empty"
    if "\0" in relpath:
        return "it holds a NUL character"
    if PurePosixPath(relpath).is_absolute():
        return "it is absolute"
    if PureWindowsPath(relpath).drive or relpath.startswith("\\"):
        return "it names a drive or a network share"
    if ".." in relpath.replace("\\", "/").split("/"):
        return "it climbs with '..'"
    return ""


def inside(root: Path, relpath: str) -> Path:
    """Join a relative path to a directory and refuse whatever leaves it.

    Args:
        root: The directory.
        relpath: POSIX path relative to it; it need not exist.

    Returns:
        `root / relpath`, whose real location lies in `root`.

    Raises:
        PathEscapeError: If the path is empty, absolute, climbs out, or a symbolic link leads out.
    """
    reason = escape_reason(relpath)
    joined = root / relpath if not reason else root
    if not reason:
        try:
            resolved = joined.resolve()
        except (OSError, RuntimeError) as error:  # a loop of links, or a name the system refuses
            reason = f"it cannot be resolved ({error})"
        else:
            if not resolved.is_relative_to(root.resolve()):
                reason = "a symbolic link in it leads out"
    if reason:
        raise PathEscapeError(
            f"the path {relpath!r} is refused under {root}: {reason}",
            cure="Use a relative path that stays inside that directory.",
        )
    return joined


def next_output(title: str, base: Path = Path("runs")) -> Path:
    """Choose a directory that does not exist yet: `<base>/<title in safe letters>-<number>`.

    Args:
        title: Title of the experiment, any text; `experiment.md` in the checkpoint keeps it whole.
        base: Where checkpoints lie.

    Returns:
        The path; nothing is created.
    """
    folded = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii").lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded.replace("'", ""))[:MAX_SLUG_BYTES].strip("-") or "study"
    taken = [p.name for p in base.iterdir()] if base.is_dir() else []
    numbers = [re.fullmatch(rf"{re.escape(slug)}-(\d{{1,9}})", name) for name in taken]
    return base / f"{slug}-{max((int(match[1]) for match in numbers if match), default=0) + 1}"
