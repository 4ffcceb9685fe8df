"""Settings: which place wins, what is refused and how, and that no secret is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ari.errors import ConfigError
from ari.settings import (
    MASK,
    Settings,
    is_secret_name,
    load,
    masked,
    read_environment,
    without_secrets,
)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A checkpoint, a root with `ari-core`, and a home directory, all empty."""
    made = {"checkpoint": tmp_path / "run", "root": tmp_path / "root", "home": tmp_path / "home"}
    made["core"] = made["root"] / "ari-core"
    for path in made.values():
        path.mkdir(parents=True, exist_ok=True)
    return made


def environ(places: dict[str, Path], **more: str) -> dict[str, str]:
    return {"HOME": str(places["home"]), "ARI_ROOT": str(places["root"]), **more}


def write_settings(directory: Path, document: object) -> Path:
    path = directory / "settings.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_defaults_need_no_file(places: dict[str, Path]) -> None:
    loaded = load(environ=environ(places))
    assert (loaded.settings.model, loaded.settings.nodes, loaded.settings.seed) == ("offline", 12, 0)
    assert loaded.settings.parallel >= 1
    assert set(loaded.sources.values()) == {"default"}
    assert loaded.warnings == ()


def test_each_place_wins_over_the_weaker_ones(places: dict[str, Path]) -> None:
    user = places["home"] / ".config" / "ari"
    user.mkdir(parents=True)
    write_settings(user, {"nodes": 1, "seed": 1, "parallel": 1, "max_depth": 1, "lookahead": 1})
    write_settings(places["checkpoint"], {"nodes": 2, "seed": 2, "parallel": 2, "max_depth": 2})
    (places["checkpoint"] / ".env").write_text("ARI_NODES=3\nARI_SEED=3\nARI_PARALLEL=3\n", encoding="utf-8")
    env = environ(places, ARI_NODES="4", ARI_SEED="4")
    loaded = load(places["checkpoint"], options={"nodes": 5, "seed": None}, environ=env)
    chosen = loaded.settings
    assert (chosen.nodes, chosen.seed, chosen.parallel, chosen.max_depth, chosen.lookahead) == (5, 4, 3, 2, 1)
    assert loaded.sources["nodes"] == "--nodes"
    assert loaded.sources["seed"] == "environment ARI_SEED"
    assert loaded.sources["max_depth"].startswith(str(places["checkpoint"] / "settings.json"))


def test_dotenv_files_are_searched_in_their_order(places: dict[str, Path]) -> None:
    for number, name in enumerate(["home", "core", "root", "checkpoint"]):
        lines = "".join(f"V{index}={name}\n" for index in range(number + 1))
        (places[name] / ".env").write_text(lines, encoding="utf-8")
    (places["home"] / ".env").write_text("V0=home\nONLY_HOME=yes\nEMPTY=\n", encoding="utf-8")
    env = read_environment(places["checkpoint"], environ(places, V3="process"))
    assert [env[f"V{i}"] for i in range(4)] == ["checkpoint", "checkpoint", "checkpoint", "process"]
    assert env["ONLY_HOME"] == "yes"
    assert "EMPTY" not in env
    assert read_environment(None, environ(places))["V2"] == "root"
    (places["root"] / ".env").unlink()
    assert read_environment(None, environ(places))["V1"] == "core"


