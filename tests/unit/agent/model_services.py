"""What the tests of models share: a bare environment, and a model that asks a loopback server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ari.testing import LoopbackServer

MODEL = "openai/prov-x/some-model:free@2026"


def bare_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No key, no address and no setting in the environment, and an empty home."""
    for name in list(os.environ):
        if name.startswith(("ARI_", "XDG_")) or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ARI_ROOT", str(home))


def point_at(monkeypatch: pytest.MonkeyPatch, server: LoopbackServer) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
