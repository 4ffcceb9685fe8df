"""The offline researcher as a model of the agent library: no key, no network, always the same answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ari.agent.briefing import read_facts
from ari.agent.models.offline.command import command_policy
from ari.agent.models.offline.expansion import propose
from ari.agent.models.offline.policy import Call, Finish, Policy, Result, next_action
from ari.agent.models.offline.symbolic import symbolic_policy
from ari.agent.models.offline.symbolic_regression import symbolic_regression_policy

_POLICIES: dict[str, Policy] = {
    "symbolic": symbolic_policy,
    "command": command_policy,
    "symbolic_regression": symbolic_regression_policy,
}


class OfflineResearcher(Model):
    """Answers every request by rule, from the conversation alone."""

    @property
    def model_name(self) -> str:
        """The name under which the model is chosen and recorded."""
        return "offline"

    @property
    def system(self) -> str:
        """The provider of the model."""
        return "ari"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer with the next tool call, or with the closing words."""
        facts = read_facts(_first_user_text(messages))
        if facts["kind"] == "expansion":
            tool = model_request_parameters.output_tools[0].name
            return _response(
                ToolCallPart(tool, propose(facts).model_dump(mode="json"), tool_call_id="proposal")
            )
        results = tool_results(messages)
        kind = facts["experiment"]["kind"] if facts["kind"] == "node" else facts["kind"]
        action = next_action(_POLICIES[kind], facts, results)
        if isinstance(action, Finish):
            return _response(TextPart(action.text))
        return _response(_tool_call(action, len(results)))


def _response(part: TextPart | ToolCallPart) -> ModelResponse:
    return ModelResponse(parts=[part], model_name="offline")


def _tool_call(call: Call, index: int) -> ToolCallPart:
    return ToolCallPart(call.tool, call.arguments, tool_call_id=f"call-{index + 1}")


def _first_user_text(messages: Sequence[ModelMessage]) -> str:
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                    return part.content
    raise ValueError("the conversation holds no user message")


def tool_results(messages: Sequence[ModelMessage]) -> list[Result]:
    """The results of all tool calls so far, in order; a refused call gives `{"error": text}`."""
    found: list[Result] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                refused = part.outcome != "success"
                found.append({"error": str(part.content)} if refused else _as_result(part.content))
    return found


def _as_result(content: Any) -> Result:  # noqa: ANN401 - whatever a tool returned
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return {"text": content}
    return content if isinstance(content, dict) else {"value": content}
