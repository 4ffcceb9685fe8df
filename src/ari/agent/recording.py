"""Recording what models answer, and answering from recordings.

A recorded model is a function of its recordings: an answer that stands in them is given again, and only what
does not is asked for, and then recorded. So a node that is run again after a kill pays for nothing twice, and
`ari replay` gets the same answers with no model at all.

Two requests are the same when model, settings, tools and messages agree, dates and generated ids aside, in
conversations of the same purpose. Where one conversation asks the same thing twice, the first and the second
time have answers of their own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings

import ari.errors
from ari.checkpoint.shared_log import Place, open_shared, read_shared
from ari.checkpoint.store import utc_now
from ari.errors import AriError, ReplayError
from ari.formats.exchanges import Client, Exchange, ExchangeError, RequestHashes
from ari.formats.settings import without_secret_texts

EXCHANGES = "exchanges.jsonl"
STUDY = "study"
"""Folder below `records/` for calls that belong to no node."""

_NODE_PURPOSE = re.compile(r"node (\S+)")
_PART_KEYS = ("part_kind", "content", "tool_name", "args", "outcome")
_NOT_RECORDED = frozenset({"extra_headers", "extra_body", "timeout"})
"""Settings of a request that may hold secrets or do not change what is asked."""


def node_of(purpose: str) -> str | None:
    """The node that a purpose names (`node node_0003`); None for calls of the study itself."""
    match = _NODE_PURPOSE.match(purpose)
    return match[1] if match else None


def exchanges_path(checkpoint: Path, purpose: str) -> Path:
    """Where exchanges of that purpose are recorded."""
    return checkpoint / "records" / (node_of(purpose) or STUDY) / EXCHANGES


@dataclass(frozen=True)
class Asked:
    """A request in the form in which requests are compared.

    Attributes:
        hashes: Of its parts.
        kinds: What each message is, for people.
    """

    hashes: RequestHashes
    kinds: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Of the whole request."""
        return _hash(self.hashes.to_dict())


