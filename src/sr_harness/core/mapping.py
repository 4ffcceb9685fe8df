"""Read-only memory mappings that hold no file open.

Python's own `mmap` keeps a duplicate of the file descriptor for as long as the mapping lives (before 3.13),
so a directory of a thousand large arrays would use up the descriptors of the process. This one closes over
the memory alone. The mapping ends when the last array on it is gone.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from functools import cache
from typing import Any

_FAILED = ctypes.c_void_p(-1).value


@cache
def _libc() -> Any:  # noqa: ANN401 - a C library
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def map_file(descriptor: int, length: int) -> memoryview:
    """Map the first `length` bytes of an open file, which may be closed afterwards.

    Args:
        descriptor: a file open for reading.
        length: number of bytes, above zero and not beyond the end of the file.

    Raises:
        OSError: the system refuses the mapping.
    """
    libc = _libc()
    address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address is None or address == _FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    memory = (ctypes.c_char * length).from_address(address)
    weakref.finalize(memory, libc.munmap, address, length).atexit = False  # arrays may outlive this module
    return memoryview(memory).cast("B").toreadonly()
