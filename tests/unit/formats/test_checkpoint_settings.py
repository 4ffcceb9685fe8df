"""Settings of a checkpoint: secrets are found by key and by form, refused, and never repeated."""

from __future__ import annotations

import pytest

from ari.errors import FormatError
from ari.formats.settings import CheckpointSettings, require_no_secrets, secret_pointers


@pytest.mark.parametrize(
    ("document", "places"),
    [
        ({"api_key": "x"}, ["/api_key"]),
        ({"openaiApiKey": "x"}, ["/openaiApiKey"]),
        ({"OPENAI_API_KEY": "x"}, ["/OPENAI_API_KEY"]),
        ({"llm": {"auth": {"password": "x"}}}, ["/llm/auth/password"]),
        ({"registries": [{"token": "x"}, {"token_env": "ARI_TOKEN"}]}, ["/registries/0/token"]),
        ({"note": "use sk-abcdefghijklmnopqrst please"}, ["/note"]),
        ({"list": ["ghp_abcdefghijklmnopqrstuvwxyz"]}, ["/list/0"]),
        ({"url": "https://user:pass@host.example/x"}, ["/url"]),
        ({"a/b": {"secret": "x"}}, ["/a~1b/secret"]),
        ({"api_key": ""}, []),
        ({"api_key": None}, []),
        ({"max_tokens": 100, "token_env": "ARI_TOKEN", "keyboard": "de", "monkey": "x"}, []),
        ({"url": "http://127.0.0.1:8290", "model": "ollama/qwen3:32b"}, []),
        ("text", []),
        (None, []),
    ],
)
def test_secrets_are_found(document: object, places: list[str]) -> None:
    assert list(secret_pointers(document)) == places


def test_settings_with_a_secret_are_not_written() -> None:
    settings = CheckpointSettings.model_validate({"model": "m", "extra": {"api_key": "hidden-value"}})
    with pytest.raises(FormatError) as caught:
        settings.to_bytes()
    assert "/extra/api_key" in str(caught.value)
    assert ".env" in str(caught.value)
    assert "hidden-value" not in str(caught.value)
    require_no_secrets({"model": "m"}, source="settings.json")
