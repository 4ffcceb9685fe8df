"""One request to a model service as it is really made: with time limits, and without keys in its answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, ModelRequestTimeout
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ari.agent.models.keys import KeyMask

WHOLE_REPLY = 5.0
"""A whole reply may take this many times as long as a service may be silent."""


@dataclass(frozen=True)
class Manner:
    """How a service is asked.

    Attributes:
        silence_s: Seconds without a byte after which a request is given up.
        stream: Ask for replies piece by piece, which keeps slow connections alive.
    """

    silence_s: float = 120.0
    stream: bool = False


class ClientFaultError(ModelAPIError):
    """The client library failed in a way of its own; asking again does not help."""


class ServiceModel(WrapperModel):
    """A client library's model, asked within its time limits; nothing that comes back holds a key.

    The client library's own retries are switched off: `SteadyModel` decides about them, where they can be
    counted. Every error of the service is an `AgentRunError` without the cause chained to it, because the
    client library's exceptions hold requests with their headers.
    """

    def __init__(self, client: Model, mask: KeyMask, manner: Manner) -> None:
        super().__init__(client)
        self._mask = mask
        self._manner = manner

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make one request.

        Raises:
            AgentRunError: When there is no usable answer; free of keys.
        """
        silence = self._manner.silence_s
        usual = ModelSettings(timeout=silence, max_retries=0)
        settings: ModelSettings = {**usual, **(model_settings or {})}
        limit = silence * WHOLE_REPLY
        try:
            async with asyncio.timeout(limit):
                response = await self._ask(messages, settings, model_request_parameters)
        except TimeoutError:
            raise ModelRequestTimeout(self.model_name, limit) from None
        except AgentRunError as error:
            raise _without_keys(error, self._mask) from None
        except Exception as error:  # noqa: BLE001 - a client library may raise anything, with a key in its text
            said = self._mask.text(f"{type(error).__name__}: {error}")
            raise ClientFaultError(self.model_name, f"the client library failed: {said}") from None
        return masked_response(response, self._mask)

    async def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
    ) -> ModelResponse:
        if not self._manner.stream:
            return await self.wrapped.request(messages, settings, parameters)
        async with self.wrapped.request_stream(messages, settings, parameters, None) as stream:
            async for _ in stream:
                pass
            return stream.get()


def _without_keys(error: AgentRunError, mask: KeyMask) -> AgentRunError:
    """The same error, its texts masked and nothing chained to it."""
    error.message = mask.text(error.message)
    error.args = tuple(mask.value(argument) for argument in error.args)
    if isinstance(error, ModelAPIError):
        error.body = mask.value(error.body)
    if isinstance(error, ModelHTTPError) and error.headers:
        error.headers = mask.value(error.headers)
    error.__cause__ = error.__context__ = None
    return error


def masked_response(response: ModelResponse, mask: KeyMask) -> ModelResponse:
    """A response without keys in what it says; a server may echo what it was sent."""
    details = mask.value(response.provider_details) if response.provider_details else None
    return replace(
        response,
        parts=[_masked_part(part, mask) for part in response.parts],
        provider_details=details,
        provider_url=mask.value(response.provider_url),
        model_name=mask.value(response.model_name),
    )


def _masked_part(part: ModelResponsePart, mask: KeyMask) -> ModelResponsePart:
    if isinstance(part, (TextPart, ThinkingPart)):
        said = mask.text(part.content)
        return part if said == part.content else replace(part, content=said)
    if isinstance(part, ToolCallPart):
        arguments, name = mask.value(part.args), mask.text(part.tool_name)
        same = arguments == part.args and name == part.tool_name
        return part if same else ToolCallPart(name, arguments, tool_call_id=part.tool_call_id)
    return part
