"""Keys never leave the process: masking them in whatever a service or its client library says.

A server may echo the key it was sent, a client library may print headers or addresses. Everything that comes
back from a service passes through a `KeyMask` before it can reach a file, a log or an error.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from ari.settings import MASK, is_secret_name

SHORTEST_KEY = 6
"""Shorter values are no keys; masking them would garble ordinary words."""


class KeyMask:
    """Replaces secrets by asterisks.

    Args:
        secrets: The values; each is also found percent-encoded, and in Base64 as part of `user:password`.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= SHORTEST_KEY:
                forms |= {secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode()}
        # The longest first: a key that is part of another must not leave the other's rest standing.
        self._forms = sorted(forms, key=len, reverse=True)

    @classmethod
    def of(cls, environment: Mapping[str, str], *addresses: str | None) -> KeyMask:
        """The mask for every secret of an environment and of the addresses in use.

        Args:
            environment: Variables, those of the `.env` files included.
            *addresses: Base URLs, which may hold a user and a password.
        """
        secrets = [value for name, value in environment.items() if is_secret_name(name)]
        urls = [value for name, value in environment.items() if name.endswith("_URL")]
        for address in [*urls, *(a for a in addresses if a)]:
            secrets += _of_address(address)
        return cls(secrets)

    def text(self, text: str) -> str:
        """Copy a text with every secret masked."""
        for form in self._forms:
            text = text.replace(form, MASK)
        return text

    def value(self, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Copy a JSON value with every secret masked, in keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value


def _of_address(address: str) -> list[str]:
    """Secrets in a URL: its password, and user and password together."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no URL, so nothing of it is one's secret; whoever uses it will complain
        return []
    return [text for text in (parts.password, parts.netloc.rpartition("@")[0]) if text]
