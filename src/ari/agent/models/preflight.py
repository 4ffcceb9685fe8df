"""What a service says of a model before anything is paid for: does it answer, take the key, know the name.

Only lists of models are asked for. A service without such a list says nothing, and the first request shows.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ari.agent.models import Service, find_service
from ari.errors import AriError, ConfigError, ModelError
from ari.settings import OFFLINE

if TYPE_CHECKING:
    from ari.agent.models.providers import Endpoint

ENOUGH_S = 20.0
"""Seconds within which a list of models arrives."""

_ANTHROPIC = "https://api.anthropic.com"
_GOOGLE = "https://generativelanguage.googleapis.com"
_LISTED_IN_A_MESSAGE = 6


class Standing(NamedTuple):
    """What a service says of a model.

    Attributes:
        reachable: Whether anything answers at its address.
        admitted: Whether the key is taken, as far as this shows.
        known: Whether it knows the model; None where it does not say.
        fault: What is wrong, as the error that would stop a run.
    """

    reachable: bool
    admitted: bool
    known: bool | None
    fault: AriError | None = None


class _Answer(NamedTuple):
    """An HTTP answer: its status and its JSON, None where it is none."""

    status: int
    document: Any


def verify_model(name: str, *, checkpoint: Path | None = None) -> Standing:
    """Refuse a model that cannot be asked, before the first request that is paid for.

    Args:
        name: `offline`, or `<provider>/<model>`.
        checkpoint: The study it is to work for.

    Raises:
        ConfigError: When the service does not know the model or does not take the key.
        ModelError: When nothing answers.
    """
    if name == OFFLINE:
        return Standing(reachable=True, admitted=True, known=True)
    service = find_service(name, checkpoint=checkpoint)
    standing = standing_of(service)
    if standing.fault is not None and (service.settings.model_check or standing.known is not False):
        raise standing.fault
    return standing


def standing_of(service: Service) -> Standing:
    """Ask a service about its model."""
    import httpx2

    limit = min(ENOUGH_S, service.settings.model_timeout)
    try:
        with httpx2.Client(timeout=limit) as client:  # nowhere else is the key sent to
            return _ask(service, client)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        reason = service.mask.text(str(error) or type(error).__name__)
        fault = ModelError(
            f"nothing answers for {service.endpoint.name} at {shown_address(service)}: {reason}",
            cure=_how_to_reach(service),
        )
        return Standing(reachable=False, admitted=False, known=None, fault=fault)


def shown_address(service: Service) -> str:
    """The address of the service, without a password that may stand in it."""
    usual = {"anthropic": _ANTHROPIC, "google": _GOOGLE}
    endpoint = service.endpoint
    return service.mask.text(endpoint.address or usual.get(endpoint.provider.dialect, ""))


def _ask(service: Service, client: Any) -> Standing:  # noqa: ANN401 - an httpx2.Client, imported where used
    answer = _get(service, client, _list_path(service))
    if answer.status in (401, 403):
        return Standing(reachable=True, admitted=False, known=None, fault=_refused_key(service))
    if answer.status == 404 and _lacks_version(service, client):
        return Standing(reachable=True, admitted=True, known=None, fault=_wrong_address(service))
    dialect = service.endpoint.provider.dialect
    if dialect != "openai":
        known = {200: True, 404: False}.get(answer.status)
        listed: list[str] = []
    else:
        listed = _ids(answer.document) if answer.status == 200 else []
        known = _is_listed(service, listed) if listed else None
        if known is False and service.endpoint.provider.name == "llamacpp":
            known = None  # it serves what it has loaded under any name
        elif (
            known is False and _get(service, client, f"/models/{quote(service.endpoint.model)}").status == 200
        ):
            known = True  # served without being listed
    fault = _unknown(service, listed) if known is False else None
    return Standing(reachable=True, admitted=True, known=known, fault=fault)


def _lacks_version(service: Service, client: Any) -> bool:  # noqa: ANN401 - see `_ask`
    """Whether the address was given without the `/v1` under which the service answers."""
    endpoint = service.endpoint
    if endpoint.provider.dialect != "openai" or (endpoint.address or "").rstrip("/").endswith("/v1"):
        return False
    return _get(service, client, "/v1/models").status == 200


def _wrong_address(service: Service) -> ConfigError:
    address = shown_address(service).rstrip("/")
    return ConfigError(
        f"{service.endpoint.name} is to be asked at {address}, but there it answers only below /v1",
        cure=f"Set base_url or {service.endpoint.provider.base_url_variable} to {address}/v1.",
    )


def _list_path(service: Service) -> str:
    model = _quoted(service)
    paths = {"anthropic": f"/v1/models/{model}", "google": f"/v1beta/models/{model}", "openai": "/models"}
    return paths[service.endpoint.provider.dialect]


def _quoted(service: Service) -> str:
    return quote(service.endpoint.model)


def _get(service: Service, client: Any, path: str) -> _Answer:  # noqa: ANN401 - see `_ask`
    endpoint = service.endpoint
    dialect = endpoint.provider.dialect
    base = endpoint.address or {"anthropic": _ANTHROPIC, "google": _GOOGLE}[dialect]
    response = client.get(base.rstrip("/") + path, headers=_headers(endpoint))
    try:
        return _Answer(response.status_code, response.json())
    except ValueError:
        return _Answer(response.status_code, None)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """The headers that carry the key."""
    if endpoint.provider.dialect == "google":
        return {"x-goog-api-key": endpoint.key}
    if endpoint.provider.dialect == "anthropic":
        from ari.agent.models.providers import client_of

        client: Any = client_of(endpoint)  # which header it is, and of which version, its library knows
        version = client.client.default_headers["anthropic-version"]
        return {**client.client.auth_headers, "anthropic-version": version}
    return {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}


def _ids(document: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    """The ids of a list of models, in the forms that servers send."""
    entries = document.get("data", document.get("models")) if isinstance(document, dict) else document
    if not isinstance(entries, list):
        return []
    found = [e.get("id") or e.get("name") if isinstance(e, dict) else e for e in entries]
    return [name for name in found if isinstance(name, str)]


def _is_listed(service: Service, listed: list[str]) -> bool:
    model, provider = service.endpoint.model, service.endpoint.provider.name
    names = {model}
    if provider == "ollama" and ":" not in model.rpartition("/")[2]:
        names.add(f"{model}:latest")
    if provider == "openrouter":
        names.add(model.partition(":")[0])  # variants (`:online`, `:nitro`) are not listed one by one
    return not names.isdisjoint(listed)


def _unknown(service: Service, listed: list[str]) -> ConfigError:
    endpoint = service.endpoint
    near = difflib.get_close_matches(endpoint.model, listed, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(f'{endpoint.provider.name}/{name}' for name in near)}?"
    elif listed:
        more = " …" if len(listed) > _LISTED_IN_A_MESSAGE else ""
        hint = f"It lists: {', '.join(sorted(listed)[:_LISTED_IN_A_MESSAGE])}{more}."
    else:
        hint = "Look up the names of its models."
    if endpoint.provider.name == "ollama":
        hint += f" Or fetch it: ollama pull {endpoint.model}."
    return ConfigError(
        f"there is no model {endpoint.name!r}: {shown_address(service)} does not know {endpoint.model!r}",
        cure=f"{hint} If it serves the model without listing it, set ARI_MODEL_CHECK=false.",
    )


def _refused_key(service: Service) -> ConfigError:
    provider = service.endpoint.provider
    variables = " or ".join(provider.key_variables)
    what = (
        f"refuses the key in {variables}"
        if service.endpoint.key
        else f"wants a key, and {variables} is not set"
    )
    return ConfigError(
        f"{shown_address(service)} {what} (asked for {service.endpoint.name})",
        cure="Check the key, and that it belongs to this address.",
    )


def _how_to_reach(service: Service) -> str:
    provider = service.endpoint.provider
    if provider.needs_key:
        return f"Check the network and the address (base_url, {provider.base_url_variable})."
    start = {
        "ollama": " (ollama serve)",
        "vllm": " (vllm serve MODEL)",
        "llamacpp": " (llama-server -m FILE)",
    }
    return (
        f"Start the server{start.get(provider.name, '')}, or say where it answers: base_url, or "
        f"{provider.base_url_variable}."
    )
