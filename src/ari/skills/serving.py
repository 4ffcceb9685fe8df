"""Serving a skill to other programs, over standard input and output or over HTTP on this machine.

Promises: over stdio nothing but the protocol reaches standard output, whoever prints (Python, C code, a child
process) and whenever: descriptor 1 points at standard error from before the skill is loaded until the process
ends. Over HTTP the server listens on 127.0.0.1 unless told otherwise. SIGINT and SIGTERM end it within
seconds, a tool that is running included; commands that a tool has started die with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from ari.errors import ConfigError

if TYPE_CHECKING:
    from mcp.server import MCPServer

HOST = "127.0.0.1"
PATH = "/mcp"
GRACE_S = 3
"""Seconds that requests under way are given when an HTTP server is asked to stop."""

Build = Callable[[], "MCPServer[Any]"]


@contextlib.contextmanager
def output_diverted() -> Iterator[None]:
    """Point descriptor 1 at standard error, so that what tools and their libraries print goes there."""
    kept = _divert()
    try:
        yield
    finally:
        _flush_output()
        os.dup2(kept, 1)
        os.close(kept)


def _divert() -> int:
    """Point descriptor 1 at standard error; returns a descriptor of the real standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def _flush_output() -> None:
    """Write out what Python and the C library hold back, while descriptor 1 is still diverted."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def serve_stdio(build: Build) -> None:
    """Serve over standard input and output until the client closes them; standard output stays diverted.

    Args:
        build: Makes the server; called with standard output diverted already.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end_at_once)
    wire = _divert()
    server = build()
    _flush_output()
    os.dup2(wire, 1)  # the transport takes it from here: it keeps the wire and diverts descriptor 1 anew
    try:
        server.run("stdio")
    finally:
        os.dup2(2, 1)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    # The thread that reads standard input cannot be interrupted, so an orderly end would wait for the client.
    os._exit(128 + number)


def serve_http(build: Build, *, host: str = HOST, port: int = 0, announce: Callable[[str], None]) -> None:
    """Serve over streamable HTTP until SIGINT or SIGTERM.

    Args:
        build: Makes the server.
        host: Address to listen on. Whoever can reach it can call every tool.
        port: Port; 0 takes a free one.
        announce: Told the address once connections are accepted.

    Raises:
        ConfigError: When the address cannot be listened on.
        KeyboardInterrupt: After SIGINT.
    """
    import uvicorn

    class Server(uvicorn.Server):
        """Stops even when a tool in a thread does not."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            timer = threading.Timer(GRACE_S + 1, os._exit, (128 + sig,))
            timer.daemon = True
            timer.start()
            super().handle_exit(sig, frame)

    bound = _listen(host, port)
    with bound:
        app = build().streamable_http_app(streamable_http_path=PATH, host=host)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S, lifespan="on"
        )
        shown = f"[{host}]" if ":" in host else host
        announce(f"http://{shown}:{bound.getsockname()[1]}{PATH}")
        Server(config).run(sockets=[bound])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named; it costs 40 ms a call.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()
    except (OSError, OverflowError) as error:
        bound.close()
        raise ConfigError(
            f"{host}:{port} cannot be listened on: {getattr(error, 'strerror', None) or error}",
            cure="Give another --port, or 0 for a free one.",
        ) from None
    return bound
