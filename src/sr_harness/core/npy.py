"""NPY files: headers read without trust, arrays mapped rather than loaded.

Promises: a file is opened below an already open directory and never through a symbolic link, so nothing
outside that directory is ever read; a header is believed only where the size of the file agrees with it;
pickles are never loaded. Arrays come back read-only, small ones in memory and large ones memory-mapped.
The format is NEP 1 of NumPy, versions 1 to 3.
"""

from __future__ import annotations

import ast
import errno
import math
import os
import re
import stat
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from sr_harness.core.mapping import map_file

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_MAX_DIMENSIONS = 32
_MAPPED_FROM = 1 << 18  # bytes; below, a copy is cheaper than a mapping and survives a truncated file
_CHUNK = 1 << 22
_DTYPE = re.compile(
    r"[<>|=]?(?:[?]|b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SU]\d+|[Mm]8(?:\[\w+\])?)"
)
_PYTHON2_LONG = re.compile(r"(\d)L\b")


class ArrayFault(Exception):  # noqa: N818 - a fault to be reported, never seen by callers of the package
    """Why a file cannot be used as an array; the message completes "<file> …"."""


@dataclass(frozen=True)
class Header:
    """What an NPY header declares, and where the data begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    offset: int

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes of the data."""
        return self.size * self.dtype.itemsize


def open_below(directory: int, name: str) -> BinaryIO:
    """Open the regular file `name` for reading, directly inside the open directory `directory`.

    Raises:
        ArrayFault: it is missing, a symbolic link, not a regular file, or not readable.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except OSError as error:
        raise ArrayFault(_why_not_opened(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ArrayFault("is not a regular file; put the data themselves there")
    return open(descriptor, "rb")  # noqa: PTH123 - from a descriptor


def _why_not_opened(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "does not exist"
    if error.errno == errno.ELOOP:
        return "is a symbolic link; links are not followed: put the file itself into the directory"
    return f"cannot be opened: {error.strerror}"


def read_header(file: BinaryIO) -> Header:
    """Read and check the header of an NPY file, and that the file is as long as the header says.

    Raises:
        ArrayFault: the file is not one NPY array that can be used without pickle.
    """
    try:
        declared, offset = _declared(file)
        length = os.fstat(file.fileno()).st_size - offset
    except OSError as error:
        raise ArrayFault(f"cannot be read: {error.strerror}") from error
    header = Header(_dtype(declared["descr"]), _shape(declared["shape"]), _order(declared), offset)
    if length < header.nbytes:
        raise ArrayFault(
            f"is truncated: shape {header.shape} of {header.dtype.str} needs {header.nbytes} bytes of data, "
            f"the file holds {length}; write it again"
        )
    if length > header.nbytes:
        raise ArrayFault(
            f"holds {length - header.nbytes} bytes after its array of shape {header.shape}; "
            "a file holds exactly one array"
        )
    return header


def _declared(file: BinaryIO) -> tuple[dict[str, Any], int]:
    start = file.read(8)
    if start[:4] == b"PK\x03\x04":
        raise ArrayFault("is an NPZ (zip) archive, not an NPY file; save each array with numpy.save")
    if len(start) < 8 or start[:6] != _MAGIC:
        raise ArrayFault("is not an NPY file (its first bytes are wrong); save it with numpy.save")
    major = start[6]
    if major not in {1, 2, 3}:
        raise ArrayFault(f"has NPY version {major}.{start[7]}; versions 1 to 3 are known")
    width = 2 if major == 1 else 4
    prefix = file.read(width)
    if len(prefix) < width:
        raise ArrayFault("is truncated inside its header")
    (length,) = struct.unpack("<H" if major == 1 else "<I", prefix)
    if length > _LONGEST_HEADER:
        raise ArrayFault(f"has a header of {length} bytes; the limit is {_LONGEST_HEADER}")
    text = file.read(length)
    if len(text) < length:
        raise ArrayFault("is truncated inside its header")
    return _literal(text.decode("utf-8" if major == 3 else "latin-1", "replace")), 8 + width + length


def _literal(text: str) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in damaged headers
            value = ast.literal_eval(_PYTHON2_LONG.sub(r"\1", text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ArrayFault("has a damaged header; write the array again") from error
    if not isinstance(value, dict) or set(value) != {"descr", "fortran_order", "shape"}:
        raise ArrayFault("has a header without exactly descr, fortran_order and shape")
    return value


def _dtype(descr: object) -> np.dtype[Any]:
    if isinstance(descr, list):
        raise ArrayFault("has a structured dtype; store each field as a variable of its own")
    if not isinstance(descr, str):
        raise ArrayFault("has a header whose descr is not a dtype")
    if descr.lstrip("<>|=").startswith("O"):
        raise ArrayFault(
            "has object dtype, which needs pickle; use a numeric dtype, or a Unicode dtype for strings"
        )
    if not _DTYPE.fullmatch(descr):
        raise ArrayFault(
            f"has dtype {descr[:40]!r}; numbers, booleans, dates and fixed-width strings are known"
        )
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise ArrayFault(f"has dtype {descr[:40]!r}, which NumPy does not know") from error
    if dtype.itemsize == 0:
        raise ArrayFault(f"has dtype {descr!r}, whose entries have no width")
    return dtype


def _shape(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise ArrayFault("has a header whose shape is not a tuple of lengths")
    if len(shape) > _MAX_DIMENSIONS:
        raise ArrayFault(f"has {len(shape)} dimensions; the limit is {_MAX_DIMENSIONS}")
    return shape


def _order(declared: dict[str, Any]) -> bool:
    if not isinstance(declared["fortran_order"], bool):
        raise ArrayFault("has a header whose fortran_order is neither True nor False")
    return declared["fortran_order"]


def map_array(file: BinaryIO, header: Header) -> np.ndarray[Any, Any]:
    """Return the array as a read-only view; large files are mapped, so memory is used as it is touched.

    Raises:
        ArrayFault: the array cannot be addressed on this machine.
    """
    order: Any = "F" if header.fortran_order else "C"
    try:
        if header.nbytes >= _MAPPED_FROM:
            mapped = map_file(file.fileno(), header.offset + header.nbytes)
            array: np.ndarray[Any, Any] = np.ndarray(
                header.shape, header.dtype, buffer=mapped, offset=header.offset, order=order
            )
        else:
            file.seek(header.offset)
            raw = file.read(header.nbytes)
            array = np.ndarray(header.shape, header.dtype, buffer=raw or None, order=order)
    except (OSError, ValueError, OverflowError, MemoryError, TypeError) as error:
        raise ArrayFault(f"cannot be mapped: {error}") from error
    array.flags.writeable = False
    return array


def chunks(file: BinaryIO, header: Header) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Yield (position of the first entry in file order, flat piece) so that memory stays bounded.

    Reading, unlike touching a mapping, keeps the pages out of this process's memory.

    Raises:
        ArrayFault: the file cannot be read to its end.
    """
    per_chunk = max(1, _CHUNK // header.dtype.itemsize)
    for first in range(0, header.size, per_chunk):
        count = min(per_chunk, header.size - first)
        try:
            file.seek(header.offset + first * header.dtype.itemsize)
            raw = file.read(count * header.dtype.itemsize)
        except OSError as error:
            raise ArrayFault(f"cannot be read: {error.strerror}") from error
        if len(raw) < count * header.dtype.itemsize:
            raise ArrayFault("became shorter while it was read")
        yield first, np.frombuffer(raw, header.dtype)
