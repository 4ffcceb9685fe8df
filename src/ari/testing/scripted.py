"""A model of the agent library that replays a list of replies, in this process and without any wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ari.testing.replies import Reply, Script, Scripted


class ScriptedModel(Model):
    """Answers each request with the next reply of its script, whatever is asked.

    What a connection does (delays, cuts, raw bodies) needs a `LoopbackServer`; here such a reply is its text.

    Attributes:
        asked: The conversations it was sent, in order.

    Args:
        replies: Replies in order, or a function from the conversation to a reply.
        name: The name it goes by.
    """

    def __init__(
        self,
        replies: Iterable[Scripted] | Callable[[list[ModelMessage]], Scripted],
        *,
        name: str = "scripted",
    ) -> None:
        super().__init__()
        self.asked: list[list[ModelMessage]] = []
        self._script: Script[list[ModelMessage]] = Script(replies)
        self._name = name

    @property
    def model_name(self) -> str:
        """The name it goes by."""
        return self._name

    @property
    def system(self) -> str:
        """The provider of the model."""
        return "ari-testing"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer with the next reply.

        Raises:
            ScriptEndedError: When the script has been used up.
            ModelHTTPError: When the reply is an HTTP error.
        """
        self.asked.append(list(messages))
        reply = self._script.reply(messages)
        if reply.status != 200:
            headers = {"retry-after": reply.retry_after} if reply.retry_after else None
            raise ModelHTTPError(reply.status, self._name, {"message": reply.text}, headers=headers)
        return _response(reply, self._name, len(self.asked))


def _response(reply: Reply, name: str, number: int) -> ModelResponse:
    parts: list[ModelResponsePart] = [TextPart(reply.text)] if reply.text else []
    for index, call in enumerate(reply.calls):
        arguments = call.arguments if isinstance(call.arguments, str) else dict(call.arguments)
        parts.append(ToolCallPart(call.tool, arguments, tool_call_id=f"call-{number}-{index}"))
    if reply.refusal:
        details = {"refusal": reply.refusal}
        return ModelResponse(
            parts=[], model_name=name, finish_reason="content_filter", provider_details=details
        )
    return ModelResponse(parts=parts, model_name=name)
