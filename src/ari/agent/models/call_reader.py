"""Reading what a model says as tool calls, natively or from text, whatever its endpoint can do.

`auto` asks with native tools first. Where the endpoint refuses them, or where a model that has not called any
yet is told that its reply was no use, the tools are explained in the prompt from then on. A native reply that
holds its call as text is read as that call. Refusals become words, so that they are treated like any other
reply that is no use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ari.agent.models.text_calls import Tool, call_text, explain, lenient_loads, read_calls

ToolCalls = Literal["auto", "native", "text"]
"""How tools are offered: natively and else as text, only natively, only as text."""

FROM_TEXT = "calls_from_text"
"""Key of `provider_details` that marks a reply whose calls were read from its own text."""

_REFUSED_STATUS = frozenset({400, 404, 405, 415, 422, 500, 501})
_ABOUT_TOOLS = re.compile(r"\btools?\b|tool_|function[ _-]call", re.IGNORECASE)


class CallReader(WrapperModel):
    """Gives every model tool calls.

    Attributes:
        as_text: Whether tools are explained in the prompt from now on.
        may_change: Whether that is still open.

    Args:
        wrapped: The model; it is asked twice for one request where it turns out to know no tools.
        tool_calls: How tools are offered.
    """

    def __init__(self, wrapped: Model, tool_calls: ToolCalls = "auto") -> None:
        super().__init__(wrapped)
        self.as_text = tool_calls == "text"
        self.may_change = tool_calls == "auto"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make a request; the response holds every call that the reply was meant to be.

        Raises:
            AgentRunError: When the model cannot be asked.
        """
        tools = _tools(model_request_parameters)
        answer = _answer(model_request_parameters)
        if not tools:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            return _with_words(response)
        if not self.as_text:
            native = await self._natively(messages, model_settings, model_request_parameters)
            if native is not None:
                return _read(native, tools, answer)
        response = await self.wrapped.request(
            as_plain_text(messages), model_settings, _without_tools(model_request_parameters, tools)
        )
        return _read(response, tools, answer)

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """As the wrapped model; on the way, notice that a model which calls no tools was told so."""
        complained = any(isinstance(part, RetryFeedbackPart) for part in messages[-1].parts)
        if self.may_change and complained and not _has_called(messages):
            self.as_text = True
        return super().prepare_messages(messages, model_request_parameters)

    async def _natively(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse | None:
        """The reply to a request with native tools; None where the endpoint knows none."""
        try:
            return await self.wrapped.request(messages, settings, parameters)
        except ModelHTTPError as error:
            if not self.may_change or not refuses_tools(error):
                raise
        self.as_text = True
        return None


def refuses_tools(error: ModelHTTPError) -> bool:
    """Whether an error says that the endpoint or model knows no tools."""
    return error.status_code in _REFUSED_STATUS and _ABOUT_TOOLS.search(str(error.body or "")) is not None


# --- the request -----------------------------------------------------------------------------------------


def _tools(parameters: ModelRequestParameters) -> list[Tool]:
    return [_tool(definition) for definition in (*parameters.function_tools, *parameters.output_tools)]


def _answer(parameters: ModelRequestParameters) -> Tool | None:
    """The tool whose arguments are the final answer, if there is exactly one."""
    return _tool(parameters.output_tools[0]) if len(parameters.output_tools) == 1 else None


def _tool(definition: ToolDefinition) -> Tool:
    return Tool(definition.name, definition.description or "", definition.parameters_json_schema)


def _without_tools(parameters: ModelRequestParameters, tools: Sequence[Tool]) -> ModelRequestParameters:
    """The request with its tools explained in the instructions."""
    explained = InstructionPart(content=explain(tools, may_finish=not parameters.output_tools))
    return replace(
        parameters,
        function_tools=[],
        output_tools=[],
        tool_visibility=None,
        output_mode="text",
        output_object=None,
        allow_text_output=True,
        instruction_parts=[*(parameters.instruction_parts or []), explained],
    )


def as_plain_text(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """A conversation without native calls and results: both as the text they would be."""
    plain: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            parts = [p for p in message.parts if not (is_from_text(message) and isinstance(p, ToolCallPart))]
            plain.append(replace(message, parts=[_said(part) for part in parts]))
        else:
            plain.append(replace(message, parts=[_told(part) for part in message.parts]))
    return plain


def is_from_text(response: ModelResponse) -> bool:
    """Whether the calls of a response were read from its own text."""
    return bool((response.provider_details or {}).get(FROM_TEXT))


def _said(part: ModelResponsePart) -> ModelResponsePart:
    if not isinstance(part, ToolCallPart):
        return part
    try:
        return TextPart(call_text(part.tool_name, part.args_as_dict(raise_if_invalid=True)))
    except ValueError:
        return TextPart(f"{part.tool_name}({part.args})")


def _told(part: ModelRequestPart) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart):
        return part
    if part.outcome == "success":
        return UserPromptPart(f"Result of {part.tool_name}:\n{part.model_response_str()}")
    return UserPromptPart(f"The call of {part.tool_name} was refused:\n{part.model_response_str()}")


def _has_called(messages: Sequence[ModelMessage]) -> bool:
    return any(isinstance(part, ToolCallPart) for message in messages for part in message.parts)


# --- the reply -------------------------------------------------------------------------------------------


def _has_calls(response: ModelResponse) -> bool:
    return any(isinstance(part, ToolCallPart) for part in response.parts)


def _with_words(response: ModelResponse) -> ModelResponse:
    """A refusal as the words it consists of."""
    details = response.provider_details or {}
    if any(isinstance(part, (TextPart, ToolCallPart)) for part in response.parts):
        return response
    if response.finish_reason == "content_filter":
        words = str(details.get("refusal") or "(the reply was held back by the service's content filter)")
        return replace(response, parts=[*response.parts, TextPart(words)], finish_reason="stop")
    if response.finish_reason == "length":
        # Nothing was said within the limit; an empty reply can be mended, this reason would end the loop.
        return replace(response, finish_reason=None)
    return response


def _read(response: ModelResponse, tools: Sequence[Tool], answer: Tool | None) -> ModelResponse:
    """The response with native calls mended, or with the calls that its text holds."""
    response = _with_words(response)
    if _has_calls(response):
        cut_off = response.finish_reason == "length"
        parts = [_mended(part) if isinstance(part, ToolCallPart) else part for part in response.parts]
        return replace(response, parts=parts, finish_reason=None if cut_off else response.finish_reason)
    text = "\n".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = read_calls(text, tools, answer=answer)
    if not calls:
        return response
    found = [ToolCallPart(call.tool, call.arguments) for call in calls]
    details = {**(response.provider_details or {}), FROM_TEXT: True}
    return replace(
        response, parts=[*response.parts, *found], finish_reason="tool_call", provider_details=details
    )


def _mended(part: ToolCallPart) -> ToolCallPart:
    """A native call whose arguments are almost JSON, with them read leniently."""
    if not isinstance(part.args, str) or not part.args.strip():
        return part
    try:
        arguments = lenient_loads(part.args)
    except ValueError:
        return part
    if isinstance(arguments, str):  # JSON that was encoded twice
        try:
            arguments = lenient_loads(arguments)
        except ValueError:
            return part
    return replace(part, args=arguments) if isinstance(arguments, dict) else part