class Conversation:
    """The exchanges of one purpose, as one model object has them.

    Args:
        path: Where they are recorded.
        name: The model as the settings name it.
        purpose: What is asked for.
        folders: Checkpoints whose paths all count as the same text.
    """

    def __init__(self, path: Path, *, name: str, purpose: str, folders: Sequence[Path]) -> None:
        self.path = path
        self.name = name
        self.purpose = purpose
        self._folders = sorted({str(folder.absolute()) for folder in folders}, key=len, reverse=True)
        self._place = Place()
        self._known: dict[tuple[str, int], Exchange] = {}
        self._failed: dict[tuple[str, int], Exchange] = {}
        self.by_ordinal: dict[int, Exchange] = {}
        self._seen: Counter[str] = Counter()
        self._ordinal = 0

    def next(self, asked: Asked) -> tuple[int, int]:
        """Count a request: its place in the conversation, and how many equal ones came before it."""
        ordinal, occurrence = self._ordinal, self._seen[asked.sha256]
        self._ordinal += 1
        self._seen[asked.sha256] += 1
        return ordinal, occurrence

    def read(self) -> None:
        """Take in what is recorded, changing nothing."""
        self._take_in(read_shared(self.path))

    def answered(self, asked: Asked, occurrence: int) -> Exchange | None:
        """The recorded answer to a request, if it was answered."""
        with open_shared(self.path, self._place) as log:
            self._take_in(log.fresh)
        return self._known.get((asked.sha256, occurrence))

    def ended(self, asked: Asked, occurrence: int) -> Exchange | None:
        """The recorded end of a request: its answer, else its error."""
        key = (asked.sha256, occurrence)
        return self._known.get(key) or self._failed.get(key)

    def record(self, exchange: Exchange) -> Exchange:
        """Append an exchange; returns it as it will be read."""
        document = without_secret_texts(exchange.to_dict())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open_shared(self.path, self._place) as log:
            self._take_in(log.fresh)
            log.append(document, sync=True)
        self._take_in([document])
        return Exchange.from_document(document, source=str(self.path))

    def _take_in(self, documents: Sequence[Mapping[str, Any]]) -> None:
        for document in documents:
            exchange = Exchange.from_document(document, source=str(self.path))
            if exchange.phase != self.purpose:
                continue
            key = (exchange.sha256, exchange.occurrence)
            (self._known if exchange.reply is not None else self._failed)[key] = exchange
            self.by_ordinal[exchange.ordinal] = exchange

    def ask(
        self,
        messages: Sequence[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> Asked:
        """Bring a request into the form in which requests are compared."""
        documents = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        kept = {key: value for key, value in (settings or {}).items() if key not in _NOT_RECORDED}
        tools = [
            [tool.name, tool.description, tool.parameters_json_schema]
            for tool in (*parameters.function_tools, *parameters.output_tools)
        ]
        return Asked(
            RequestHashes(
                model=self.name,
                settings=_hash(kept),
                tools=_hash([tools, parameters.output_mode, parameters.allow_text_output]),
                messages=[_hash(self._moved(_stable_message(document))) for document in documents],
            ),
            tuple(_kind(document) for document in documents),
        )

    def _moved(self, value: Any) -> str:  # noqa: ANN401 - any JSON value
        """The same wherever the checkpoint lies."""
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
        for folder in self._folders:
            text = text.replace(json.dumps(folder, ensure_ascii=False)[1:-1], "<checkpoint>")
        return text


class Recorded(WrapperModel):
    """Answers from the recordings where they can, else asks the wrapped model and records what comes.

    Args:
        wrapped: The model to ask; whatever tries again is inside it, for only its last word is recorded.
        conversation: Where exchanges are recorded.

    Attributes:
        ended_by: What made it refuse a request, such as a budget that is spent.
    """

    def __init__(self, wrapped: Model, conversation: Conversation) -> None:
        super().__init__(wrapped)
        self.ended_by: AriError | None = None
        self._conversation = conversation

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer one request; what is returned is what stands in the recording."""
        conversation = self._conversation
        asked = conversation.ask(messages, model_settings, model_request_parameters)
        ordinal, occurrence = conversation.next(asked)
        known = conversation.answered(asked, occurrence) if conversation.path.exists() else None
        if known is not None:
            return reply_of(known)
        exchange = Exchange(
            ts=utc_now(),
            phase=conversation.purpose,
            ordinal=ordinal,
            occurrence=occurrence,
            sha256=asked.sha256,
            request=asked.hashes,
        )
        if ordinal == 0:
            exchange.client = _client_of(self.wrapped)
        try:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        except (AgentRunError, AriError) as error:
            exchange.ts, exchange.error = utc_now(), _error_document(error)
            conversation.record(exchange)
            self.ended_by = error if isinstance(error, AriError) else None
            raise
        exchange.ts = utc_now()
        exchange.reply = ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]
        return reply_of(conversation.record(exchange))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Answer one request as a stream that has already ended: only a whole answer is recorded."""
        del run_context
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(
            response, model_request_parameters=model_request_parameters, replay_events=True
        )


class Replayed(Model):
    """Answers from recordings alone, and refuses what is not in them.

    Args:
        conversation: The recordings.

    Attributes:
        ended_by: What made it refuse a request, as in `Recorded`.

    Raises:
        ReplayError: When there are no recordings.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.ended_by: AriError | None = None
        conversation.read()
        first = conversation.by_ordinal.get(0)
        if first is None or first.client is None:
            raise ReplayError(
                f"{conversation.purpose or 'the study'}: no exchange with {conversation.name} is recorded "
                f"in {conversation.path}",
                cure="Only a study whose calls were recorded can be replayed; run it again with the model.",
            )
        self._client = first.client
        super().__init__(profile=_profile(first.client))

    @property
    def model_name(self) -> str:
        """The recorded model's name."""
        return self._client.model_name

    @property
    def system(self) -> str:
        """The recorded model's provider."""
        return self._client.system

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Give the recorded answer.

        Raises:
            ReplayError: When the request is not recorded; names its first part that differs.
        """
        asked = self._conversation.ask(messages, model_settings, model_request_parameters)
        ordinal, occurrence = self._conversation.next(asked)
        exchange = self._conversation.ended(asked, occurrence)
        if exchange is not None and exchange.error is None:
            return reply_of(exchange)
        error = (
            self._refusal(asked, ordinal)
            if exchange is None or exchange.error is None
            else _revive(exchange.error, self._conversation.name)
        )
        self.ended_by = error if isinstance(error, AriError) else None
        raise error

    def _refusal(self, asked: Asked, ordinal: int) -> ReplayError:
        conversation = self._conversation
        recorded = conversation.by_ordinal.get(ordinal)
        where = f"{conversation.purpose}, request {ordinal + 1}"
        if recorded is None:
            count = len(conversation.by_ordinal)
            return ReplayError(f"{where}: the recording ends after {count} requests ({conversation.path})")
        part = first_difference(asked, recorded.request) or "the number of equal requests before it"
        return ReplayError(
            f"{where}: it differs from the recorded one in {part} ({conversation.path})",
            cure="The study was recorded with another program, or its files have been changed.",
        )


def ended_by(model: Model) -> AriError | None:
    """What made a recorded or replayed model refuse its last request; None when it refused nothing."""
    return model.ended_by if isinstance(model, (Recorded, Replayed)) else None


def first_difference(asked: Asked, recorded: RequestHashes) -> str | None:
    """Name the first part in which a request differs from a recorded one; None when it does not."""
    hashes = asked.hashes
    if hashes.model != recorded.model:
        return f"the model ({recorded.model} recorded, {hashes.model} asked)"
    for name in ("settings", "tools"):
        if getattr(hashes, name) != getattr(recorded, name):
            return f"the {name}"
    pairs = zip(hashes.messages, recorded.messages, strict=False)
    for number, (mine, theirs) in enumerate(pairs, start=1):
        if mine != theirs:
            return f"message {number} ({asked.kinds[number - 1]})"
    if len(hashes.messages) != len(recorded.messages):
        return f"the number of messages ({len(recorded.messages)} recorded, {len(hashes.messages)} asked)"
    return None


def reply_of(exchange: Exchange) -> ModelResponse:
    """The answer of an exchange as the agent library has it."""
    (response,) = ModelMessagesTypeAdapter.validate_python([exchange.reply])
    assert isinstance(response, ModelResponse)
    return response


def _stable_message(document: Mapping[str, Any]) -> dict[str, Any]:
    """A message without dates, ids and accounts."""
    return {
        "kind": document["kind"],
        "instructions": document.get("instructions"),
        "parts": [_stable_part(part) for part in document["parts"]],
    }


def _stable_part(part: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: part[key] for key in _PART_KEYS if part.get(key) is not None}
    if isinstance(kept.get("args"), str):
        try:
            kept["args"] = json.loads(kept["args"])
        except ValueError:
            return kept  # arguments that are no JSON are compared as the text they are
    return kept


def _kind(document: Mapping[str, Any]) -> str:
    names = [
        f"{part['part_kind']} {part['tool_name']}" if part.get("tool_name") else str(part["part_kind"])
        for part in document["parts"]
    ]
    return ", ".join(names) or str(document["kind"])


def _hash(value: Any) -> str:  # noqa: ANN401 - any JSON value
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _client_of(model: Model) -> Client:
    profile = {key: value for key, value in model.profile.items() if isinstance(value, (bool, int, str))}
    return Client(model_name=model.model_name, system=model.system, profile=profile)


def _profile(client: Client) -> ModelProfile:
    kept = {key: value for key, value in client.profile.items() if key in ModelProfile.__annotations__}
    return cast(ModelProfile, kept)


def _error_document(error: AgentRunError | AriError) -> ExchangeError:
    if isinstance(error, AriError):
        return ExchangeError(kind=type(error).__name__, message=error.message, cure=error.cure)
    document = ExchangeError(kind=type(error).__name__, message=str(error))
    if isinstance(error, ModelHTTPError):
        document.status = error.status_code
        document.body = json.loads(json.dumps(error.body, default=str))
    return document


def _revive(error: ExchangeError, model: str) -> Exception:
    """The recorded error, with its words, and of its kind where somebody acts on that."""
    own = getattr(ari.errors, error.kind, None)
    if isinstance(own, type) and issubclass(own, AriError):
        return own(error.message, cure=error.cure)
    revived = AgentRunError(error.message)
    if error.kind == "ModelHTTPError" and error.status is not None:
        revived = ModelHTTPError(error.status, model, error.body)
        revived.message = error.message
    return revived