def test_an_unreadable_dotenv_is_not_taken_for_an_absent_one(places: dict[str, Path]) -> None:
    path = places["root"] / ".env"
    path.write_bytes(b"KEY=\xff\xfe\n")
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        load(environ=environ(places))
    assert str(path) in caught.value.message
    assert "UTF-8" in caught.value.cure


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"nodes": 0}, ["nodes is 0", "--nodes", "greater than or equal to 1"]),
        ({"parallel": -1}, ["parallel is -1", "--parallel"]),
        ({"node_time": float("nan")}, ["node_time is nan", "--node-time"]),
        ({"seed": True}, ["seed is True", "not true or false"]),
        ({"model": "gpt"}, ["model is 'gpt'", "offline", "openai/<model>"]),
        ({"model": "acme/large"}, ["model is 'acme/large'", "anthropic/<model>"]),
        ({"model": "openai/"}, ["model is 'openai/'"]),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_place(
    places: dict[str, Path], options: dict[str, object], parts: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(options=options, environ=environ(places))
    for part in parts:
        assert part in caught.value.message
    assert "ari settings show" in caught.value.cure


def test_a_bad_variable_and_a_bad_file_are_named(places: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match=r"nodes is 'many' \(environment ARI_NODES\)"):
        load(environ=environ(places, ARI_NODES="many"))
    with pytest.raises(ConfigError, match="ARI_HPC is not JSON"):
        load(environ=environ(places, ARI_HPC="cpu"))
    path = places["checkpoint"] / "settings.json"
    path.write_text('{\n"nodes": 3,\n}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"settings.json, line 2: not JSON"):
        load(places["checkpoint"], environ=environ(places))
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError, match="one JSON object"):
        load(places["checkpoint"], environ=environ(places))
    write_settings(places["checkpoint"], {"registries": [{"name": "a", "url": "ftp://x"}]})
    with pytest.raises(ConfigError, match=r"registries\.0\.url is 'ftp://x'"):
        load(places["checkpoint"], environ=environ(places))


def test_a_misspelt_variable_is_pointed_out(places: dict[str, Path]) -> None:
    loaded = load(environ=environ(places, ARI_NODE="4", ARI_CHECKPOINT_DIR="/x", ARI_REGISTRY_TOKEN="t"))
    assert loaded.warnings == ("the variable ARI_NODE is no setting; did you mean ARI_NODES?",)


def test_the_documented_file_is_read_and_kept(places: dict[str, Path]) -> None:
    document = {
        "model": "ollama/qwen3:32b",
        "provider": "ollama",
        "hpc": {"partition": "cpu", "cpus": 64},
        "registries": [
            {"name": "default", "url": "http://127.0.0.1:8290", "token_env": "ARI_REGISTRY_TOKEN"}
        ],
        "another_tools_key": {"kept": True},
    }
    write_settings(places["checkpoint"], document)
    settings = load(places["checkpoint"], environ=environ(places)).settings
    written = settings.to_document()
    assert {key: written[key] for key in document} == document
    assert Settings.model_validate(json.loads(json.dumps(written))).to_document() == written


def test_the_earlier_flat_shape_is_read(places: dict[str, Path]) -> None:
    flat = {"llm_model": "m", "llm_provider": "ollama", "slurm_partition": "", "slurm_cpus": None, "x": 1.5}
    write_settings(places["checkpoint"], flat)
    settings = load(places["checkpoint"], environ=environ(places)).settings
    assert (settings.model, settings.provider, settings.hpc.partition) == ("ollama/m", "ollama", None)


def test_model_and_provider_must_agree_within_one_place(places: dict[str, Path]) -> None:
    write_settings(places["checkpoint"], {"model": "openai/x", "provider": "ollama"})
    with pytest.raises(ConfigError, match=r"provider .* is 'ollama', but the model 'openai/x'"):
        load(places["checkpoint"], environ=environ(places))
    # a stronger place's model replaces a weaker place's provider too
    settings = load(places["checkpoint"], options={"model": "offline"}, environ=environ(places)).settings
    assert settings.to_document()["provider"] == "offline"


SECRETS = {
    "api_key": "s3cret",
    "nested": [{"apiKey": "s3cret", "max_token": 100, "token_env": "NAME"}],
    "url": "https://user:s3cret@example.org/x",
    "password": "s3cret",
    "OPENAI_API_KEY": "s3cret",
}


def test_secrets_are_never_written_nor_printed(places: dict[str, Path]) -> None:
    path = write_settings(places["checkpoint"], {"nodes": 3, **SECRETS})
    loaded = load(places["checkpoint"], environ=environ(places))
    assert "s3cret" not in json.dumps(loaded.settings.to_document())
    assert "s3cret" not in json.dumps(masked(SECRETS))
    assert "s3cret" not in json.dumps(without_secrets(SECRETS))
    assert masked(SECRETS)["nested"][0] == {"apiKey": MASK, "max_token": 100, "token_env": "NAME"}
    assert masked(SECRETS)["url"] == f"https://{MASK}@example.org/x"
    assert without_secrets(SECRETS) == {
        "nested": [{"max_token": 100, "token_env": "NAME"}],
        "url": f"https://{MASK}@example.org/x",
    }
    assert f"{path}: /api_key holds a secret; move it to .env" in loaded.warnings
    assert not any("s3cret" in warning for warning in loaded.warnings)


@pytest.mark.parametrize("name", ["token_env", "monkey", "primary_metric", "ARI_ROOT"])
def test_harmless_names_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)
