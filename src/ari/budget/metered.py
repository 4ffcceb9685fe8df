"""A model whose every call is reserved in the ledger before it is made and settled afterwards.

Put it directly around the model that goes out to the service, below whatever tries again: then each attempt
is a call of its own.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ari.budget.ledger import Busy, Estimate, Ledger, Reservation, Usage, exhausted

BYTES_PER_TOKEN = 2
"""Of a request as JSON. Prose takes 3 to 5 bytes a token and dense numbers a little over 2, so this is an
upper bound in practice; what is too much is given back when the call is settled."""

OUTPUT_TOKENS = 8192
"""The longest answer under a budget of tokens or money, unless the settings of the model say otherwise."""

BUSY_WAIT_S = 900.0
"""How long a call waits for others to give back what they reserved too much."""


class Metered(WrapperModel):
    """Reserves and settles each request of the wrapped model.

    Args:
        wrapped: The model that goes out to the service.
        ledger: The study's ledger.
        name: The model as the settings name it, by which its price is found.
        phase: What the calls are for.
        node_id: The node; None for calls of the study itself.
    """

    def __init__(
        self, wrapped: Model, ledger: Ledger, *, name: str, phase: str = "", node_id: str | None = None
    ) -> None:
        super().__init__(wrapped)
        self._ledger = ledger
        self._name = name
        self._phase = phase
        self._node_id = node_id

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make one request within the budget.

        Raises:
            BudgetExhausted: When it may not be made.
        """
        settings, reservation = await self._reserve(messages, model_settings, model_request_parameters)
        try:
            response = await self.wrapped.request(messages, settings, model_request_parameters)
        except BaseException as error:  # whatever ended the call, it has been made and is accounted for
            self._settle_failed(reservation, error)
            raise
        self._ledger.settle(reservation, _usage(response.usage))
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Make one streamed request within the budget; settled when the stream is left."""
        settings, reservation = await self._reserve(messages, model_settings, model_request_parameters)
        try:
            async with self.wrapped.request_stream(
                messages, settings, model_request_parameters, run_context
            ) as stream:
                yield stream
        except BaseException as error:  # as in `request`
            self._settle_failed(reservation, error)
            raise
        self._ledger.settle(reservation, _usage(stream.usage))

    async def _reserve(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> tuple[ModelSettings | None, Reservation]:
        merged: dict[str, Any] = {**(self.wrapped.settings or {}), **(settings or {})}
        output = merged.get("max_tokens")
        limits = self._ledger.tally().limits
        if output is None and (limits.max_tokens is not None or limits.max_cost_usd is not None):
            settings = cast(ModelSettings, {**(settings or {}), "max_tokens": OUTPUT_TOKENS})
        estimate = Estimate(input_tokens(messages, parameters), int(output or OUTPUT_TOKENS))
        return settings, await self._wait_for(estimate)

    async def _wait_for(self, estimate: Estimate) -> Reservation:
        deadline = time.monotonic() + BUSY_WAIT_S
        pause = 0.02
        while True:
            answer = self._ledger.reserve(
                estimate, model=self._name, node_id=self._node_id, phase=self._phase
            )
            if not isinstance(answer, Busy):
                return answer
            if time.monotonic() > deadline:
                raise exhausted(answer.reason)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    def _settle_failed(self, reservation: Reservation, error: BaseException) -> None:
        refused = isinstance(error, ModelHTTPError)
        self._ledger.settle(reservation, None, outcome="refused" if refused else "lost")


def input_tokens(messages: list[ModelMessage], parameters: ModelRequestParameters) -> int:
    """The most tokens that a request takes, from its length as JSON."""
    size = len(ModelMessagesTypeAdapter.dump_json(messages))
    for tool in (*parameters.function_tools, *parameters.output_tools):
        size += len(json.dumps([tool.name, tool.description, tool.parameters_json_schema], default=str))
    return -(-size // BYTES_PER_TOKEN)


def _usage(usage: RequestUsage) -> Usage:
    return Usage(usage.input_tokens, usage.output_tokens)
