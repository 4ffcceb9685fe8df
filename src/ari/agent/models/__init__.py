"""Models that can drive a node: the offline researcher, and those of model services."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ari.agent.models.keys import KeyMask
    from ari.agent.models.providers import Endpoint
    from ari.settings import Settings


def check_model(name: str) -> None:
    """Refuse a model that cannot be named so, or whose key is missing; nothing is sent.

    Raises:
        ConfigError: Naming the model and the cure.
    """
    from ari.settings import OFFLINE

    if name != OFFLINE:
        find_service(name)


def resolve_model(name: str, *, checkpoint: Path | None = None, purpose: str = "") -> Model:
    """The model of that name, ready to be handed to an agent.

    It makes requests again where that helps, reads tool calls from whatever form they come in, and lets no
    key into a reply or an error.

    Args:
        name: `offline`, or `<provider>/<model>`.
        checkpoint: The study it works for: its `settings.json` and `.env` count too.
        purpose: What it is asked for, such as `node node_0003`; for accounts and records.

    Raises:
        ConfigError: When there is no such model, its key is missing, or its client library is.
    """
    from ari.settings import OFFLINE

    service = None if name == OFFLINE else find_service(name, checkpoint=checkpoint)
    client = _offline() if service is None else _client(service)
    # Whatever has to see each request that is really made (accounts, recordings) wraps `client` here: above,
    # a failed request is made again as another one; below, there is nothing but the request.
    return client if service is None else _with_care(client, service.settings)


class Service(NamedTuple):
    """What is known of a model's service before anything is asked.

    Attributes:
        endpoint: Where the model is asked.
        settings: The settings that hold for it.
        mask: Masks every key that is known here.
    """

    endpoint: Endpoint
    settings: Settings
    mask: KeyMask


def find_service(name: str, *, checkpoint: Path | None = None) -> Service:
    """Where a model is asked and how, by the settings and variables that hold for a checkpoint.

    Raises:
        ConfigError: When there is no such model or its key is missing.
    """
    from ari.agent.models.keys import KeyMask
    from ari.agent.models.providers import endpoint_of, split_name
    from ari.settings import load

    split_name(name)
    loaded = load(checkpoint, options={"model": name})
    endpoint = endpoint_of(name, loaded.environment, base_url=loaded.settings.base_url)
    mask = KeyMask.of(loaded.environment, endpoint.address)
    return Service(endpoint, loaded.settings, mask)


def key_mask(checkpoint: Path | None = None) -> KeyMask:
    """The mask for every key that the environment and the `.env` files hold."""
    from ari.agent.models.keys import KeyMask
    from ari.settings import read_environment

    return KeyMask.of(read_environment(checkpoint, os.environ))


def _offline() -> Model:
    from ari.agent.models.offline.researcher import OfflineResearcher

    return OfflineResearcher()


def _client(service: Service) -> Model:
    from ari.agent.models.providers import client_of
    from ari.agent.models.service import Manner, ServiceModel

    chosen = service.settings
    manner = Manner(silence_s=chosen.model_timeout, stream=chosen.model_stream)
    return ServiceModel(client_of(service.endpoint), service.mask, manner)


def _with_care(client: Model, settings: Settings) -> Model:
    from ari.agent.models.call_reader import CallReader
    from ari.agent.models.steady import Patience, SteadyModel

    return CallReader(SteadyModel(client, Patience(retries=settings.model_retries)), settings.tool_calls)


def bare_model(service: Service) -> Model:
    """The model of a service, in nobody's account and nobody's record."""
    return _with_care(_client(service), service.settings)
