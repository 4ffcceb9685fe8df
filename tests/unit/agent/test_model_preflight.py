"""Naming a model, finding its endpoint and key, and what is refused before anything is paid for."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from model_services import MODEL, bare_environment, point_at
from pydantic_ai import Agent

from ari.agent.models import check_model, find_service, resolve_model
from ari.agent.models.keys import KeyMask
from ari.agent.models.preflight import standing_of, verify_model
from ari.agent.models.providers import SERVICES, endpoint_of
from ari.errors import ConfigError, ModelError
from ari.settings import OFFLINE, PROVIDERS, Settings, load
from ari.testing import LoopbackServer, Reply

Patch = pytest.MonkeyPatch
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def home(monkeypatch: Patch, tmp_path: Path) -> Path:
    bare_environment(monkeypatch, tmp_path)
    return tmp_path


# --- names, addresses, keys ------------------------------------------------------------------------------


def test_the_settings_the_table_and_the_documentation_know_the_same_providers() -> None:
    assert set(PROVIDERS) == {OFFLINE, *SERVICES}
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for provider in SERVICES.values():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{provider.name}` |"))
        assert provider.address is None or provider.address in row
        assert all(variable in row for variable in provider.key_variables)


def test_the_documentation_has_a_row_for_every_setting_of_models() -> None:
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    fields = {n: f for n, f in Settings.model_fields.items() if n.startswith("model_")}
    fields |= {name: Settings.model_fields[name] for name in ("model", "tool_calls", "repairs")}
    for name, field in fields.items():
        default = str(field.default).lower().removesuffix(".0")
        assert rows[name].strip("`") == default
    assert {"provider", "base_url"} <= rows.keys()


@pytest.mark.parametrize("name", ["gpt-4o", "prov-x/some-model", "openai", "openai/", "offline/x", ""])
def test_a_model_that_is_not_named_properly_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="there is no model") as caught:
        check_model(name)
    assert "ollama/<model>" in caught.value.cure


def test_a_missing_key_is_named_with_where_it_belongs() -> None:
    with pytest.raises(ConfigError, match="OPENROUTER_API_KEY is not set") as caught:
        check_model("openrouter/prov-x/some-model:free@2026")
    assert ".env (of the checkpoint, $ARI_ROOT or the home directory)" in caught.value.cure
    check_model("ollama/qwen3:8b")  # wants none


def test_the_key_of_the_checkpoint_wins_over_that_of_the_home(home: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "study"
    checkpoint.mkdir()
    (home / ".env").write_text("DEEPSEEK_API_KEY=from-the-home\n")
    assert find_service("deepseek/x", checkpoint=checkpoint).endpoint.key == "from-the-home"
    (checkpoint / ".env").write_text("DEEPSEEK_API_KEY=from-the-checkpoint\n")
    assert find_service("deepseek/x", checkpoint=checkpoint).endpoint.key == "from-the-checkpoint"


@pytest.mark.parametrize("key", ["sk-bad\nkey-of-two-lines", "sk-“quoted”"])
def test_a_key_that_cannot_be_one_is_not_repeated(monkeypatch: Patch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        check_model("openai/x")
    assert key not in str(caught.value)
    assert key not in repr(endpoint_of("ollama/x", {"OLLAMA_API_KEY": "sk-never-shown"}))


def test_an_address_belongs_to_the_provider_it_was_given_for(monkeypatch: Patch, home: Path) -> None:
    settings = home / ".config" / "ari" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"model": "vllm/m", "base_url": "http://gpu.example:8000/v1"}))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-0000")
    assert find_service("vllm/other").endpoint.address == "http://gpu.example:8000/v1"
    assert find_service("openai/gpt").endpoint.address == "https://api.openai.com/v1"
    monkeypatch.setenv("ARI_BASE_URL", "http://elsewhere.example/v1")
    assert find_service("vllm/other").endpoint.address == "http://elsewhere.example/v1"


@pytest.mark.parametrize(
    ("provider", "model", "whole"),
    [
        ("openrouter", "google/gemma-3:free", "openrouter/google/gemma-3:free"),
        ("vllm", "openai/gpt-oss-20b", "vllm/openai/gpt-oss-20b"),
        ("openrouter", "openrouter/auto", "openrouter/auto"),
        ("ollama", "qwen3:8b", "ollama/qwen3:8b"),
    ],
)
def test_a_model_named_without_its_provider(provider: str, model: str, whole: str) -> None:
    environ = {"ARI_MODEL": model, "ARI_PROVIDER": provider}
    assert load(environ=environ).settings.model == whole


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(ConfigError, match="without user and password") as caught:
        load(environ={"ARI_BASE_URL": "https://me:secret-word@models.example/v1"})
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_a_missing_client_library_is_named_with_its_cure(monkeypatch: Patch, provider: str) -> None:
    monkeypatch.setenv(SERVICES[provider].key_variables[0], "a-key-of-mine")
    for module in [m for m in sys.modules if m.startswith(f"pydantic_ai.models.{provider}")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, f"pydantic_ai.models.{provider}", None)
    with pytest.raises(ConfigError, match=f"the client library for {provider}/m is not installed") as caught:
        resolve_model(f"{provider}/m")
    assert f"ari-research[{provider}]" in caught.value.cure


def test_keys_are_masked_in_every_form() -> None:
    mask = KeyMask.of(
        {
            "A_API_KEY": "planted/with+signs",
            "B_TOKEN": "planted/with",
            "NAME": "harmless",
            "PIN_PASSWORD": "1234",
        },
        "https://me:pass-word@models.example/v1",
    )
    said = "planted/with+signs planted%2Fwith%2Bsigns me:pass-word bWU6cGFzcy13b3Jk harmless 1234"
    assert mask.text(said) == "******** ******** ******** ******** harmless 1234"
    assert mask.value({"planted/with": ["x planted/with", 1, None]}) == {"********": ["x ********", 1, None]}


# --- other wire formats ----------------------------------------------------------------------------------

ANTHROPIC_REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "It is 42."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 5, "output_tokens": 4},
}
GOOGLE_REPLY = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "It is 42."}]}, "finishReason": "STOP", "index": 0}
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 4, "totalTokenCount": 9},
    "modelVersion": "m",
}


@pytest.mark.parametrize(
    ("provider", "reply", "path", "header"),
    [
        ("anthropic", ANTHROPIC_REPLY, "/v1/messages", "authorization"),
        ("google", GOOGLE_REPLY, "/v1beta/models/odd-model:generateContent", "x-goog-api-key"),
    ],
)
def test_the_clients_of_the_other_providers_send_the_key_to_the_given_address(
    monkeypatch: Patch, provider: str, reply: dict, path: str, header: str
) -> None:
    async def ask() -> str:
        async with model:
            return (await Agent(model).run("6 times 7?")).output

    monkeypatch.setenv(SERVICES[provider].key_variables[0], "planted-key-77")
    with LoopbackServer([Reply.error(529), Reply(raw=json.dumps(reply))]) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url.removesuffix("/v1"))
        monkeypatch.setattr("ari.agent.models.steady.Patience.first_wait_s", 0.0)
        monkeypatch.setattr("asyncio.sleep", _no_wait)
        model = resolve_model(f"{provider}/odd-model")
        assert asyncio.run(ask()) == "It is 42."
    assert [request.path for request in server.requests] == [path, path]
    assert server.requests[0].headers[header].removeprefix("Bearer ") == "planted-key-77"


async def _no_wait(seconds: float, result: object = None) -> object:
    return result


# --- before anything is paid for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "asked", "known"),
    [
        ("prov-x/some-model:free@2026", MODEL, True),
        ("prov-x/some-model:free@2025", MODEL, False),
        ("qwen3:latest", "ollama/qwen3", True),
        ("qwen3:latest", "ollama/qwen3:8b", False),
        ("prov-x/some-model", "openrouter/prov-x/some-model:online", True),
        ("whatever.gguf", "llamacpp/any", None),
    ],
)
def test_a_list_of_models_says_which_are_known(
    monkeypatch: Patch, listed: str, asked: str, known: bool
) -> None:
    with LoopbackServer([], models=[listed, "other"]) as server:
        monkeypatch.setenv(f"{asked.partition('/')[0].upper()}_BASE_URL", server.url)
        assert standing_of(find_service(asked)).known is known


def test_no_list_is_no_reason_to_refuse(monkeypatch: Patch) -> None:
    with LoopbackServer([]) as server:
        point_at(monkeypatch, server)
        assert verify_model(MODEL).known is None


def test_an_unknown_model_names_the_nearest_and_may_be_insisted_on(monkeypatch: Patch) -> None:
    with LoopbackServer([], models=["prov-x/some-model:free@2025", "other"]) as server:
        point_at(monkeypatch, server)
        with pytest.raises(ConfigError, match="there is no model") as caught:
            verify_model(MODEL)
        monkeypatch.setenv("ARI_MODEL_CHECK", "false")
        assert verify_model(MODEL).known is False
    assert "Did you mean openai/prov-x/some-model:free@2025?" in caught.value.cure
    assert "ARI_MODEL_CHECK=false" in caught.value.cure


def test_a_key_that_is_refused_is_named_and_not_shown(monkeypatch: Patch) -> None:
    with LoopbackServer([], models=["m"], key="the-right-key") as server:
        point_at(monkeypatch, server)
        monkeypatch.setenv("OPENAI_API_KEY", "the-wrong-key")
        with pytest.raises(ConfigError, match="refuses the key in OPENAI_API_KEY") as caught:
            verify_model("openai/m")
        monkeypatch.delenv("OPENAI_API_KEY")
        with pytest.raises(ConfigError, match="wants a key, and OPENAI_API_KEY is not set"):
            verify_model("openai/m")
    assert "the-wrong-key" not in str(caught.value)


def test_an_address_that_lacks_its_version_is_mended(monkeypatch: Patch) -> None:
    with LoopbackServer([], models=["m"], base="/v1") as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url.removesuffix("/v1"))
        with pytest.raises(ConfigError, match="answers only below /v1") as caught:
            verify_model("ollama/m")
        assert caught.value.cure.endswith(f"OLLAMA_BASE_URL to {server.url}.")


def test_a_server_that_is_not_running_is_named_with_how_to_start_it(monkeypatch: Patch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ModelError, match=r"nothing answers for ollama/m at http://127.0.0.1:9/v1") as caught:
        verify_model("ollama/m")
    assert "(ollama serve)" in caught.value.cure
    assert "OLLAMA_BASE_URL" in caught.value.cure


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_the_other_providers_are_asked_for_the_one_model(monkeypatch: Patch, provider: str) -> None:
    monkeypatch.setenv(SERVICES[provider].key_variables[0], "planted-key-77")
    with LoopbackServer([], models=["m"]) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url.removesuffix("/v1"))
        assert verify_model(f"{provider}/m").known is True
        with pytest.raises(ConfigError, match=f"there is no model '{provider}/nobody'"):
            verify_model(f"{provider}/nobody")
