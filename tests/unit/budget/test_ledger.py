"""The ledger: reserved before it is spent, shared by processes, equal after any kill."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from ari.budget import COST_TRACE, Ledger, Limits, Tally, read_tally
from ari.budget.ledger import Busy, Estimate, Reservation, Usage
from ari.checkpoint.shared_log import read_shared
from ari.errors import BudgetExhausted, CheckpointError
from ari.formats.cost_trace import Price, cost_problems

ASK = Estimate(100, 50)
MODEL = "openai/gpt-4o"


def ledger(folder: Path, **limits: float) -> Ledger:
    made = Ledger(folder)
    made.set_limits(Limits(**limits), {})
    return made


def reserved(book: Ledger, **more: object) -> Reservation:
    answer = book.reserve(ASK, model=MODEL, **more)
    assert isinstance(answer, Reservation)
    return answer


def spend_until_refused(folder: str, made: multiprocessing.Queue) -> None:
    book, count = Ledger(Path(folder)), 0
    try:
        while True:
            book.settle(reserved(book), Usage(10, 10))
            count += 1
    except BudgetExhausted:
        made.put(count)


def reserve_and_die(folder: str) -> None:
    reserved(Ledger(Path(folder)))
    os.kill(os.getpid(), signal.SIGKILL)


def in_process(target: object, *args: object) -> multiprocessing.Process:
    process = multiprocessing.get_context("spawn").Process(target=target, args=args)
    process.start()
    return process


def test_four_processes_together_make_exactly_the_calls_that_are_allowed(tmp_path: Path) -> None:
    ledger(tmp_path, max_calls=10)
    made = multiprocessing.get_context("spawn").Queue()
    workers = [in_process(spend_until_refused, str(tmp_path), made) for _ in range(4)]
    counts = [made.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(30)
    assert sum(counts) == 10
    tally = read_tally(tmp_path)
    assert tally is not None
    assert (tally.calls, tally.tokens, len(tally.open)) == (10, 200, 0)


def test_what_a_killed_process_reserved_stays_spent_and_the_ledger_is_read_equally(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_tokens=400)
    book.settle(reserved(book), Usage(70, 30))
    killed = in_process(reserve_and_die, str(tmp_path))
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    assert (book.tally().calls, book.tally().tokens) == (2, 250)
    assert book.tally() == Ledger(tmp_path).tally() == read_tally(tmp_path)
    reserved(book)
    with pytest.raises(BudgetExhausted, match=r"400 of 400 tokens are spent, and the next call may take 150"):
        # what this process has under way may still come back cheaper, what the dead one had may not
        book.settle(reserved_open(book), None)
        book.reserve(ASK, model=MODEL)


def reserved_open(book: Ledger) -> Reservation:
    """The reservation of this process that is not settled."""
    (name,) = [n for n, call in book.tally().open.items() if call.pid == os.getpid()]
    return Reservation(name, MODEL, book.tally().open[name].amount, 0.0)


def test_a_call_waits_for_others_that_may_give_back_what_they_reserved(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_tokens=200)
    first = reserved(book)
    assert book.reserve(ASK, model=MODEL) == Busy(
        "150 of 200 tokens are spent, and the next call may take 150"
    )
    book.settle(first, Usage(20, 5))
    assert isinstance(book.reserve(ASK, model=MODEL), Reservation)


@pytest.mark.parametrize(
    ("usage", "outcome", "counted"),
    [
        (Usage(20, 5), "answered", 25),
        (Usage(900, 100), "answered", 1000),
        (Usage(0, 0), "answered", 150),
        (Usage(-20, 5), "answered", 150),
        (Usage(20, -5), "answered", 150),
        (None, "answered", 150),
        (None, "lost", 150),
        (None, "refused", 0),
        (Usage(-1, -1), "refused", 150),
    ],
)
def test_a_report_counts_if_it_can_be_true_and_else_what_was_reserved(
    tmp_path: Path, usage: Usage | None, outcome: str, counted: int
) -> None:
    book = ledger(tmp_path)
    book.settle(reserved(book), usage, outcome=outcome)
    assert (book.tally().tokens, book.tally().calls) == (counted, 1)


def test_a_late_report_corrects_an_earlier_one(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    call = reserved(book)
    book.settle(call, None)
    assert (book.tally().tokens, len(book.tally().unreported)) == (150, 1)
    book.settle(call, Usage(20, 5))
    assert (book.tally().tokens, len(book.tally().unreported)) == (25, 0)


def test_money_is_counted_by_the_table_and_by_own_prices(tmp_path: Path) -> None:
    book = Ledger(tmp_path)
    book.set_limits(Limits(max_cost_usd=0.01), {"openai/mine": Price(input=1000, output=1000)})
    book.settle(reserved(book), Usage(1_000, 100))  # 2.5 and 10 dollars per million
    assert book.tally().cost_usd == pytest.approx(0.0035)
    with pytest.raises(
        BudgetExhausted, match=r"0\.0035 of 0\.01 US dollars are spent, and the next call may cost 0\.1500"
    ):
        book.reserve(ASK, model="openai/mine")
    assert isinstance(book.reserve(ASK, model="ollama/any"), Reservation)


def test_a_model_of_unknown_price_is_counted_without_money_and_named(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    answer = book.reserve(ASK, model="openai/never-heard-of")
    assert isinstance(answer, Reservation)
    book.settle(answer, Usage(3, 4))
    assert (book.tally().cost_usd, book.tally().tokens) == (0.0, 7)
    assert book.tally().unpriced == {"openai/never-heard-of"}


def test_wall_time_adds_up_over_the_processes_of_a_study(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_wall_s=60)
    for session, seconds in (("one", 10.0), ("one", 25.0), ("two", 30.0)):
        assert book.note_time(session, seconds).shortage() is None
    assert book.note_time("two", 36.0).shortage() == "61 of 60 s of wall time are spent"
    with pytest.raises(BudgetExhausted):
        book.reserve(ASK, model=MODEL)


def test_limits_can_be_raised_and_the_latest_hold(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_calls=1)
    reserved(book)
    with pytest.raises(BudgetExhausted, match="1 of 1 calls are spent"):
        reserved(book)
    book.set_limits(Limits(max_calls=2), {})
    reserved(book)
    assert [entry["event"] for entry in read_shared(tmp_path / COST_TRACE)] == [
        "limits", "reserved", "limits", "reserved",
    ]  # fmt: skip


def test_limits_that_have_not_changed_are_not_written_again(tmp_path: Path) -> None:
    ledger(tmp_path, max_calls=1)
    ledger(tmp_path, max_calls=1)
    assert len(read_shared(tmp_path / COST_TRACE)) == 1


@pytest.mark.parametrize(
    "torn", [b'{"event": "settl', b"\0\0\0", b'{"ts": "t", "event": "time", "session": "s", "seconds": 4}']
)
def test_what_a_killed_writer_left_at_the_end_is_cut_away_or_completed(tmp_path: Path, torn: bytes) -> None:
    book = ledger(tmp_path)
    reserved(book)
    path = tmp_path / COST_TRACE
    path.write_bytes(path.read_bytes() + torn)
    seconds = 4 if torn.endswith(b"}") else 0
    assert read_tally(tmp_path).wall_s == seconds
    reserved(Ledger(tmp_path))
    assert book.tally().calls == 2
    assert book.tally().wall_s == seconds
    assert all(not cost_problems(entry) for entry in read_shared(path))


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_calls=5)
    path = tmp_path / COST_TRACE
    path.write_bytes(path.read_bytes() + b"not json\n")
    reason = "cost_trace.jsonl, line 2: not a record"
    with pytest.raises(CheckpointError, match=reason):
        read_tally(tmp_path)
    with pytest.raises(CheckpointError, match=reason):
        reserved(book)


def test_a_ledger_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_calls=5)
    reserved(book)
    path = tmp_path / COST_TRACE
    kept = path.read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "other").write_bytes(kept)
    (tmp_path / "other").replace(path)
    assert book.tally().calls == 0


def test_calls_that_another_program_noted_count(tmp_path: Path) -> None:
    line = {"timestamp": "2026-11-30T20:55:19Z", "model": "m", "total_tokens": 15, "estimated_cost_usd": 0.5}
    (tmp_path / COST_TRACE).write_text(json.dumps(line) + "\n")
    tally = read_tally(tmp_path)
    assert (tally.calls, tally.tokens, tally.cost_usd) == (1, 15, 0.5)
    assert cost_problems(line) == []


def test_a_study_without_a_ledger_has_no_sums(tmp_path: Path) -> None:
    assert read_tally(tmp_path) is None
    assert Tally().shortage() is None


@pytest.mark.parametrize(
    ("entry", "code", "where"),
    [
        ([], "schema.type", ""),
        ({"ts": "t", "event": "spent"}, "schema.enum", "/event"),
        ({"ts": "t", "event": "settled", "id": "a"}, "schema.required", "/total_tokens"),
        ({"ts": "t", "event": "settled", "id": "a", "total_tokens": -1}, "schema.type", "/total_tokens"),
        (
            {"ts": "t", "event": "settled", "id": "a", "total_tokens": 1, "outcome": "x"},
            "schema.enum",
            "/outcome",
        ),
        ({"total_tokens": 1}, "schema.required", "/timestamp"),
    ],
)
def test_faults_of_an_entry_are_named(entry: object, code: str, where: str) -> None:
    assert [(p.code, p.where) for p in cost_problems(entry)] == [(code, where)]


def test_sub_experiments_spend_from_the_same_budget(tmp_path: Path) -> None:
    book = ledger(tmp_path, max_calls=10, max_tokens=1000)
    book.settle(reserved(book), Usage(90, 10))
    assert book.tally().allowance("child") == {"max_calls": 9, "max_tokens": 900}
    (tmp_path / "child").mkdir()
    child = ledger(tmp_path / "child", **book.tally().allowance("child"))
    for spent in (200, 300):  # noted twice, as after a kill: the latest counts
        child.settle(reserved(child), Usage(spent, 0))
        book.note_child("child", child.tally())
    assert (book.tally().calls, book.tally().tokens) == (3, 600)
    assert book.tally().allowance("child") == {"max_calls": 9, "max_tokens": 900}
    assert book.tally().allowance("another") == {"max_calls": 7, "max_tokens": 400}
    assert book.tally() == read_tally(tmp_path)
    assert all(not cost_problems(entry) for entry in read_shared(tmp_path / COST_TRACE))
