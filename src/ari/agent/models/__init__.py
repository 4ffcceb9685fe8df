"""Models that can drive a node: the offline researcher, and those of model services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ari.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

KNOWN_MODELS = ("offline",)


def check_model(name: str) -> None:
    """Refuse a model that does not exist, before anything is run or paid for.

    Raises:
        ConfigError: Naming the models there are.
    """
    if name not in KNOWN_MODELS:
        raise ConfigError(f"there is no model {name!r}", cure=f"Available: {', '.join(KNOWN_MODELS)}.")


def resolve_model(name: str) -> Model:
    """The model of that name, ready to be handed to an agent."""
    check_model(name)
    from ari.agent.models.offline.researcher import OfflineResearcher

    return OfflineResearcher()
