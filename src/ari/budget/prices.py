"""What models charge: the table `configs/prices.yaml`, and before it the prices that the user has set.

A model that is in neither has no known price. That is said, never guessed: its calls are counted, its tokens
too, its money is not; and a money budget with it is refused before the first call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ari.errors import ConfigError
from ari.formats.cost_trace import Price

TABLE = Path(__file__).resolve().parents[1] / "configs" / "prices.yaml"
_DATE = re.compile(r"[-@](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{3,4})$")
FREE = Price(input=0, output=0)
MILLION = 1_000_000


@dataclass(frozen=True)
class Prices:
    """The prices that hold for a study.

    Attributes:
        own: Those that the user has set, by the model's full name (`openai/my-model`).
    """

    own: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model, named as in the settings (`<provider>/<model>`); None when it is unknown."""
        if model in self.own:
            return self.own[model]
        provider, _, name = model.partition("/")
        table = _table()
        if provider in table["free"]:
            return FREE
        rows: Mapping[str, Price] = table["prices"].get(provider, {})
        return rows.get(name) or rows.get(_DATE.sub("", name))


def cost_usd(price: Price, *, input_tokens: int, output_tokens: int) -> float:
    """What a call costs.

    Args:
        price: The model's price.
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the answer.

    Returns:
        US dollars.
    """
    per_input, per_output = price.input, price.output
    if price.long_from is not None and input_tokens > price.long_from:
        per_input = per_input if price.long_input is None else price.long_input
        per_output = per_output if price.long_output is None else price.long_output
    return (input_tokens * per_input + output_tokens * per_output) / MILLION


def check_prices(model: str, *, own: Mapping[str, Price], max_cost_usd: float | None) -> list[str]:
    """Refuse a money budget that cannot be kept, and say which price is not known.

    Args:
        model: The model, as in the settings.
        own: Prices that the user has set.
        max_cost_usd: The budget in money, if there is one.

    Returns:
        Lines for the user.

    Raises:
        ConfigError: If there is a money budget and the price is not known.
    """
    if "/" not in model or Prices(own).of(model) is not None:
        return []
    example = f'"prices": {{"{model}": {{"input": 1.0, "output": 4.0}}}} (US dollars per million tokens)'
    if max_cost_usd is None:
        return [f"the price of {model} is not known, so money is not counted; to count it, set {example}"]
    raise ConfigError(
        f"max_cost_usd is {max_cost_usd:g}, but the price of {model} is not known, so it could not be kept",
        cure=f"Set the price in settings.json: {example}; or use max_tokens or max_calls instead.",
    )


@cache
def _table() -> dict[str, Any]:
    import yaml

    document = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    rows = {
        provider: {str(name).removesuffix("-latest"): _price(row) for name, row in models.items()}
        for provider, models in document["prices"].items()
    }
    return {"free": frozenset(document["free"]), "prices": rows}


def _price(row: list[Any]) -> Price:
    names = ("input", "output", "long_from", "long_input", "long_output")
    return Price.model_validate(dict(zip(names, row, strict=False)))
