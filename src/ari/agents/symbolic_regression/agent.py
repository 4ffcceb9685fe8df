"""The search itself: restarts, conversations, steps, samples.

Promises: it asks at most `shape.requests` times; a reply that cannot be used, or a request that fails, costs
a step and never the search; with the same replies it gives the same result; an exact formula ends it at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ari.agents.symbolic_regression import briefing
from ari.agents.symbolic_regression.pool import CandidatePool, Measured
from ari.agents.symbolic_regression.replies import Call, Reply, read_reply
from ari.agents.symbolic_regression.shape import Shape
from ari.agents.symbolic_regression.toolbox import Toolbox
from ari.errors import AriError
from ari.formats.jsonio import strict_dumps
from sr_harness.search import Budget, discover

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ari.agents.symbolic_regression.workbench import Workbench
    from sr_harness.search import Candidate, ParetoFront

StopReason = Literal["exact", "finished", "time", "model", "refused"]

START, BASELINE, PORTFOLIO = "start", "baseline", "portfolio"
"""Origins of formulas that the model did not propose; its own are called after their place, 1.2.4.1."""

BASELINES = ("constant", "linear", "power_law")
BASELINE_WORK = 2_000
"""Simple families are fitted first: a model need not be asked for what they explain."""

MOST_CALLS = 8
MOST_FORMULAS = 24
"""Tool calls and formulas of one reply that are taken up."""

MOST_FAILURES = 3
"""Requests that fail one after another before the model counts as gone."""

KNOWN_SHOWN = 5
TEMPERATURE = 0.8
"""Where several replies to one message are wanted they should differ."""


@dataclass(frozen=True)
class AgentResult:
    """What the agent found.

    Attributes:
        best: The formula to believe; None only where nothing at all is finite on the data.
        front: The front of all restarts.
        proposals: Formulas that the model proposed, and how many of them could be measured.
        measured: How many of them could be measured.
        requests: Requests made.
        failures: Replies that held nothing of use, and requests that failed.
        stop_reason: `exact`; `finished`: all was asked that may be; `time`; `model`: the model no longer
            answers; `refused`: a limit of the run forbade the next request.
        notes: What a reader should know, one sentence each.
    """

    best: Candidate | None
    front: ParetoFront
    proposals: int
    measured: int
    requests: int
    failures: int
    stop_reason: StopReason
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """Where the search stands, for whoever watches.

    Attributes:
        restart: From 1, like the other three.
        conversation: Of the restart.
        step: Of the conversation.
        sample: Of the step.
        best: The best formula of all restarts.
        formulas: Different formulas so far.
    """

    restart: int
    conversation: int
    step: int
    sample: int
    best: Candidate | None
    formulas: int


class _Stop(Exception):  # noqa: N818 - control flow: the search ends here
    def __init__(self, reason: StopReason, note: str = "") -> None:
        self.reason: StopReason = reason
        self.note = note
        super().__init__(reason)


@dataclass
class _Sample:
    """A reply with everything that came of it."""

    response: ModelResponse
    measured: list[Measured]
    native: list[tuple[Call, dict[str, Any]]]
    written: list[tuple[str, dict[str, Any]]]

    @property
    def length(self) -> float:
        """Shortest description among its formulas."""
        lengths = [item.candidate.length for item in self.measured if item.candidate is not None]
        return min(lengths, default=float("inf"))


@dataclass
class _Search:
    """The state of one search."""

    model: Model
    bench: Workbench
    shape: Shape
    seed: int
    question: str
    instructions: str
    work: int
    deadline: float | None
    on_progress: Callable[[Progress], None] | None
    on_record: Callable[[str, str], None] | None
    pool: CandidatePool = field(init=False)
    tools: Toolbox = field(init=False)
    place: tuple[int, int, int, int] = (1, 1, 1, 1)
    requests: int = 0
    failures: int = 0
    proposals: int = 0
    measured: int = 0
    gone: int = 0
    offers_tools: bool = True

    def __post_init__(self) -> None:
        context = self.bench.tools
        self.pool = CandidatePool(self.bench.problem, seed=self.seed, hidden=context.context.data)
        self.tools = Toolbox(context, work=self.work)

    async def run(self, start: Sequence[str]) -> StopReason:
        """Baselines and start formulas, then the restarts."""
        found = briefing.diagnostics(self.tools)
        known = [*self._baselines(), *(self._offer(text, START) for text in start)]
        for restart in range(1, self.shape.restarts + 1):
            mine = [item for item in known if item.candidate is not None]
            for conversation in range(1, self.shape.conversations + 1):
                mine += await self._converse(restart, conversation, found, mine)
        return "finished"

    def _baselines(self) -> list[Measured]:
        budget = Budget(min(self.work, BASELINE_WORK))
        tried = discover(self.bench.problem, budget=budget, seed=self.seed, strategies=list(BASELINES))
        return [self._offer(candidate.formula(), BASELINE) for candidate in tried.front.candidates]

    async def _converse(
        self, restart: int, conversation: int, found: Mapping[str, Any], known: Sequence[Measured]
    ) -> list[Measured]:
        """One conversation; the formulas that it brought."""
        message = briefing.first_message(
            target=self.bench.problem.target_name,
            question=self.question,
            found=found,
            known=[item.row() for item in _ranked(known)[:KNOWN_SHOWN]],
            work=self.work,
        )
        self._record("user", message)
        messages: list[ModelMessage] = [
            ModelRequest(parts=[UserPromptPart(message)], instructions=self.instructions)
        ]
        brought: list[Measured] = []
        for step in range(1, self.shape.depth + 1):
            samples = []
            for number in range(1, self.shape.samples + 1):
                self.place = (restart, conversation, step, number)
                sample = await self._sample(messages)
                if sample is not None:
                    samples.append(sample)
                    brought += sample.measured
                self._report()
            left = self.shape.depth - step
            best = next(iter(_ranked([*known, *brought])), None)
            _go_on(messages, samples, None if best is None else best.row(), left, self._record)
        return [item for item in brought if item.candidate is not None]

    async def _sample(self, messages: list[ModelMessage]) -> _Sample | None:
        """Ask once, and measure what comes; None where nothing came."""
        response = await self._ask(messages)
        if response is None:
            return None
        reply = read_reply(response, {*self.tools.names, "submit_formula"})
        sample = _Sample(response, [], [], [])
        self._record("assistant", _shown(response))
        texts = [*reply.formulas, *_formulas_in([call.arguments for call in reply.calls])]
        texts += [text for text in reply.mentions if self.pool.looks_like_one(text)]
        for call, result in self._called(reply):
            if call.id is None:
                sample.written.append((call.tool, result))
            else:
                sample.native.append((call, result))
            self._record("tool", strict_dumps(result).decode())
            texts += _formulas_in(result)
        for text in list(dict.fromkeys(texts))[:MOST_FORMULAS]:
            sample.measured.append(self._offer(text, ".".join(map(str, self.place)), proposed=True))
        if not any(item.candidate for item in sample.measured):
            self.failures += 1
        return sample

    def _called(self, reply: Reply) -> Iterator[tuple[Call, dict[str, Any]]]:
        """The calls of a reply with their answers; every native call gets one."""
        for number, call in enumerate(reply.calls):
            if number >= MOST_CALLS:
                yield call, {"error": f"at most {MOST_CALLS} calls of one reply are served"}
            elif call.fault:
                yield call, {"error": call.fault}
            elif call.tool == "submit_formula":
                yield call, {"noted": "every formula is measured; the best one is handed in at the end"}
            else:
                yield call, self.tools.call(call.tool, call.arguments)

    async def _ask(self, messages: list[ModelMessage]) -> ModelResponse | None:
        """Make one request; None where it failed.

        Raises:
            _Stop: When no further request makes sense.
            AriError: When a limit of the run forbids it before the model has proposed anything.
        """
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise _Stop("time", "the time was up before all was asked")
        self.requests += 1
        offered = self.tools.definitions() if self.offers_tools else []
        parameters = ModelRequestParameters(function_tools=offered)
        try:
            response = await model_request(
                self.model, messages, model_settings=self._settings(), model_request_parameters=parameters
            )
        except AriError as error:  # a limit of the run, such as its budget: the next request meets it, too
            if not self.measured:
                raise  # nothing has come of the model yet: whoever set the limit may want to go on later
            raise _Stop("refused", error.message) from error
        except Exception as error:  # whatever a provider or its client raises costs a step
            self.failures += 1
            self.gone += 1
            if isinstance(error, ModelHTTPError) and "tool" in str(error).lower():
                self.offers_tools = False  # a server that knows no tools; calls in text are understood
            self._record("assistant", f"(the request failed: {type(error).__name__}: {error})")
            if self.gone >= MOST_FAILURES:
                raise _Stop(
                    "model", f"{self.gone} requests in a row failed, the last with: {error}"
                ) from error
            return None
        self.gone = 0
        return response

    def _settings(self) -> ModelSettings:
        """Settings of a request: replies to one message have seeds of their own."""
        restart, conversation, step, number = self.place
        seed = self.seed * 10_007 + ((restart * 101 + conversation) * 101 + step) * 101 + number
        settings = ModelSettings(seed=seed % 2**31)
        if self.shape.samples > 1:
            settings["temperature"] = TEMPERATURE
        return settings

    def _offer(self, text: str, origin: str, *, proposed: bool = False) -> Measured:
        """Measure a formula.

        Raises:
            _Stop: When it is exact.
        """
        item = self.pool.offer(text, origin)
        self.proposals += proposed
        self.measured += proposed and item.candidate is not None
        if item.candidate is not None and item.candidate.exact:
            raise _Stop("exact")
        return item

    def _report(self) -> None:
        if self.on_progress is not None:
            self.on_progress(Progress(*self.place, self.pool.best, self.pool.size))

    def _record(self, role: str, content: str) -> None:
        if self.on_record is not None:
            self.on_record(role, content)


async def find_formula(
    bench: Workbench,
    model: Model,
    *,
    shape: Shape | None = None,
    seed: int = 0,
    question: str = "",
    instructions: str = "",
    start: Sequence[str] = (),
    work: int = 60_000,
    seconds: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_record: Callable[[str, str], None] | None = None,
) -> AgentResult:
    """Search for a formula with a model.

    Args:
        bench: The data.
        model: Who proposes; the offline researcher answers with the portfolio.
        shape: How often it may be asked.
        seed: Seed of fits, tools and, where the provider knows such a thing, of replies.
        question: What is wanted or to be tried, in words.
        instructions: The standing instructions; empty: those that come with the program.
        start: Formulas known before; they compete like any other.
        work: Model evaluations that the tool calls of the search may spend together.
        seconds: No request is begun after so long; None for no limit.
        on_progress: Told after each reply.
        on_record: Told of each message: role and content.

    Raises:
        ToolError: When the data do not make a problem.
        AriError: When a limit of the run, such as its budget, forbids to ask before anything was proposed.
    """
    shape = shape or Shape()
    deadline = None if seconds is None else time.monotonic() + seconds
    share = work // shape.requests
    told = instructions or briefing.instructions()
    search = _Search(
        model, bench, shape, seed, question, told, max(1, share), deadline, on_progress, on_record
    )
    notes: list[str] = []
    try:
        reason = await search.run(start)
    except _Stop as stop:
        reason = stop.reason
        notes += [stop.note] if stop.note else []
    if reason == "model" and not search.measured:
        notes.append("the model proposed nothing, so the portfolio searched in its place")
        reason = _portfolio(search, work, notes) or reason
    return AgentResult(
        search.pool.best,
        search.pool.front,
        search.proposals,
        search.measured,
        search.requests,
        search.failures,
        reason,
        tuple(notes),
    )


def _portfolio(search: _Search, work: int, notes: list[str]) -> StopReason | None:
    """What the search without a model finds, into the same pool; `exact` where it finds that."""
    seconds = None if search.deadline is None else max(1.0, search.deadline - time.monotonic())
    found = discover(search.bench.problem, budget=Budget(work, seconds), seed=search.seed)
    try:
        for candidate in found.front.candidates:
            search._offer(candidate.formula(), PORTFOLIO)
    except _Stop:
        return "exact"
    return None


def _ranked(items: Sequence[Measured]) -> list[Measured]:
    """The measured ones without repeats, the shortest description first."""
    unique: dict[str, Measured] = {}
    for item in items:
        if item.candidate is not None:
            unique.setdefault(item.candidate.formula(), item)
    return sorted(unique.values(), key=lambda item: item.candidate.length if item.candidate else 0.0)


def _formulas_in(document: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every formula that a call's arguments or a tool's answer names."""
    waiting = [document]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            for key, value in item.items():
                if key in ("formula", "a", "b") and isinstance(value, str):
                    yield value
                elif key in ("formulas", "start"):
                    listed = value.values() if isinstance(value, dict) else value
                    yield from (text for text in listed or () if isinstance(text, str))
                elif isinstance(value, (dict, list)):
                    waiting.append(value)


