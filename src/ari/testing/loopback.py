"""A model server on loopback that speaks the OpenAI wire format from a script.

With it the real client code is what is tested: streams, errors with `Retry-After`, broken connections,
silence.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from ari.testing.replies import Reply, Script, Scripted, ScriptEndedError

_PIECE = 12
"""Characters of text or arguments in one piece of a stream."""


@dataclass(frozen=True)
class Received:
    """A request that the server got.

    Attributes:
        path: Such as `/v1/chat/completions`.
        headers: Names in lower case.
        body: The JSON body; empty for GET.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All that the messages of the request say, one below the other."""
        return "\n".join(
            str(message.get("content") or "")
            + json.dumps(message.get("tool_calls") or "", ensure_ascii=False)
            for message in self.body.get("messages", [])
        )

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the request offers."""
        return tuple(tool["function"]["name"] for tool in self.body.get("tools", []))


class LoopbackServer:
    """The server; use it as a context manager, which starts it and stops it.

    It answers `POST …/chat/completions` from its script and `GET …/models` with its list of models, on
    127.0.0.1 and a free port. It ends with the process at the latest.

    Attributes:
        requests: The chat requests it got, in order of arrival.

    Args:
        replies: Replies in order, or a function from the request to a reply; it is called from threads.
        models: Ids that `GET /models` lists and that may be asked; None: the list is not offered and any id
            is answered.
        key: The key that requests must carry; empty: none is asked for.
        refuse_tools: Answer requests that offer tools with an error, as servers do that know none.
        base: Where the list of models lies, such as `/v1`; None: anywhere.
    """

    def __init__(
        self,
        replies: Iterable[Scripted] | Callable[[Received], Scripted],
        *,
        models: Sequence[str] | None = None,
        key: str = "",
        refuse_tools: bool = False,
        base: str | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.script: Script[Received] = Script(replies)
        self.models = models
        self.key = key
        self.refuse_tools = refuse_tools
        self.base = base
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL of the endpoint, such as `http://127.0.0.1:40123/v1`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def environment(self) -> dict[str, str]:
        """Variables that send every `openai/<model>` to this server."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": self.key or "loopback"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self.close()

    def close(self) -> None:
        """Give the port back; only needed for a server that was never started."""
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: LoopbackServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """A client that went away in the middle is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as in the base class
        """Nothing is printed."""

    def do_GET(self) -> None:
        owner = self.server.owner
        if not self._admitted():
            return
        base, is_list, name = self.path.partition("/models")
        elsewhere = owner.base is not None and base != owner.base
        if (
            owner.models is None
            or elsewhere
            or not is_list
            or (name and unquote(name[1:]) not in owner.models)
        ):
            self._send_error(Reply.error(404, "no such page"))
            return
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "ari"} for name in owner.models]
        single = json.dumps({"id": unquote(name[1:]), "object": "model"})
        self._send(200, single if name else json.dumps({"object": "list", "data": listed}))

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        if not self._admitted():
            return
        received = Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        owner.requests.append(received)
        if owner.models is not None and body.get("model") not in owner.models:
            missing = f"The model `{body.get('model')}` does not exist"
            self._send_error(Reply.error(404, missing), code="model_not_found")
            return
        if owner.refuse_tools and body.get("tools"):
            self._send_error(Reply.error(400, f"{body.get('model')} does not support tools"))
            return
        try:
            reply = owner.script.reply(received)
        except ScriptEndedError as error:
            reply = Reply.error(400, error.message)
        if owner.stopping.wait(reply.delay_s):
            self.close_connection = True
            return
        if reply.status != 200:
            self._send_error(reply)
        elif body.get("stream") and reply.raw is None:
            self._stream(reply, received)
        else:
            whole = reply.raw if reply.raw is not None else json.dumps(_completion(reply, received))
            self._send(200, whole, cut_after=reply.cut_after)

    def _admitted(self) -> bool:
        key = self.server.owner.key
        if not key or self.headers.get("authorization") == f"Bearer {key}":
            return True
        shown = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        self._send_error(Reply.error(401, f"Incorrect API key provided: {shown}"), code="invalid_api_key")
        return False

    def _send_error(self, reply: Reply, *, code: str | None = None) -> None:
        error = {"message": reply.text, "type": "error", "param": None, "code": code}
        headers = {"Retry-After": reply.retry_after} if reply.retry_after is not None else {}
        body = reply.raw if reply.raw is not None else json.dumps({"error": error})
        self._send(reply.status, body, headers=headers)

    def _send(
        self, status: int, body: str, *, headers: dict[str, str] | None = None, cut_after: int | None = None
    ) -> None:
        data = body.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data if cut_after is None else data[:cut_after])
        self.close_connection = True

    def _stream(self, reply: Reply, received: Received) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for number, event in enumerate(_events(reply, received)):
            if number == reply.cut_after:
                if reply.silent_cut:
                    self.wfile.write(b"0\r\n\r\n")
                return
            data = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")


def _tool_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {
                "name": call.tool,
                "arguments": call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(dict(call.arguments), ensure_ascii=False),
            },
        }
        for index, call in enumerate(reply.calls)
    ]


def _head(received: Received, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": received.body.get("model", "")}


def _usage(received: Received, reply: Reply) -> dict[str, int]:
    """Tokens as a real server would count them, roughly: four characters each."""
    asked = len(received.text) // 4 + 1
    said = len(reply.text + "".join(str(call.arguments) for call in reply.calls)) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.calls else "stop")


def _completion(reply: Reply, received: Received) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = _tool_calls(reply)
    if reply.refusal:
        message["refusal"] = reply.refusal
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    return {**_head(received, "chat.completion"), "choices": [choice], "usage": _usage(received, reply)}


def _events(reply: Reply, received: Received) -> Iterator[str]:
    """The pieces of a streamed reply, then `[DONE]`."""
    head = _head(received, "chat.completion.chunk")

    def piece(delta: dict[str, Any], reason: str | None = None) -> str:
        return json.dumps({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield piece({"role": "assistant", "content": ""})
    if reply.refusal:
        yield piece({"refusal": reply.refusal})
    for text in _pieces(reply.text):
        yield piece({"content": text})
    for index, call in enumerate(_tool_calls(reply)):
        arguments = call["function"]["arguments"]
        opening = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield piece({"tool_calls": [opening]})
        for text in _pieces(arguments):
            yield piece({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield piece({}, _reason(reply))
    yield json.dumps({**head, "choices": [], "usage": _usage(received, reply)})
    yield "[DONE]"


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
