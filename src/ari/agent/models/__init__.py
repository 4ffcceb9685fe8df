"""Models that can drive a node: the offline researcher, and those of model services."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ari.checkpoint import replay_source

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
    key into a reply or an error. For a study, a model of a service is paid for from the study's budget and
    its answers are recorded; in a replayed study (`ari replay`) the recordings answer, and no service is
    asked.

    Args:
        name: `offline`, or `<provider>/<model>`.
        checkpoint: The study it works for: its `settings.json` and `.env` count too.
        purpose: What it is asked for, such as `node node_0003`; for accounts and records. Two conversations
            that may ask the same and are to be answered independently need purposes of their own.

    Raises:
        ConfigError: When there is no such model, its key is missing, or its client library is.
        ReplayError: When a replayed study has no recording of that purpose.
    """
    from ari.settings import OFFLINE

    if name == OFFLINE:  # it asks nobody: nothing is paid for, and asked again it says the same
        return _offline()
    if checkpoint is None:
        return bare_model(find_service(name))
    return _for_study(name, checkpoint, purpose)


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


def _for_study(name: str, checkpoint: Path, purpose: str) -> Model:
    """A model whose calls are paid for and whose answers are recorded, or whose recordings answer."""
    from ari.agent.recording import Conversation, Recorded, Replayed, exchanges_path, node_of
    from ari.budget import Ledger
    from ari.budget.metered import Metered

    source = replay_source(checkpoint)
    conversation = Conversation(
        exchanges_path(source or checkpoint, purpose),
        name=name,
        purpose=purpose,
        folders=[checkpoint, source or checkpoint],
    )
    if source is not None:
        return Replayed(conversation)
    service = find_service(name, checkpoint=checkpoint)
    ledger = Ledger(checkpoint)
    metered = Metered(_client(service), ledger, name=name, phase=purpose, node_id=node_of(purpose))
    # A request that failed and is made again is another one, and paid for; the last word alone is recorded.
    return Recorded(_with_care(metered, service.settings), conversation)


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
