"""Settings: what can be chosen about a run, where a choice may stand, and which one wins.

From weak to strong: the defaults here, the user's file (`$XDG_CONFIG_HOME/ari/settings.json`), the
checkpoint's `settings.json`, the environment (`ARI_<NAME>`), the command line. The environment is what the
process was started with, and below it the `.env` files of the checkpoint, of `$ARI_ROOT` (default: the
current directory), of `$ARI_ROOT/ari-core` and of the home directory, the first that names a variable
winning. An empty variable counts as absent.

Promises: a value that cannot be used is a `ConfigError` that names the option, the value, where it stands
and what is allowed; a file that cannot be read is never taken for an absent one; keys of other tools in
`settings.json` are kept; no secret is ever returned by `to_document` or by anything that prints.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ari.errors import ConfigError
from ari.formats.cost_trace import Price
from ari.formats.jsonio import pointer
from ari.formats.legacy import convert_settings
from ari.formats.settings import secret_pointers

OFFLINE: Final = "offline"
PROVIDERS: Final = (
    "offline",
    "anthropic",
    "deepseek",
    "google",
    "llamacpp",
    "lmstudio",
    "ollama",
    "openai",
    "openrouter",
    "siliconflow",
    "vllm",
)
"""Whose models can be named: `offline`, or `<provider>/<model>` with one of the others."""

RESELLERS: Final = ("llamacpp", "lmstudio", "openrouter", "siliconflow", "vllm")
"""Providers whose own ids may begin with another provider's name (`google/gemma-3`)."""

ENVIRONMENT_PREFIX: Final = "ARI_"
OTHER_VARIABLES: Final = frozenset({"ARI_CHECKPOINT_DIR", "ARI_PYTHON", "ARI_ROOT", "ARI_RUN_TOKEN"})
"""Variables with the prefix that are no settings."""

_HTTP: Final = r"^https?://[^/]"
MASK: Final = "********"
_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
LIMITS: Final = ("max_calls", "max_tokens", "max_cost_usd", "max_wall_s")
"""The settings that bound what a study may spend; see `ari.budget`."""

_NUMBERS: Final = (
    "nodes",
    "parallel",
    "seed",
    "node_time",
    "max_depth",
    "lookahead",
    "stagnation_window",
    "stagnation_threshold",
    "stagnation_min_nodes",
    "max_switches",
    "max_advice",
    "max_recursion_depth",
    "search_work",
    "sr_restarts",
    "sr_conversations",
    "sr_depth",
    "sr_samples",
    "model_timeout",
    "model_retries",
    "repairs",
    *LIMITS,
)


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Hpc(BaseModel):
    """Where batch jobs go."""

    model_config = ConfigDict(frozen=True, extra="allow")

    partition: str | None = Field(None, description="partition (queue) of the batch scheduler")
    cpus: int | None = Field(None, ge=1, description="processors asked for per job")


