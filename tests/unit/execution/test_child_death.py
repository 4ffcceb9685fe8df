"""How a process ended that left nothing behind, in words."""

from __future__ import annotations

import signal

import pytest

from ari.execution.child import describe_death


@pytest.mark.parametrize(
    ("exitcode", "said"),
    [
        (None, "the node's process could not be ended"),
        (3, "the node's process ended with exit status 3 and left no outcome"),
        (0, "the node's process ended with exit status 0 and left no outcome"),
        (-signal.SIGTERM, "the node's process was ended by SIGTERM"),
        (-signal.SIGKILL, "the node's process was ended by SIGKILL; the system may have run out of memory"),
    ],
)
def test_a_death_is_told(exitcode: int | None, said: str) -> None:
    assert describe_death(exitcode, whose="the node's", owed="outcome") == said
