"""Containing a command: with bubblewrap where the machine can, as a plain process otherwise.

Inside bubblewrap a command sees the system's programs read-only, its own folder, and nothing else: no other
file, no network, no process but its own, no user but "nobody". When its first process ends, all end. The
plain kind has the same limits and the same clean environment, and everything it starts is ended as well,
but it may read and write what the user may, and use the network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from ari.errors import SandboxError

SandboxKind = Literal["bubblewrap", "plain"]
Preference = Literal["auto", "bubblewrap", "plain"]

_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"),
    "/sys/devices/system/cpu",
)
_SCRATCH_BYTES = 256 * 1024 * 1024
_PROBE_TIMEOUT_S = 20


@dataclass(frozen=True)
class Sandbox:
    """A way to contain commands that works on this machine.

    Attributes:
        kind: `bubblewrap` or `plain`.
        reason: Why it is this kind, in words for a user.
        program: Path of bubblewrap; empty for `plain`.
        options: Further options this bubblewrap understands.
    """

    kind: SandboxKind
    reason: str
    program: str = ""
    options: tuple[str, ...] = ()


def detect(prefer: Preference = "auto") -> Sandbox:
    """Find out, by running it once, how commands can be contained here.

    Args:
        prefer: `auto` takes bubblewrap if it works; `bubblewrap` insists on it; `plain` does without.

    Raises:
        SandboxError: If bubblewrap is insisted on and does not work.
    """
    if prefer == "plain":
        return Sandbox("plain", "asked for")
    found = _probe()
    if prefer == "bubblewrap" and found.kind != "bubblewrap":
        raise SandboxError(
            f"commands cannot be contained by bubblewrap: {found.reason}",
            cure="Install the package `bubblewrap`, allow user namespaces, or choose the plain sandbox.",
        )
    return found


@lru_cache(maxsize=1)
def _probe() -> Sandbox:
    program = shutil.which("bwrap") or shutil.which("bwrap", path=str(Path(sys.prefix) / "bin"))
    if program is None:
        return Sandbox("plain", "bubblewrap (bwrap) is not installed")
    complaint = ""
    with tempfile.TemporaryDirectory(prefix="ari-probe-") as folder:
        for options in (("--disable-userns",), ()):  # older versions do not know the option
            sandbox = Sandbox("bubblewrap", "bubblewrap works on this machine", program, options)
            complaint = _try(
                wrap(["true"], work_dir=Path(folder), sandbox=sandbox), env={"PATH": "/usr/bin:/bin"}
            )
            if not complaint:
                return sandbox
    return Sandbox("plain", f"bubblewrap does not work here: {complaint}")


def _try(argv: Sequence[str], *, env: Mapping[str, str]) -> str:
    """Run a command; return what went wrong, in one line, or an empty text."""
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_PROBE_TIMEOUT_S} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


def wrap(
    argv: Sequence[str], *, work_dir: Path, sandbox: Sandbox, read_only: Iterable[Path] = ()
) -> list[str]:
    """Return the command line that runs `argv` contained.

    The environment is not part of it: give the clean one to the process that executes the result, since
    the first process inside the sandbox shows the one it was started with.

    Args:
        argv: The command.
        work_dir: The only folder it may write to, and where it starts.
        sandbox: How to contain it.
        read_only: Files and folders it may read besides the system's programs.

    Raises:
        SandboxError: If one of the paths does not exist.
    """
    if sandbox.kind == "plain":
        return list(argv)
    command = [sandbox.program, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    command += ["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox"]
    command += _system_binds()
    command += ["--proc", "/proc", "--dev", "/dev", "--size", str(_SCRATCH_BYTES), "--tmpfs", "/tmp"]  # noqa: S108
    command += _own_binds(work_dir, read_only)
    command += [*sandbox.options, "--size", str(_SCRATCH_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/"]  # noqa: S108
    return [*command, "--chdir", str(work_dir.resolve()), "--", *argv]


def _system_binds() -> list[str]:
    binds = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_LINKS:
        path = Path(name)
        if path.is_symlink():
            binds += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            binds += ["--ro-bind", name, name]
    for name in _SYSTEM_FILES:
        binds += ["--ro-bind-try", name, name]
    return binds


def _own_binds(work_dir: Path, read_only: Iterable[Path]) -> list[str]:
    """Bind outer folders before inner ones, so that the more specific of two always holds."""
    work = work_dir.resolve()
    if not work.is_dir():
        raise SandboxError(
            f"the work folder {work_dir} does not exist", cure="Create it before running a command."
        )
    shown = {folder: folder for folder in _interpreter_folders()}
    for path in read_only:
        if not path.exists():
            raise SandboxError(
                f"{path} cannot be shown to the command: it does not exist",
                cure="Check the path, or take it out of the list of readable paths.",
            )
        shown[path.absolute()] = path.resolve()  # under the name the caller knows
    binds = {place: ("--ro-bind", source) for place, source in shown.items()} | {work: ("--bind", work)}
    ordered = sorted(binds.items(), key=lambda item: (len(item[0].parts), str(item[0])))
    return [word for place, (option, source) in ordered for word in (option, str(source), str(place))]


@lru_cache(maxsize=1)
def _interpreter_folders() -> tuple[Path, ...]:
    """Folders of our interpreter that are not part of the system, so that `python3` is the same inside."""
    folders = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    return tuple(sorted(folder for folder in folders if not _is_system(folder)))


def _is_system(folder: Path) -> bool:
    return folder == Path("/") or folder.is_relative_to("/usr")


def visible_temporary(sandbox: Sandbox) -> str | None:
    """Return the folder for temporary files inside the sandbox, or None if the runner must provide one."""
    return "/tmp" if sandbox.kind == "bubblewrap" else None  # noqa: S108 - a private one inside the sandbox
