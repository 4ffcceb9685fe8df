"""The agent loop of one node: a model, the node's skills as MCP servers, and a trace of what was said.

The loop is the same whoever drives it. Every message is appended to `records/<node_id>/trace.jsonl` as it
is exchanged, as `{"role": …, "content": …}` records. A reply that is no use may be mended a bounded number of
times; then the loop ends, and the reply is kept as it came (`records/<node_id>/raw_reply.txt`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelMessage,
    RetryFeedbackPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from ari.agent.briefing import REMINDERS, task_briefing
from ari.agent.prompts import Prompts, node_prompts
from ari.agent.repairs import RAW_REPLY, keep_raw_reply, streak
from ari.formats.jsonio import strict_dumps
from ari.skills import build_server

if TYPE_CHECKING:
    from ari.skills.session import NodeSession

MAX_REQUESTS = 60
"""Model requests that one node may make; a loop that needs more is going in circles."""

INIT_TIMEOUT_S = 60.0
"""The library's default of 5 s was seen to fail on a loaded machine."""

TRACE = "trace.jsonl"


def skills_for(kind: str) -> tuple[str, ...]:
    """The skills whose tools a node of this kind of experiment may call."""
    return ("symbolic",) if kind == "symbolic" else ("coding",)


class LoopEnd(NamedTuple):
    """How a node's loop ended.

    Attributes:
        words: The model's closing words.
        failure: Why the loop had to be ended; empty when the model ended it.
    """

    words: str = ""
    failure: str = ""


async def run_node_loop(
    session: NodeSession, model: Model, records_dir: Path, *, repairs: int = 0
) -> LoopEnd:
    """Let the model work on the node until it says that it is done.

    Args:
        session: What the tools act on.
        model: Who drives the loop.
        records_dir: Where the trace is written, and the reply that could not be mended.
        repairs: How many replies in a row that are no use the model may mend. With 0, closing words are taken
            as they are, whether anything was handed in or not.
    """
    kind = session.task.experiment.kind
    # The agent library counts retries by tool; how many there are altogether is counted here.
    toolsets = [
        MCPToolset(build_server(name, session), init_timeout=INIT_TIMEOUT_S, max_retries=MAX_REQUESTS)
        for name in skills_for(kind)
    ]
    instructions = Prompts.of(Path(session.task.checkpoint)).text(*node_prompts(kind, session.task.label))
    agent = Agent(model, toolsets=toolsets, instructions=instructions, output_type=str, retries=MAX_REQUESTS)
    if repairs:

        @agent.output_validator
        def handed_in(words: str) -> str:
            if not has_handed_in(session):
                raise ModelRetry(REMINDERS[kind])
            return words

    trace = _Trace(records_dir / TRACE)
    messages: list[ModelMessage] = []
    try:
        limits = UsageLimits(request_limit=MAX_REQUESTS)
        async with model, agent.iter(task_briefing(session.task), usage_limits=limits) as run:
            async for node in run:
                messages = run.all_messages()
                trace.write(messages)
                if Agent.is_model_request_node(node) and streak([*messages, node.request]).exhausted(repairs):
                    return LoopEnd(failure=_given_up(messages, records_dir, repairs))
            messages = run.all_messages()
            trace.write(messages)
            return LoopEnd(run.result.output if run.result is not None else "")
    except UsageLimitExceeded as error:
        return LoopEnd(failure=f"the loop was ended: {error}")
    except AgentRunError as error:
        keep_raw_reply(messages, records_dir / RAW_REPLY)
        return LoopEnd(failure=f"the model could not go on: {error.message}")


def has_handed_in(session: NodeSession) -> bool:
    """Whether the node has something that can be evaluated: a formula, a recorded run, results of its own."""
    from ari.evaluation.symbolic import SUBMISSION

    if session.task.experiment.kind == "symbolic":
        return (session.work_dir / SUBMISSION).is_file()
    if session.task.experiment.kind == "code":
        return (session.work_dir / "results.json").is_file()
    return bool(session.runner.runs)


def _given_up(messages: Sequence[ModelMessage], records_dir: Path, repairs: int) -> str:
    """Keep the reply that was no use, and say what happened."""
    shown = keep_raw_reply(messages, records_dir / RAW_REPLY)
    return (
        f"the model's replies could not be used, and {repairs} attempts to mend them did not help; the last "
        f"one was {shown!r} (whole in records/{records_dir.name}/{RAW_REPLY})"
    )


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
                yield {"role": "assistant", "content": f"{part.tool_name}({_arguments(part)})"}
            elif isinstance(part, RetryFeedbackPart):
                yield {"role": "user", "content": _text(part.content)}
            elif isinstance(part, ToolReturnPart):
                yield {"role": "tool", "content": _text(part.content)}


def _arguments(call: ToolCallPart) -> str:
    """The arguments of a call; as they were written where they are no JSON."""
    try:
        return _text(call.args_as_dict(raise_if_invalid=True))
    except ValueError:
        return str(call.args)


def _text(content: Any) -> str:  # noqa: ANN401 - whatever a message holds
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
