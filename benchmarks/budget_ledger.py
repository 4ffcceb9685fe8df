"""How long a ledger of 3,000 entries takes: to write, to read, to validate.

python benchmarks/budget_ledger.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from ari.budget import COST_TRACE, Ledger, Limits, Reservation, read_tally
from ari.budget.ledger import Estimate, Usage
from ari.checkpoint.shared_log import read_shared
from ari.formats.cost_trace import cost_problems

CALLS = 1500
"""Each is one entry when it is reserved and one when it is settled."""


def main() -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        place = Path(folder)
        ledger = Ledger(place)
        ledger.set_limits(Limits(max_calls=CALLS, max_cost_usd=1e6), {})
        began = time.perf_counter()
        for _ in range(CALLS):
            call = ledger.reserve(Estimate(1000, 500), model="openai/gpt-4o", node_id="node_0001")
            assert isinstance(call, Reservation)
            ledger.settle(call, Usage(800, 120))
        show("write (reserve and settle)", began)
        began = time.perf_counter()
        tally = read_tally(place)
        assert tally is not None and tally.calls == CALLS
        show("read and sum", began)
        began = time.perf_counter()
        assert not any(cost_problems(entry) for entry in read_shared(place / COST_TRACE))
        show("validate", began)


def show(what: str, began: float) -> None:
    print(f"{2 * CALLS} entries, {what:<28} {time.perf_counter() - began:.3f} s")


if __name__ == "__main__":
    main()
