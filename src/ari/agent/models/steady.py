"""Asking again where that helps: a limit that will pass, a server that stumbled, a connection that broke.

The number of attempts and the time spent waiting are bounded. `Retry-After` is respected up to a ceiling; a
service that asks for more is told no: the error says so, and a person decides.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ari.agent.models.service import ClientFaultError

_PASSING_STATUS = frozenset({408, 409, 425, 429})
_PASSING = (
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)


@dataclass(frozen=True)
class Patience:
    """How often and how long a failed request is made again.

    Attributes:
        retries: Further attempts after the first.
        first_wait_s: Seconds before the second attempt; each further wait is twice as long.
        longest_wait_s: Ceiling of one wait, and the most that `Retry-After` may ask for.
        total_wait_s: Ceiling of all waits of one request together.
    """

    retries: int = 4
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    total_wait_s: float = 180.0


class SteadyModel(WrapperModel):
    """Makes a request again when it failed for a reason that passes by itself.

    Args:
        wrapped: The model; each attempt is one request to it.
        patience: How often and how long.
        sleep: Waits; given by tests.
    """

    def __init__(
        self,
        wrapped: Model,
        patience: Patience,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(wrapped)
        self._patience = patience
        self._sleep = sleep

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make a request, again where that helps.

        Raises:
            AgentRunError: The last failure, with the number of attempts where there were several.
        """
        started, waited, attempt = time.monotonic(), 0.0, 1
        while True:
            try:
                return await self.wrapped.request(messages, model_settings, model_request_parameters)
            except AgentRunError as error:
                wait = self._wait_before(error, attempt, waited)
                if wait is None:
                    if attempt > 1:
                        error.message += f" (after {attempt} attempts in {time.monotonic() - started:.0f} s)"
                    raise
            await self._sleep(wait)
            waited += wait
            attempt += 1

    def _wait_before(self, error: AgentRunError, attempt: int, waited: float) -> float | None:
        """Seconds to wait before the next attempt; None where there is to be none."""
        patience = self._patience
        if attempt > patience.retries or not passes(error):
            return None
        asked = error.retry_after if isinstance(error, ModelAPIError) else None
        if asked is not None and asked > patience.longest_wait_s:
            most = patience.longest_wait_s
            error.message += f" (it asks for a wait of {asked:.0f} s; at most {most:.0f} s is waited)"
            return None
        usual = patience.first_wait_s * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.25)
        wait = min(patience.longest_wait_s, usual) if asked is None else asked
        return None if waited + wait > patience.total_wait_s else wait


def passes(error: AgentRunError) -> bool:
    """Whether the same request may succeed if it is made again."""
    if isinstance(error, (ModelQuotaExceededError, ContentFilterError, ClientFaultError)):
        return False
    if isinstance(error, ModelHTTPError):
        if error.provider_retry_hint is not None:
            return error.provider_retry_hint
        return isinstance(error, _PASSING) or error.status_code in _PASSING_STATUS or error.status_code >= 500
    # What is left: no connection, a stream or body that was cut off, an answer that is none.
    return isinstance(error, (ModelAPIError, UnexpectedModelBehavior))