class Registry(BaseModel):
    """One registry that bundles can be published to."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(min_length=1)
    url: str = Field(pattern=r"^(https?|file)://", description="where it answers")
    token_env: str | None = Field(None, description="name of the variable that holds the token")


class Settings(BaseModel):
    """Everything that can be chosen about a run; frozen, and each field has a usable default."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    model: str = Field(OFFLINE, description="who proposes experiments: offline, or <provider>/<model>")
    provider: str | None = Field(None, description="provider of the model; follows from the model if absent")
    base_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]",
        description="where the model is asked; default: its provider's address",
    )
    model_timeout: float = Field(
        120.0,
        gt=0,
        le=86_400,
        description="seconds of silence after which a request to a model is given up",
    )
    model_retries: int = Field(4, ge=0, le=100, description="further attempts after a request that failed")
    model_stream: bool = Field(False, description="ask for replies piece by piece (for slow connections)")
    model_check: bool = Field(True, description="refuse a model that its endpoint does not list")
    tool_calls: Literal["auto", "native", "text"] = Field(
        "auto", description="how tools are offered: auto, native, or text (explained in the prompt)"
    )
    repairs: int = Field(3, ge=0, le=50, description="unusable replies in a row that a model may mend")
    nodes: int = Field(12, ge=1, le=100_000, description="experiments in the tree at most")
    parallel: int = Field(default_factory=_cores, ge=1, le=1024, description="experiments at a time")
    seed: int = Field(0, ge=0, lt=2**63, description="seed of everything that is drawn at random")
    node_time: float = Field(300.0, gt=0, le=31_536_000, description="seconds one experiment may take")
    max_depth: int = Field(8, ge=1, le=1000, description="steps from the root at most")
    lookahead: int = Field(
        4, ge=1, le=1024, description="experiments planned before the earlier ones' results are seen"
    )
    stagnation_window: int = Field(5, ge=2, description="latest scores that the stagnation rule looks at")
    stagnation_threshold: float = Field(0.01, ge=0, description="spread of scores that counts as movement")
    stagnation_min_nodes: int = Field(3, ge=1, description="scored experiments before the rule speaks")
    max_switches: int = Field(5, ge=0, description="times the search may turn to another idea")
    max_advice: int = Field(
        3, ge=0, description="times a model may decide how the search goes on instead of its end"
    )
    max_recursion_depth: int = Field(2, ge=0, description="sub-experiments of sub-experiments at most")
    search_work: int = Field(60_000, ge=1, description="model evaluations that one symbolic search may spend")
    symbolic_driver: Literal["agent", "loop"] = Field(
        "agent",
        description="who looks for formulas with a model: the symbolic-regression agent or the node loop",
    )
    sr_restarts: int = Field(1, ge=1, le=1000, description="searches of the agent that begin afresh")
    sr_conversations: int = Field(2, ge=1, le=1000, description="conversations of each of them")
    sr_depth: int = Field(4, ge=1, le=1000, description="steps of each conversation")
    sr_samples: int = Field(2, ge=1, le=1000, description="replies asked for at each step")
    max_calls: int | None = Field(None, ge=1, description="calls of models that the study may make")
    max_tokens: int | None = Field(None, ge=1, description="tokens that the study may use, both ways")
    max_cost_usd: float | None = Field(None, ge=0, description="US dollars that the study may spend")
    max_wall_s: float | None = Field(None, gt=0, description="seconds that the search may take")
    prices: dict[str, Price] = Field(
        default_factory=dict, description="US dollars per million tokens, by model: input and output"
    )
    hpc: Hpc = Field(default_factory=Hpc, description="batch scheduler")
    registries: tuple[Registry, ...] = Field((), description="registries for published bundles")
    web: bool = Field(False, description="whether literature services may be asked")
    semantic_scholar_url: str = Field(
        "https://api.semanticscholar.org", pattern=_HTTP, description="its address"
    )
    arxiv_url: str = Field("https://export.arxiv.org", pattern=_HTTP, description="its address")
    crossref_url: str = Field("https://api.crossref.org", pattern=_HTTP, description="its address")

    @field_validator(*_NUMBERS, mode="before")
    @classmethod
    def _number_not_flag(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("a number is needed, not true or false")
        return value

    @field_validator("model")
    @classmethod
    def _known_model(cls, value: str) -> str:
        provider, slash, name = value.partition("/")
        if value == OFFLINE or (slash and name and provider in PROVIDERS[1:]):
            return value
        others = ", ".join(f"{known}/<model>" for known in PROVIDERS[1:])
        raise ValueError(f"allowed are {OFFLINE}, {others}")

    @field_validator("provider")
    @classmethod
    def _known_provider(cls, value: str | None) -> str | None:
        if value is not None and value not in PROVIDERS:
            raise ValueError(f"allowed are {', '.join(PROVIDERS)}")
        return value

    @field_validator("base_url")
    @classmethod
    def _bare_address(cls, value: str | None) -> str | None:
        if value is not None and "@" in value.split("/")[2]:
            raise ValueError("an address without user and password is needed; keys belong into .env")
        return value

    @field_validator("registries")
    @classmethod
    def _distinct_registries(cls, value: tuple[Registry, ...]) -> tuple[Registry, ...]:
        names = [registry.name for registry in value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"each registry needs a name of its own; used twice: {', '.join(twice)}")
        return value

    @property
    def sr_shape(self) -> tuple[int, int, int, int]:
        """Restarts, conversations, depth and samples of the symbolic-regression agent."""
        return self.sr_restarts, self.sr_conversations, self.sr_depth, self.sr_samples

    @property
    def effective_provider(self) -> str:
        """Whose model it is: as given, else as the model's name says."""
        return self.provider or self.model.partition("/")[0]

    def to_document(self) -> dict[str, Any]:
        """Return the settings as they are written to `settings.json`: without secrets, JSON types only."""
        document = self.model_dump(mode="json")
        document["provider"] = self.effective_provider
        return without_secrets(document)


class Loaded(NamedTuple):
    """Settings and where they came from.

    Attributes:
        settings: The settings.
        sources: Field to the place that decided it (`default`, a file, `environment ARI_X`, `--x`).
        environment: The environment with the `.env` files below it; holds secrets, never print it.
        files: The files that were read, strongest first.
        warnings: What looks wrong and does not stop a run.
    """

    settings: Settings
    sources: dict[str, str]
    environment: dict[str, str]
    files: tuple[Path, ...]
    warnings: tuple[str, ...]


class _Layer(NamedTuple):
    """Values from one place; `labels` says for each field where exactly it stands."""

    values: dict[str, Any]
    labels: dict[str, str]


# --- secrets -------------------------------------------------------------------------------------------


def is_secret_name(name: str) -> bool:
    """Say whether a variable of this name holds a secret (`token_env` names one and holds none)."""
    return any(secret_pointers({name: "some text"}))


def without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a JSON object without the values that look like secrets; addresses lose the user in front."""
    return _treated(document, drop=True)


def masked(document: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a JSON object for printing: asterisks in place of every secret."""
    return _treated(document, drop=False)


def _treated(document: Mapping[str, Any], *, drop: bool) -> dict[str, Any]:
    bare = _without_users(document)
    secrets = set(secret_pointers(bare))

    def copy(value: Any, place: str) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(value, dict):
            inner = {
                key: f"{place}{pointer(key)}"
                for key in value
                if not drop or f"{place}{pointer(key)}" not in secrets
            }
            return {key: copy(value[key], here) for key, here in inner.items()}
        if isinstance(value, list):
            return [copy(item, f"{place}/{index}") for index, item in enumerate(value)]
        return MASK if place in secrets else value

    result: dict[str, Any] = copy(bare, "")
    return result


def _without_users(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {key: _without_users(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_users(item) for item in value]
    return _USER_IN_URL.sub(MASK, value) if isinstance(value, str) else value


# --- the environment -----------------------------------------------------------------------------------


def dotenv_files(checkpoint: Path | None, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """List the `.env` files that exist, the strongest first.

    Args:
        checkpoint: The checkpoint, if there is one.
        environ: The environment; `ARI_ROOT` and `HOME` are read from it.

    Returns:
        Existing files: of the checkpoint, of the root, of its `ari-core`, of the home directory.
    """
    root = Path(environ.get("ARI_ROOT") or ".")
    places = [checkpoint, root, root / "ari-core", Path(environ["HOME"]) if environ.get("HOME") else None]
    files: dict[Path, Path] = {}
    for place in places:
        if place is not None and (place / ".env").is_file():
            files.setdefault((place / ".env").resolve(), place / ".env")
    return tuple(files.values())


def read_environment(checkpoint: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Join the environment and the `.env` files; a variable that is already set wins.

    Args:
        checkpoint: The checkpoint, if there is one.
        environ: The environment of the process.

    Returns:
        Every variable. Holds secrets: give it to clients of services, never to a sandbox or a file.

    Raises:
        ConfigError: If a `.env` file cannot be read.
    """
    joined = {name: value for name, value in environ.items() if value}
    for path in dotenv_files(checkpoint, environ):
        for name, value in _read_dotenv(path).items():
            joined.setdefault(name, value)
    return joined


def _read_dotenv(path: Path) -> dict[str, str]:
    from io import StringIO

    from dotenv import dotenv_values

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}",
            cure="Make it readable UTF-8 text of NAME=value lines, or remove it.",
        ) from error
    values = dotenv_values(stream=StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value}


def _environment_layer(environment: Mapping[str, str]) -> tuple[_Layer, list[str]]:
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    warnings: list[str] = []
    names = {f"{ENVIRONMENT_PREFIX}{field.upper()}": field for field in Settings.model_fields}
    for variable, text in sorted(environment.items()):
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        if variable in names:
            field = names[variable]
            values[field] = _parse_text(variable, field, text)
            labels[field] = f"environment {variable}"
        elif variable not in OTHER_VARIABLES and not is_secret_name(variable):
            near = difflib.get_close_matches(variable, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            warnings.append(f"the variable {variable} is no setting{hint}")
    return _Layer(values, labels), warnings


def _parse_text(variable: str, field: str, text: str) -> object:
    """Read the text of a variable: JSON for the structured settings, the text itself for the others."""
    if field not in {"hpc", "prices", "registries"}:
        return text.strip()
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(
            f"{variable} is not JSON: {error}",
            cure=f"Write {field} as in settings.json, or unset {variable}.",
        ) from error


# --- files ---------------------------------------------------------------------------------------------


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Name the user's own settings file, whether it exists or not; None without a home directory."""
    if environ.get("XDG_CONFIG_HOME"):
        return Path(environ["XDG_CONFIG_HOME"]) / "ari" / "settings.json"
    return Path(environ["HOME"]) / ".config" / "ari" / "settings.json" if environ.get("HOME") else None


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read a `settings.json` with all its keys; legacy names (`llm_model`, `slurm_partition`, …) are mapped.

    Args:
        path: The file; it must exist.

    Returns:
        The document.

    Raises:
        ConfigError: If it cannot be read or is not a JSON object.
    """
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise ConfigError(
            f"{path}, line {error.lineno}: not JSON: {error.msg}",
            cure="Mend that line, or remove the file to use defaults.",
        ) from error
    if not isinstance(document, dict):
        raise ConfigError(
            f"{path}: settings are one JSON object", cure='Write for example {"model": "offline"}.'
        )
    return convert_settings(document)


# --- joining the layers ----------------------------------------------------------------------------------


def load(
    checkpoint: Path | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Read the settings from every place and join them.

    Args:
        checkpoint: The checkpoint whose `settings.json` and `.env` count; it need not exist yet.
        options: What the command line gave, by field name; None means not given.
        environ: The environment; default: that of the process.

    Returns:
        The settings, with the origin of each.

    Raises:
        ConfigError: If a file cannot be read or a value cannot be used.
    """
    environ = os.environ if environ is None else environ
    environment = read_environment(checkpoint, environ)
    files: list[Path] = list(dotenv_files(checkpoint, environ))
    layers: list[_Layer] = []
    warnings: list[str] = []
    for path in (user_file(environ), checkpoint / "settings.json" if checkpoint else None):
        if path is not None and path.exists():
            document = read_settings_file(path)
            warnings += [
                f"{path}: {place} holds a secret; move it to .env" for place in secret_pointers(document)
            ]
            layers.append(_Layer(document, {key: f"{path} ({key})" for key in document}))
            files.insert(0, path)
    from_environment, unknown = _environment_layer(environment)
    given = {name: value for name, value in (options or {}).items() if value is not None}
    layers += [from_environment, _Layer(given, {name: f"--{name.replace('_', '-')}" for name in given})]
    settings, sources = _join(layers)
    return Loaded(settings, sources, environment, tuple(files), tuple(warnings + unknown))


def _join(layers: list[_Layer]) -> tuple[Settings, dict[str, str]]:
    values: dict[str, Any] = {}
    sources = dict.fromkeys(Settings.model_fields, "default")
    for layer in layers:
        model_here, provider_here = layer.values.get("model"), layer.values.get("provider")
        if model_here is not None and provider_here is None:
            values.pop("provider", None)  # a stronger model does not belong to a weaker place's provider
            sources["provider"] = "default"
        if _other_provider(values, layer.values):
            values.pop("base_url", None)  # nor is it asked, with its key, at another provider's address
            sources["base_url"] = "default"
        values.update(layer.values)
        sources.update(layer.labels)
    values["model"] = _qualified(values.get("model", OFFLINE), values.get("provider"))
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise _unusable(error, sources) from None
    _check_provider(settings, sources)
    return settings, sources


def _other_provider(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> bool:
    """Whether the stronger place chooses a model of another provider than the weaker ones do."""
    heads = [str(_qualified(v.get("model"), v.get("provider"))).partition("/")[0] for v in (weaker, stronger)]
    return stronger.get("model") is not None and heads[0] != heads[1]


def _qualified(model: object, provider: object) -> object:
    """A model named without its provider (`qwen3:8b` with `"provider": "ollama"`) gets it in front."""
    if not isinstance(model, str) or provider not in PROVIDERS[1:] or model == OFFLINE:
        return model
    head = model.partition("/")[0]
    is_whole = head == provider or (head in PROVIDERS and provider not in RESELLERS)
    return model if is_whole else f"{provider}/{model}"


def _check_provider(settings: Settings, sources: Mapping[str, str]) -> None:
    implied = settings.model.partition("/")[0]
    if settings.provider is not None and settings.provider != implied:
        raise ConfigError(
            f"provider ({sources['provider']}) is {settings.provider!r}, but the model {settings.model!r} "
            f"({sources['model']}) is {implied!r}'s",
            cure="Give a model of that provider, or leave the provider out.",
        )


def _unusable(error: ValidationError, sources: Mapping[str, str]) -> ConfigError:
    lines = []
    for detail in error.errors(include_url=False):
        field = str(detail["loc"][0]) if detail["loc"] else "settings"
        place = ".".join(str(part) for part in detail["loc"]) or field
        secret = is_secret_name(place) and place not in Settings.model_fields
        shown = MASK if secret else repr(masked({"": detail["input"]})[""])
        reason = detail["msg"].removeprefix("Value error, ")
        lines.append(
            f"{place} is {shown[:200]} ({sources.get(field, 'settings')}): {reason[0].lower()}{reason[1:]}"
        )
    return ConfigError(
        "; ".join(lines), cure="`ari settings show` lists every setting, its value and where it comes from."
    )
