"""Asking a service over HTTP: at its pace, patiently, and never twice for the same thing.

Promises:

- Every answer is kept on disk before it is handed on. A question that was asked before is answered from
  there, without the network; offline it is the only way. The cache is bounded (the oldest answers go first).
- Requests to one service are spaced, across all processes that share the cache.
- Busy or failing services (429, 5xx, no connection) are asked again a few times: after the time that they
  name (`Retry-After`), else after 1, 2, 4 … seconds. Then the error says what happened.
- Redirections are not followed, answers are bounded in size.
- Keys are sent in headers only: they are in no file, no message and no key of the cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, ValidationError

from ari.checkpoint.files import atomic_write
from ari.checkpoint.store import utc_now
from ari.errors import LiteratureError
from ari.formats.jsonio import strict_dumps

MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_CACHE_BYTES = 64 * 1024 * 1024
TIMEOUT_S = 20.0
ATTEMPTS = 5
MAX_WAIT_S = 60.0
"""A service that asks for more patience is not waited for."""

_AGAIN = frozenset({429, 500, 502, 503, 504})
_KEPT = frozenset({200, 404})


class Question(NamedTuple):
    """What is asked.

    Attributes:
        service: Name of the service.
        path: Path at the service, quoted.
        parameters: Of the query.
    """

    service: str
    path: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Path and query, without the service's address."""
        return f"{self.path}?{urlencode(self.parameters)}" if self.parameters else self.path


class Answer(BaseModel):
    """What came back, as the cache keeps it."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    service: str
    question: str
    fetched_at: str
    status: int
    body: str


@dataclass(frozen=True)
class Service:
    """Where and how a service is asked.

    Attributes:
        url: Its address.
        interval_s: Seconds between two requests.
        headers: Sent with each; may hold a key.
    """

    url: str
    interval_s: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Cache:
    """Answers on disk.

    Args:
        folder: Where; made when the first answer is kept.
        limit_bytes: Size of all answers together.
    """

    def __init__(self, folder: Path, *, limit_bytes: int = MAX_CACHE_BYTES) -> None:
        self.folder = folder
        self._limit = limit_bytes

    def get(self, question: Question) -> Answer | None:
        """The answer to a question; None when it was not asked before, or the file is damaged."""
        try:
            return Answer.model_validate_json(self._file(question).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def put(self, question: Question, answer: Answer) -> None:
        """Keep an answer."""
        file = self._file(question)
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, strict_dumps(answer.model_dump(mode="json"), indent=True))
        self._shrink(file)

    def _file(self, question: Question) -> Path:
        digest = hashlib.sha256(f"{question.service}\n{question.text}".encode()).hexdigest()
        return self.folder / question.service / f"{digest}.json"

    def _shrink(self, newest: Path) -> None:
        files = [(file.stat(), file) for file in self.folder.glob("*/*.json")]
        size = sum(stat.st_size for stat, _ in files)
        for stat, file in sorted(files, key=lambda item: item[0].st_mtime_ns):
            if size <= self._limit:
                return
            if file != newest:
                file.unlink(missing_ok=True)
                size -= stat.st_size


class Fetcher:
    """Asks services.

    Args:
        services: By name.
        cache: Where answers are kept.
        online: Whether the network may be used.
        sleep: How to wait; told seconds.
    """

    def __init__(
        self,
        services: Mapping[str, Service],
        cache: Cache,
        *,
        online: bool,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.services = services
        self.cache = cache
        self.online = online
        self._sleep = sleep

    def ask(self, question: Question, *, refresh: bool = False) -> Answer:
        """Answer a question from the cache, else from the service.

        Args:
            question: The question.
            refresh: Ask the service even if the answer is known.

        Raises:
            LiteratureError: When the service cannot be asked, or does not answer.
        """
        known = None if refresh and self.online else self.cache.get(question)
        if known is not None:
            return known
        if not self.online:
            raise LiteratureError(
                f"{question.service} is not asked: the web is off, and this question was not asked before",
                cure="Set ARI_WEB=1, or `web` in settings.json.",
            )
        answer = self._from_service(question)
        self.cache.put(question, answer)
        return answer

    def _from_service(self, question: Question) -> Answer:
        import httpx2

        service = self.services[question.service]
        trouble = ""
        with httpx2.Client(
            timeout=TIMEOUT_S, follow_redirects=False, headers=dict(service.headers)
        ) as client:
            for attempt in range(ATTEMPTS):
                self._keep_pace(question.service, service.interval_s)
                try:
                    status, headers, body = _get(client, f"{service.url.rstrip('/')}{question.text}")
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    trouble, wait = f"{type(error).__name__}: {error}", 2.0**attempt
                else:
                    if status in _KEPT:
                        return _answer(question, status, body)
                    trouble, wait = f"status {status}", _patience(headers, attempt)
                    if status not in _AGAIN:
                        break
                if wait > MAX_WAIT_S:
                    trouble += f"; it asks to be left alone for {wait:g} s"
                    break
                if attempt + 1 < ATTEMPTS:
                    self._sleep(wait)
        raise LiteratureError(
            f"{question.service} ({service.url}) does not answer {question.text[:200]}: {trouble}",
            cure="Try again later; what was answered before is kept.",
        )

    def _keep_pace(self, name: str, interval_s: float) -> None:
        """Reserve the next moment at which the service may be asked, and wait for it."""
        file = self.cache.folder / f".{name}.pace"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+", encoding="ascii") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.seek(0)
            now = time.time()
            free = _number(stream.read())
            start = min(
                max(free, now), now + MAX_WAIT_S
            )  # a clock that was set back holds nobody up for long
            stream.seek(0)
            stream.truncate()
            stream.write(f"{start + interval_s:.6f}")
        if start > now:
            self._sleep(start - now)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _get(client: Any, url: str) -> tuple[int, Mapping[str, str], bytes]:  # noqa: ANN401 - an httpx2.Client
    with client.stream("GET", url) as response:
        body = b""
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise LiteratureError(
                    f"{url.partition('?')[0]}: the answer is larger than {MAX_ANSWER_BYTES} bytes"
                )
        return response.status_code, response.headers, body


def _answer(question: Question, status: int, body: bytes) -> Answer:
    return Answer(
        service=question.service,
        question=question.text,
        fetched_at=utc_now(),
        status=status,
        body=body.decode("utf-8", "replace"),
    )


def _patience(headers: Mapping[str, str], attempt: int) -> float:
    """Seconds to wait: what the service says, else twice as long each time."""
    said = headers.get("retry-after", "").strip()
    if said.isdigit():
        return float(said)
    if said:
        try:
            return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
        except ValueError:
            pass  # no date either: as if nothing had been said
    return 2.0**attempt


def default_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where answers are kept outside a study: the user's cache directory."""
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or ".") / ".cache"
    return Path(base) / "ari" / "web"
