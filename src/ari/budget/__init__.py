"""What a study may spend: prices, limits, and the ledger that reserves every call beforehand."""

from __future__ import annotations

from ari.budget.ledger import COST_TRACE, Ledger, Reservation, read_tally
from ari.budget.prices import Prices, check_prices
from ari.budget.search import SearchBudget
from ari.budget.tally import EXHAUSTED, Limits, Tally

__all__ = [
    "COST_TRACE",
    "EXHAUSTED",
    "Ledger",
    "Limits",
    "Prices",
    "Reservation",
    "SearchBudget",
    "Tally",
    "check_prices",
    "read_tally",
]
