"""The model services that can be named, where each answers, and the client for each.

A model is named `<provider>/<model>`; the part after the first slash is the service's own id and may hold
anything (`prov-x/some-model:free@2026`). The address comes from the setting `base_url` (for the provider of
the chosen model), else from the variable `<PROVIDER>_BASE_URL`, else it is the provider's usual one. Keys
come from the environment and the `.env` files below it, and from nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ari.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile

LOCAL_KEY = "no-key-needed"
"""Sent to endpoints that want no key, because the client library insists on one."""


@dataclass(frozen=True)
class Provider:
    """A service, or a kind of server, that models are asked of.

    Attributes:
        name: As it stands in front of a model's name.
        address: Where it usually answers; None: the client library knows.
        key_variables: Variables that may hold its key, the first that is set wins.
        base_url_variable: Variable that holds another address.
        needs_key: Whether its usual address answers only with a key.
        dialect: Wire format: `openai`, `anthropic` or `google`.
    """

    name: str
    address: str | None
    key_variables: tuple[str, ...]
    base_url_variable: str
    needs_key: bool = True
    dialect: str = "openai"


def _provider(
    name: str,
    address: str | None,
    *,
    keys: tuple[str, ...] = (),
    needs_key: bool = True,
    dialect: str = "openai",
) -> Provider:
    upper = name.upper()
    variables = keys or (f"{upper}_API_KEY",)
    return Provider(name, address, variables, f"{upper}_BASE_URL", needs_key, dialect)


SERVICES: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        _provider("anthropic", None, dialect="anthropic"),
        _provider("deepseek", "https://api.deepseek.com"),
        _provider("google", None, keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"), dialect="google"),
        _provider("llamacpp", "http://127.0.0.1:8080/v1", needs_key=False),
        _provider("lmstudio", "http://127.0.0.1:1234/v1", needs_key=False),
        _provider("ollama", "http://127.0.0.1:11434/v1", needs_key=False),
        _provider("openai", "https://api.openai.com/v1"),
        _provider("openrouter", "https://openrouter.ai/api/v1"),
        _provider("siliconflow", "https://api.siliconflow.com/v1"),
        _provider("vllm", "http://127.0.0.1:8000/v1", needs_key=False),
    )
}
"""Every provider but `offline`; `ari.settings.PROVIDERS` lists the same names."""


@dataclass(frozen=True)
class Endpoint:
    """Where one model is asked, and with what.

    Attributes:
        provider: The service.
        model: The service's own id of the model.
        address: Base URL; None: the client library knows.
        key: The key, never shown; empty where none is needed.
    """

    provider: Provider
    model: str
    address: str | None
    key: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The model as it is named in settings."""
        return f"{self.provider.name}/{self.model}"


def split_name(name: str) -> tuple[Provider, str]:
    """The provider of a model, and the provider's own id of it.

    Raises:
        ConfigError: When it is not named `<provider>/<model>` with a provider that there is.
    """
    head, _, model = name.partition("/")
    if head not in SERVICES or not model:
        others = ", ".join(f"{known}/<model>" for known in SERVICES)
        raise ConfigError(f"there is no model {name!r}", cure=f"Available: offline, {others}.")
    return SERVICES[head], model


def endpoint_of(name: str, environment: Mapping[str, str], *, base_url: str | None = None) -> Endpoint:
    """Find where a model is asked.

    Args:
        name: `<provider>/<model>`.
        environment: Variables, those of the `.env` files included.
        base_url: Address that the settings give; it wins.

    Raises:
        ConfigError: When there is no such provider, or its key is missing.
    """
    provider, model = split_name(name)
    elsewhere = base_url or environment.get(provider.base_url_variable)
    key = next((environment[v].strip() for v in provider.key_variables if environment.get(v)), "")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the key for {name} ({' or '.join(provider.key_variables)}) holds characters that no key has",
            cure="Copy it again; line breaks and quotation marks often slip in.",
        )
    if not key and provider.needs_key and not elsewhere:
        raise ConfigError(
            f"no key for {name}: {' or '.join(provider.key_variables)} is not set",
            cure=f"Put {provider.key_variables[0]}=… into the environment or into .env (of the checkpoint, "
            f"$ARI_ROOT or the home directory); for another endpoint set {provider.base_url_variable}.",
        )
    return Endpoint(provider, model, elsewhere or provider.address, key)


def client_of(endpoint: Endpoint) -> Model:
    """The client library's model for an endpoint; nothing is sent yet.

    Raises:
        ConfigError: When the library for the provider is not installed.
    """
    builders = {"anthropic": _anthropic, "google": _google, "openai": _openai}
    return builders[endpoint.provider.dialect](endpoint)


def _openai(endpoint: Endpoint) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = endpoint.key or LOCAL_KEY
    # A stream that ends without saying why was cut off on its way.
    strict = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if endpoint.address == SERVICES["openai"].address:
        official = OpenAIProvider(base_url=endpoint.address, api_key=key)
        return OpenAIChatModel(endpoint.model, provider=official, profile=strict)
    family = _profile_function(endpoint)
    usual = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    provider = OpenAICompatibleProvider(
        endpoint.provider.name,
        base_url=endpoint.address or "",
        api_key=key,
        profile=lambda name: merge_profile(family(name), usual, strict),
    )
    return OpenAIChatModel(endpoint.model, provider=provider)


def _profile_function(endpoint: Endpoint) -> Callable[[str], ModelProfile | None]:
    """What the client library knows of a service's models: their families and the service's own ways."""
    from pydantic_ai.providers.deepseek import DeepSeekProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    if endpoint.provider.name == "deepseek":
        return DeepSeekProvider.model_profile
    if endpoint.provider.name == "ollama":
        return OllamaProvider.model_profile
    if endpoint.provider.name == "openrouter" and "/" in endpoint.model:
        return OpenRouterProvider.model_profile
    return OpenAICompatibleProvider.model_profile


def _anthropic(endpoint: Endpoint) -> Model:
    try:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider
    except ImportError as error:
        raise _missing_extra(endpoint) from error
    provider = AnthropicProvider(api_key=endpoint.key or LOCAL_KEY, base_url=endpoint.address)
    return AnthropicModel(endpoint.model, provider=provider)


def _google(endpoint: Endpoint) -> Model:
    try:
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider
    except ImportError as error:
        raise _missing_extra(endpoint) from error
    provider = GoogleProvider(api_key=endpoint.key or LOCAL_KEY, base_url=endpoint.address)
    return GoogleModel(endpoint.model, provider=provider)


def _missing_extra(endpoint: Endpoint) -> ConfigError:
    extra = endpoint.provider.dialect
    return ConfigError(
        f"the client library for {endpoint.name} is not installed",
        cure=f'Install it: pip install "ari-research[{extra}]"',
    )
