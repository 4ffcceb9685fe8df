"""What one command may use: time, memory, file size, processes, output.

A limit of `None` is no limit. Every limit covers all processes that the command starts, together,
except `file_bytes`, which holds for each file.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ari.errors import ConfigError

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Ceilings for one command.

    Attributes:
        wall_s: Seconds from start to end.
        cpu_s: Seconds of processor time, summed over all processes.
        memory_bytes: Memory in use, summed over all processes; also the most that one process may reserve.
        file_bytes: Size of any single file.
        processes: Processes and threads alive at once.
        output_bytes: Bytes written to standard output and standard error together.
    """

    wall_s: float | None = 600.0
    cpu_s: float | None = None
    memory_bytes: int | None = 4 * GIB
    file_bytes: int | None = 2 * GIB
    processes: int | None = 512
    output_bytes: int | None = 64 * MIB

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not value > 0:
                raise ConfigError(
                    f"limit {field.name} is {value!r}: it must be above zero",
                    cure=f"Give a positive number, or leave {field.name} empty for no limit.",
                )

    def tightened(self, *, wall_s: float | None) -> Limits:
        """Return these limits with the wall time lowered to `wall_s` where that is less."""
        if wall_s is None or (self.wall_s is not None and self.wall_s <= wall_s):
            return self
        return replace(self, wall_s=wall_s)
