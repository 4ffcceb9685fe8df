"""Models that can drive a node: the offline researcher, and those of model services."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ari.agent.models.providers import Endpoint


def check_model(name: str) -> None:
    """Refuse a model that cannot be named so, or whose key is missing; nothing is sent.

    Raises:
        ConfigError: Naming the model and the cure.
    """
    from ari.settings import OFFLINE

    if name != OFFLINE:
        find_endpoint(name)


def resolve_model(name: str, *, checkpoint: Path | None = None, purpose: str = "") -> Model:
    """The model of that name, ready to be handed to an agent.

    Args:
        name: `offline`, or `<provider>/<model>`.
        checkpoint: The study it works for: its `settings.json` and `.env` count too.
        purpose: What it is asked for, such as `node node_0003`; for accounts and records.

    Raises:
        ConfigError: When there is no such model, its key is missing, or its client library is.
    """
    from ari.settings import OFFLINE

    if name == OFFLINE:
        from ari.agent.models.offline.researcher import OfflineResearcher

        client: Model = OfflineResearcher()
    else:
        from ari.agent.models.providers import client_of

        client = client_of(find_endpoint(name, checkpoint=checkpoint))
    # Whatever has to see each request that is really made (accounts, recordings) wraps `client` here.
    return client


def find_endpoint(name: str, *, checkpoint: Path | None = None) -> Endpoint:
    """Where a model is asked, by the settings and variables that hold for a checkpoint.

    Raises:
        ConfigError: When there is no such model or its key is missing.
    """
    from ari.agent.models.providers import endpoint_of
    from ari.settings import load, read_environment

    loaded = load(checkpoint)
    environment = read_environment(checkpoint, os.environ)
    return endpoint_of(name, environment, base_url=loaded.settings.base_url)
