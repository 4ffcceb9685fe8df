"""Which variables a command sees, and which machine it ran on.

A command never inherits the environment: keys of model services and other secrets live there. It gets an
allow-list, the variables of its run, and what the caller adds by name.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_ALLOWED = frozenset(
    {
        *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "TZ", "TERM"),
        *("OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "OMP_SCHEDULE", "OMP_DYNAMIC"),
        *("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
        *("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"),
        *("CC", "CXX", "FC", "CUDA_VISIBLE_DEVICES", "SOURCE_DATE_EPOCH"),
    }
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH|COOKIE|PRIVATE", re.IGNORECASE)


def child_environment(
    *,
    home: Path,
    temporary: str,
    parent: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment of a command.

    Args:
        home: The node's folder, which is the command's `HOME`.
        temporary: Its `TMPDIR`.
        parent: Where allowed variables are taken from; default: our own environment.
        extra: Variables the caller sets on purpose; they win and are not filtered.
    """
    source = os.environ if parent is None else parent
    chosen = {
        name: value
        for name, value in source.items()
        if name in _ALLOWED or (name.startswith("ARI_") and not _SECRET.search(name))
    }
    chosen.setdefault("LANG", "C.UTF-8")
    chosen |= {
        "PATH": _search_path(source.get("PATH", "")),
        "HOME": str(home),
        "TMPDIR": temporary,
        "USER": "nobody",
        "LOGNAME": "nobody",
        "PYTHONDONTWRITEBYTECODE": "1",  # byte code in the node's folder would count as a result
        "PYTHONUNBUFFERED": "1",  # what was printed before a kill is kept
        "MPLBACKEND": "Agg",
        "SR_HARNESS_JOBS": "1",  # a study is parallel over its nodes
    }
    chosen |= dict(extra or {})
    return chosen


def _search_path(inherited: str) -> str:
    """Our own interpreter first, then what the user has, then the system's folders."""
    own = str(Path(sys.prefix) / "bin")
    folders = [own, *inherited.split(os.pathsep), "/usr/local/bin", "/usr/bin", "/bin"]
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if folder.startswith("/")))


@lru_cache(maxsize=1)
def fingerprint() -> dict[str, str | int | None]:
    """Return what a reader needs to judge a measurement: interpreter, system, processor, compiler."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "compiler": _compiler(),
    }


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def _compiler() -> str | None:
    for name in ("gcc", "cc", "clang"):
        program = shutil.which(name, path=_search_path(os.environ.get("PATH", "")))
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, "--version"],
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout:
            return done.stdout.splitlines()[0]
    return None
