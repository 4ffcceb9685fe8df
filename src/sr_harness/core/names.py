"""The rules for names of variables and axes, in one place.

Specification, section "Variables": a name is not empty, not `.` or `..`, and holds no path separator and
no NUL, because the array of the name lies in the file `<name>.npy`. Of axes the specification demands it
only where they are stored in a file: `lat/lon` may be an axis with `values` or `size`.
"""

from __future__ import annotations

MANIFEST_NAME = "manifest.json"
ARRAY_SUFFIX = ".npy"
_LONGEST_FILE_NAME = 255


def array_file(name: str) -> str:
    """Return the only file name that may hold the array called `name`."""
    return name + ARRAY_SUFFIX


def name_fault(name: str) -> str | None:
    """Say why no array file can bear `name`, as every variable's does; None when it can."""
    if name in {".", ".."}:
        return f"the name {name!r} stands for a directory"
    if "/" in name or "\\" in name:
        return "the name holds a path separator ('/' or '\\')"
    fault = label_fault(name)
    if fault is None and len(array_file(name).encode()) > _LONGEST_FILE_NAME:
        return f"the name is too long for a file name ({_LONGEST_FILE_NAME} bytes with '{ARRAY_SUFFIX}')"
    return fault


def label_fault(name: str) -> str | None:
    """Say why `name` cannot be a name at all, not even of an axis without a file; None when it can."""
    if not name:
        return "the name is empty"
    if "\0" in name:
        return "the name holds a NUL character"
    if not is_text(name):
        return "the name holds half of a surrogate pair, which is no character"
    return None


def is_text(text: str) -> bool:
    """Whether `text` can be written as UTF-8, which a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def spoken(name: str) -> str:
    """A name as a message shows it: as it is where it can be printed, escaped and shortened elsewhere."""
    text = name if name.isprintable() else ascii(name)[1:-1]
    return text if len(text) <= 120 else text[:117] + "..."
