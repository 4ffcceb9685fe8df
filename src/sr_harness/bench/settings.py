"""What was asked for: everything that decides the figures of a benchmark.

Two runs with equal `BenchmarkSettings` may share a directory; anything else may not.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class BenchmarkSettings(BaseModel):
    """Settings of a benchmark.

    Attributes:
        table: File name of the table of problems.
        table_sha256: Digest of that file.
        ids: The problems that were chosen, in the table's order.
        peers: Peers that run on the sample.
        peer_ids: The problems of the sample.
        noise: Levels of noise, as shares of the target's root mean square.
        seed: Seed of the data and of every method.
        rows: Training rows of a problem.
        work: Units of work that our search may use.
        time_limit: Ceiling in wall seconds for every method.
        threads: Threads that a method may use; the ceiling of processor time is `time_limit · threads`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str
    table_sha256: str
    ids: tuple[str, ...]
    peers: tuple[str, ...] = ()
    peer_ids: tuple[str, ...] = ()
    noise: tuple[float, ...] = (0.0,)
    seed: int = 0
    rows: int = Field(default=500, ge=2)
    work: int = Field(ge=1)
    time_limit: float = Field(gt=0)
    threads: int = Field(default=1, ge=1)

    def differences(self, other: BenchmarkSettings) -> list[str]:
        """Settings that are not equal, as sentences; the name of the file does not matter."""
        found = []
        for name in type(self).model_fields:
            mine, theirs = getattr(self, name), getattr(other, name)
            if name != "table" and mine != theirs:
                found.append(f"{name} was {_short(theirs)} and is now {_short(mine)}")
        return found


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return f"a list of {len(value)}" if len(value) > 4 else "(" + ", ".join(map(str, value)) + ")"
    return str(value)
