"""The agent loop of one node: a model, the node's skills as MCP servers, and a trace of what was said.

The loop is the same whoever drives it. Every message is appended to `records/<node_id>/trace.jsonl` as it
is exchanged, as `{"role": …, "content": …}` records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelMessage,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from ari.agent.briefing import INSTRUCTIONS, task_briefing
from ari.formats.jsonio import strict_dumps
from ari.skills import build_server

if TYPE_CHECKING:
    from ari.skills.session import NodeSession

MAX_REQUESTS = 60
"""Model requests that one node may make; a loop that needs more is going in circles."""

TOOL_RETRIES = 5
INIT_TIMEOUT_S = 60.0
"""The library's default of 5 s was seen to fail on a loaded machine."""

TRACE = "trace.jsonl"


def skills_for(kind: str) -> tuple[str, ...]:
    """The skills whose tools a node of this kind of experiment may call."""
    return ("symbolic",) if kind == "symbolic" else ("coding",)


async def run_node_loop(session: NodeSession, model: Model, records_dir: Path) -> str:
    """Let the model work on the node until it says that it is done.

    Returns:
        The model's closing words; or, when the loop had to be ended, why.
    """
    toolsets = [
        MCPToolset(build_server(name, session), init_timeout=INIT_TIMEOUT_S, max_retries=TOOL_RETRIES)
        for name in skills_for(session.task.experiment.kind)
    ]
    agent = Agent(model, toolsets=toolsets, instructions=INSTRUCTIONS, output_type=str)
    trace = _Trace(records_dir / TRACE)
    try:
        limits = UsageLimits(request_limit=MAX_REQUESTS)
        async with agent.iter(task_briefing(session.task), usage_limits=limits) as run:
            async for _ in run:
                trace.write(run.all_messages())
            trace.write(run.all_messages())
            return run.result.output if run.result is not None else ""
    except UsageLimitExceeded as error:
        return f"The loop was ended: {error}"
    except AgentRunError as error:
        return f"The model could not go on: {error}"


class _Trace:
    """Appends messages that have not been written yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = 0
        path.unlink(missing_ok=True)

    def write(self, messages: Sequence[ModelMessage]) -> None:
        fresh = messages[self._written :]
        if not fresh:
            return
        with self._path.open("ab") as stream:
            for record in trace_records(fresh):
                stream.write(strict_dumps(record) + b"\n")
        self._written = len(messages)


def trace_records(messages: Iterable[ModelMessage]) -> Iterator[dict[str, str]]:
    """The conversation as `{role, content}` records, free of dates and generated ids."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                yield {"role": "user", "content": _text(part.content)}
            elif isinstance(part, TextPart):
                yield {"role": "assistant", "content": part.content}
            elif isinstance(part, ToolCallPart):
                yield {"role": "assistant", "content": f"{part.tool_name}({_text(part.args_as_dict())})"}
            elif isinstance(part, ToolReturnPart):
                yield {"role": "tool", "content": _text(part.content)}


def _text(content: Any) -> str:  # noqa: ANN401 - whatever a message holds
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
