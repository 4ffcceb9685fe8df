"""Tools of skills that are programs of somebody else: an MCP server given by a command in `workflow.yaml`.

The server is started for one call, speaks over its standard input and output, and is ended afterwards. It
runs in the checkpoint's folder with `ARI_CHECKPOINT_DIR` set; of the environment it sees what every program
needs (`PATH`, `HOME`, …) and the variables that the workflow names.

Promises: a server that ends, before the handshake or at any moment after it, is reported within seconds with
its exit status and the last lines it wrote to standard error, even if a child of it keeps its pipes open; it
never outlives the process that called it. What it prints beside the protocol is passed over.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from ari.errors import FormatError, SkillError
from ari.formats.jsonio import encode_document, strict_dumps

if TYPE_CHECKING:
    from mcp_types import CallToolResult

START_S = 60.0
"""Seconds from the start to the end of the handshake."""

TICK_S = 0.1
_SETTLE_S = 2.0
_TAIL_LINES = 15
_TAIL_BYTES = 4_000

# Starts the server, writes down how it ended, and dies with whoever called: a pipe's end tells neither.
_GUARD = """
import ctypes, os, signal, subprocess, sys
def tied():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
tied()
place, argv = sys.argv[1], sys.argv[2:]
def told(text):
    with open(place + ".tmp", "w") as file:
        file.write(text)
    os.replace(place + ".tmp", place)
try:
    server = subprocess.Popen(argv, preexec_fn=tied)
except OSError as error:
    told(f"could not be started: {error.strerror}")
    sys.exit(127)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda given, frame: server.send_signal(given))
status = server.wait()
told(f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}")
os._exit(min(status, 255) if status >= 0 else 128 - status)
"""


GROUP = "ari.skills"
"""Entry point group of skills that other distributions bring: a name, and a function from options (name to
text) to an `MCPServer`."""


def installed_skills() -> tuple[str, ...]:
    """Names of the skills that other distributions have installed."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


class OutsideSkill(BaseModel):
    """A skill given by a command.

    Attributes:
        command: The program and its arguments.
        environment: Names of variables that it is to see.
    """

    model_config = ConfigDict(frozen=True)

    command: tuple[str, ...]
    environment: tuple[str, ...] = ()


def installed_skill(name: str) -> OutsideSkill | None:
    """How an installed skill is started, told which study it is for; None when there is no such skill."""
    if name not in installed_skills():
        return None
    serve = (sys.executable, "-m", "ari", "skills", "serve", name)
    return OutsideSkill(command=(*serve, "--option", "checkpoint={{checkpoint}}"))


def call_outside(
    name: str, skill: OutsideSkill, tool: str, arguments: Mapping[str, Any], *, checkpoint: Path
) -> dict[str, Any]:
    """Call one tool of an outside skill.

    Args:
        name: The skill's name, for messages.
        skill: How it is started.
        tool: The tool.
        arguments: Its arguments.
        checkpoint: The study, where the server runs.

    Returns:
        The answer: the object that the tool returned, else its text as `summary`.

    Raises:
        SkillError: When the server cannot be started, ends, does not speak the protocol, or the tool refuses.
    """
    try:
        strict_dumps(dict(arguments))
    except FormatError as error:
        raise SkillError(f"{name}.{tool}: {error.message}", cure=error.cure) from error
    with (
        tempfile.TemporaryDirectory(prefix="ari-skill-") as scratch,
        (Path(scratch) / "stderr").open("w+b") as log,
    ):
        call = _Call(name, skill, tool, checkpoint, Path(scratch) / "ended")
        return asyncio.run(call.run(arguments, log))


class _Call:
    """One call: the client, and beside it a look at whether the server still lives."""

    def __init__(self, name: str, skill: OutsideSkill, tool: str, checkpoint: Path, ended: Path) -> None:
        self._name = name
        self._skill = skill
        self._tool = tool
        self._checkpoint = checkpoint
        self._ended = ended
        self._ready = asyncio.Event()

    async def run(self, arguments: Mapping[str, Any], log: IO[bytes]) -> dict[str, Any]:
        talk = asyncio.create_task(self._talk(arguments, log))
        watch = asyncio.create_task(self._watch())
        await asyncio.wait((talk, watch), return_when=asyncio.FIRST_COMPLETED)
        if not talk.done():
            talk.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await talk
            raise self._gone(watch.result(), log)
        watch.cancel()
        error = talk.exception()
        if error is None:
            return talk.result()
        if isinstance(error, SkillError):
            raise error
        why = await self._how_it_ended() or f"does not speak the protocol: {_root(error)}"
        raise self._gone(why, log) from error

    async def _talk(self, arguments: Mapping[str, Any], log: IO[bytes]) -> dict[str, Any]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        wanted = {key: os.environ[key] for key in self._skill.environment if key in os.environ}
        server = StdioServerParameters(
            command=sys.executable,
            args=["-I", "-c", _GUARD, str(self._ended), *self._argv()],
            env={**wanted, "ARI_CHECKPOINT_DIR": str(self._checkpoint)},
            cwd=self._checkpoint,
        )
        with open(log.fileno(), "w", closefd=False, encoding="utf-8") as errors:
            async with Client(stdio_client(server, errlog=errors)) as client:
                self._ready.set()
                result = await client.call_tool(self._tool, dict(arguments))
        if result.is_error:
            text = " ".join(getattr(block, "text", "") for block in result.content)
            raise SkillError(f"{self._name}.{self._tool} refused: {text}")
        return answer_of(result)

    def _argv(self) -> Sequence[str]:
        place = str(self._checkpoint)
        return [word.replace("{{checkpoint}}", place) for word in self._skill.command]

    async def _watch(self) -> str:
        """How the server ended, or that it does not begin; returns only then."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_S
        while not self._ended.exists():
            if not self._ready.is_set() and loop.time() > deadline:
                return f"has not answered the handshake within {START_S:g} s"
            await asyncio.sleep(TICK_S)
        # Its last answer may still be on the way.
        await asyncio.sleep(_SETTLE_S)
        return self._ended.read_text()

    async def _how_it_ended(self) -> str | None:
        """How it ended; the note may come a moment after the pipe's end."""
        for _ in range(int(_SETTLE_S / TICK_S)):
            if self._ended.exists():
                return self._ended.read_text()
            await asyncio.sleep(TICK_S)
        return None

    def _gone(self, how: str, log: IO[bytes]) -> SkillError:
        when = f"while {self._tool} was running" if self._ready.is_set() else "before it could be asked"
        said = _tail(log)
        return SkillError(
            f"the server of the skill {self._name} ({' '.join(self._skill.command)}) {how}, {when}"
            + (f"; it last said: {said}" if said else "; it said nothing on standard error"),
            cure=f"Run the command by hand, or mend skills.{self._name} in workflow.yaml.",
        )


def answer_of(result: CallToolResult) -> dict[str, Any]:
    """What a tool of any server answered, as a strict JSON object: its object, else its text as `summary`."""
    if result.structured_content is not None:
        return encode_document(result.structured_content)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    return encode_document(document) if isinstance(document, dict) else {"summary": text}


def _root(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _tail(log: IO[bytes]) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - _TAIL_BYTES))
    text = log.read().decode("utf-8", "replace")
    return "\n".join(text.strip().splitlines()[-_TAIL_LINES:])
