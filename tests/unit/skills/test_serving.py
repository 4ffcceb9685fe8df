"""The listening socket of a skill that is served over HTTP."""

from __future__ import annotations

import socket

import pytest

from ari.errors import ConfigError
from ari.skills.serving import _listen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_answers_are_not_held_back(host: str) -> None:
    with _listen(host, 0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"
        # asyncio sends small answers at once only on sockets that name their protocol.
        assert bound.proto == socket.IPPROTO_TCP


def test_an_address_that_is_not_ours_is_told() -> None:
    with pytest.raises(ConfigError, match=r"192\.0\.2\.1:0 cannot be listened on"):
        _listen("192.0.2.1", 0)
