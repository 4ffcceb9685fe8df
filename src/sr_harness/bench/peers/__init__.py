"""Other programs for symbolic regression, run on the same data for the same processor time.

Each peer is a module with a function `solve(Task, Progress) -> Answer` that drives the program's own
interface. Its candidates compete on the same front by the same rule as ours: the peer searches; the choice
among what it found, and the precision of its constants, are not its handicap.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from sr_harness.bench.methods import Method


@dataclass(frozen=True)
class Peer:
    """A peer: what must be installed for it, how, and the module that runs it."""

    name: str
    packages: tuple[str, ...]
    install: str
    module: str

    @property
    def obstacle(self) -> str | None:
        """Why it cannot run here, with the cure; None if it can."""
        absent = [name for name in self.packages if importlib.util.find_spec(name) is None]
        return f"{' and '.join(absent)} not installed ({self.install})" if absent else None

    def load(self) -> Method:
        """The function that runs it."""
        return cast("Method", import_module(self.module).solve)


PEERS: Final = MappingProxyType(
    {
        "pyoperon": Peer(
            "pyoperon",
            ("pyoperon", "sklearn"),
            "pip install 'ari-research[gp,sklearn]'",
            "sr_harness.bench.peers.operon",
        ),
        "gplearn": Peer("gplearn", ("gplearn",), "pip install gplearn", "sr_harness.bench.peers.gp_learn"),
    }
)
"""Every peer by name."""
