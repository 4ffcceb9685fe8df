"""One question to a model, one object as the answer: validated, and sent back a few times where it is no use.

A model may answer by the output tool or in text, as JSON alone, in a fence or among prose. What does not fit
is sent back with what is wrong, `repairs` times at most; then `NoAnswerError` says why, and the caller goes
on without the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_ai import Agent, ModelRetry, TextOutput

from ari.agents.written_json import documents
from ari.errors import AriError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

REPAIRS = 3
"""How often an answer that cannot be used is sent back."""

Answer = TypeVar("Answer", bound=BaseModel)
T = TypeVar("T")


class NoAnswerError(AriError, RuntimeError):
    """A model gave no answer that can be used."""


def ask(
    model: Model,
    *,
    instructions: str,
    message: str,
    answer: type[Answer],
    check: Callable[[Answer], str] | None = None,
    repairs: int = REPAIRS,
) -> Answer:
    """Ask a model for an object.

    Args:
        model: Whom to ask.
        instructions: Who it is and what it does.
        message: The question.
        answer: What is wanted; superfluous keys are passed over.
        check: What the schema cannot say: a text that tells what is wrong, empty where nothing is.
        repairs: How often an unusable answer is sent back.

    Raises:
        NoAnswerError: When no answer could be used, or the model could not be asked at all.
        AriError: When a limit of the run forbids to ask.
    """

    def checked(found: Answer) -> Answer:
        fault = check(found) if check is not None else ""
        if fault:
            raise ModelRetry(fault)
        return found

    def read(text: str) -> Answer:
        written = next((found for found in documents(text) if isinstance(found, dict)), None)
        if written is None:
            keys = ", ".join(answer.model_fields)
            raise ModelRetry(f"Answer with one JSON object with the keys {keys}, and nothing else.")
        try:
            return checked(answer.model_validate(written))
        except ValidationError as error:
            raise ModelRetry(_faults(error)) from error

    agent: Agent[object, Answer] = Agent(
        model,
        instructions=instructions,
        output_type=[answer, TextOutput(read)],
        retries={"output": repairs},
    )
    agent.output_validator(checked)
    try:
        return apart(agent.run(message)).output
    except AriError:
        raise  # a limit of the run, such as its budget, is the caller's business
    except Exception as error:  # whatever a model or its client does, its advice is not needed to go on
        raise NoAnswerError(f"{type(error).__name__}: {error}") from error


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}"
        for fault in error.errors(include_url=False)[:5]
    )


def apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop is running already, as below a tool of a server."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