def _go_on(
    messages: list[ModelMessage],
    samples: Sequence[_Sample],
    best: Mapping[str, Any] | None,
    left: int,
    record: Callable[[str, str], None],
) -> None:
    """Take the best reply of a step up into the conversation, with what it measured."""
    chosen = min(samples, key=lambda sample: sample.length, default=None)
    if chosen is None or not _shown(chosen.response).strip():
        text = briefing.answer([], [], best, left)
        last = messages[-1]
        parts = [*last.parts, UserPromptPart(text)]
        messages[-1] = replace(last, parts=parts)  # type: ignore[arg-type] # the last message is ours
    else:
        text = briefing.answer(chosen.measured, chosen.written, best, left)
        returns = [
            ToolReturnPart(call.tool, result, tool_call_id=call.id or "") for call, result in chosen.native
        ]
        messages += [
            chosen.response,
            ModelRequest(parts=[*returns, UserPromptPart(text)], instructions=_instructions_of(messages)),
        ]
    record("user", text)


def _shown(response: ModelResponse) -> str:
    """A reply as text: what it says, and its calls."""
    lines = []
    for part in response.parts:
        if part.part_kind == "text":
            lines.append(part.content)
        elif part.part_kind == "tool-call":
            lines.append(f"{part.tool_name}({part.args_as_json_str()})")
    return "\n".join(lines)


def _instructions_of(messages: Sequence[ModelMessage]) -> str | None:
    """The standing instructions that a conversation began with."""
    first = messages[0]
    return first.instructions if isinstance(first, ModelRequest) else None
