"""Prices: the table, own prices, and what happens when a price is not known."""

from __future__ import annotations

import pytest

from ari.budget import Prices, check_prices
from ari.budget.prices import cost_usd
from ari.errors import ConfigError
from ari.formats.cost_trace import Price


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai/gpt-4o", (2.5, 10)),
        ("openai/gpt-4o-2024-08-06", (2.5, 10)),
        ("anthropic/claude-3-5-haiku", (0.8, 4)),
        ("anthropic/claude-3-5-haiku-latest", (0.8, 4)),
        ("anthropic/claude-sonnet-4-5-20250929", (3, 15)),
        ("ollama/qwen3:8b", (0, 0)),
    ],
)
def test_the_table_knows_models_with_and_without_their_date(model: str, price: tuple[float, float]) -> None:
    found = Prices({}).of(model)
    assert found is not None
    assert (found.input, found.output) == price


@pytest.mark.parametrize("model", ["openai/gpt-4o-turbo-max", "openai/", "mistral/large", "anthropic/gpt-4o"])
def test_a_model_that_is_not_in_the_table_has_no_price(model: str) -> None:
    assert Prices({}).of(model) is None


def test_an_own_price_wins() -> None:
    own = {"openai/gpt-4o": Price(input=1, output=2)}
    assert Prices(own).of("openai/gpt-4o") == own["openai/gpt-4o"]


def test_long_requests_cost_what_the_table_says() -> None:
    price = Prices({}).of("anthropic/claude-sonnet-4-5")
    assert price is not None
    assert cost_usd(price, input_tokens=200_000, output_tokens=0) == pytest.approx(0.6)
    assert cost_usd(price, input_tokens=200_001, output_tokens=1_000_000) == pytest.approx(1.200006 + 22.5)


def test_a_money_budget_without_a_price_is_refused_with_the_cure() -> None:
    with pytest.raises(ConfigError) as caught:
        check_prices("openai/new", own={}, max_cost_usd=5.0)
    assert "max_cost_usd is 5, but the price of openai/new is not known" in caught.value.message
    assert '"prices": {"openai/new"' in caught.value.cure


def test_without_a_money_budget_an_unknown_price_is_said() -> None:
    (line,) = check_prices("openai/new", own={}, max_cost_usd=None)
    assert "the price of openai/new is not known, so money is not counted" in line
    assert check_prices("offline", own={}, max_cost_usd=5.0) == []
    assert check_prices("openai/gpt-4o", own={}, max_cost_usd=5.0) == []
