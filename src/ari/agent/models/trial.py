"""Trying a model: one tiny call that shows what works (`ari settings check`)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ari.agent.models import bare_model, find_service
from ari.agent.models.preflight import shown_address, standing_of
from ari.settings import OFFLINE

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models import Model

WORD = "ready"
NUMBER = 7
_QUESTION = f'Call the tool `report` with the word "{WORD}" and the number {NUMBER}. Do nothing else.'
_MOST_TOKENS = 2048
"""Room for models that think before they answer; the answer itself takes about thirty."""


@dataclass(frozen=True)
class Trial:
    """What works of a model.

    Attributes:
        model: Its name.
        provider: Whose it is.
        address: Where it is asked; empty for the offline researcher.
        reachable: Whether anything answers there.
        known: Whether the service knows the model; None where it does not say.
        reply: Whether a reply came.
        tool_calls: `native`, `text` (explained in the prompt), or `none`.
        structured_output: Whether the arguments of the call were those asked for.
        latency_s: Seconds until the reply.
        fault: What does not work; empty when everything does.
        cure: What helps.
    """

    model: str
    provider: str
    address: str = ""
    reachable: bool = True
    known: bool | None = True
    reply: bool = True
    tool_calls: str = "native"
    structured_output: bool = True
    latency_s: float | None = None
    fault: str = ""
    cure: str = ""

    @property
    def works(self) -> bool:
        """Whether the model can drive a study."""
        return not self.fault

    def to_document(self) -> dict[str, Any]:
        """The trial as JSON types."""
        return asdict(self) | {"works": self.works}


def try_model(name: str, *, checkpoint: Path | None = None) -> Trial:
    """Ask about a model, then ask it one tiny thing.

    Args:
        name: `offline`, or `<provider>/<model>`.
        checkpoint: The study it is to work for.

    Raises:
        ConfigError: When it cannot be asked at all: no such provider, no key, no client library.
    """
    if name == OFFLINE:
        return Trial(OFFLINE, OFFLINE)
    service = find_service(name, checkpoint=checkpoint)
    model = bare_model(service)
    address = shown_address(service)
    nothing = Trial(
        name,
        service.endpoint.provider.name,
        address,
        reply=False,
        tool_calls="none",
        structured_output=False,
    )
    standing = standing_of(service)
    if standing.fault is not None:
        return _with(
            nothing,
            reachable=standing.reachable,
            known=standing.known,
            fault=standing.fault.message,
            cure=standing.fault.cure,
        )
    return _ask(model, _with(nothing, known=standing.known))


def _with(trial: Trial, **changes: Any) -> Trial:  # noqa: ANN401 - fields of a Trial
    from dataclasses import replace

    return replace(trial, **changes)


def _ask(model: Model, so_far: Trial) -> Trial:
    """Make the call: a tool call is a reply, a tool call and structured output in one."""
    from pydantic_ai.exceptions import AgentRunError
    from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

    from ari.agent.models.call_reader import CallReader, is_from_text

    schema = {
        "type": "object",
        "properties": {"word": {"type": "string"}, "number": {"type": "integer"}},
        "required": ["word", "number"],
    }
    tool = ToolDefinition(
        name="report", description="Report a word and a number.", parameters_json_schema=schema
    )
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(_QUESTION)])]

    async def call() -> ModelResponse:
        settings = ModelSettings(max_tokens=_MOST_TOKENS)
        parameters = ModelRequestParameters(function_tools=[tool])
        async with model:
            response = await model.request(messages, settings, parameters)
            if _called(response) is None and isinstance(model, CallReader) and model.may_change:
                model.as_text = True
                response = await model.request(messages, settings, parameters)
            return response

    started = time.monotonic()
    try:
        response = asyncio.run(call())
    except AgentRunError as error:
        return _with(so_far, fault=f"it gives no reply: {error}", cure=_cure_of(error))
    so_far = _with(so_far, reply=True, latency_s=round(time.monotonic() - started, 3))
    part = _called(response)
    if part is None:
        fault = "it replies, but calls no tool, neither natively nor as text"
        return _with(
            so_far, fault=fault, cure="Choose a model that follows instructions or knows tool calls."
        )
    as_text = is_from_text(response)
    try:
        right = part.tool_name == "report" and part.args_as_dict(raise_if_invalid=True) == {
            "word": WORD,
            "number": NUMBER,
        }
    except ValueError:
        right = False
    fault = (
        "" if right else f"it calls {part.tool_name} with {part.args!s:.200}, which is not what was asked for"
    )
    return _with(
        so_far,
        tool_calls="text" if as_text else "native",
        structured_output=right,
        fault=fault,
        cure="" if right else "Try again; if it goes on like this, choose a more capable model.",
    )


def _called(response: ModelResponse) -> ToolCallPart | None:
    from pydantic_ai.messages import ToolCallPart

    return next((part for part in response.parts if isinstance(part, ToolCallPart)), None)


def _cure_of(error: Exception) -> str:
    from pydantic_ai.exceptions import (
        ModelAuthenticationError,
        ModelConnectionError,
        ModelNotFoundError,
        ModelQuotaExceededError,
        ModelRateLimitError,
        ModelRequestTimeout,
    )

    cures: tuple[tuple[type[Exception], str], ...] = (
        (ModelAuthenticationError, "Check the key, and that it may use this model."),
        (ModelNotFoundError, "Check the model's name and the address."),
        (ModelQuotaExceededError, "The account has no credit left; top it up or choose another service."),
        (ModelRateLimitError, "Wait, or ask for a higher limit."),
        (ModelRequestTimeout, "Raise ARI_MODEL_TIMEOUT, or use a quicker model."),
        (
            ModelConnectionError,
            "Check the network and the address; a slow model needs a higher ARI_MODEL_TIMEOUT.",
        ),
    )
    return next((cure for kind, cure in cures if isinstance(error, kind)), "The service's own words say why.")
