"""`settings.json` of a checkpoint, which never holds a secret.

Keys live in `.env`; the file names at most the variable that holds one (`token_env`). `secret_pointers`
finds what looks like a secret by its key or by its form; no message ever repeats a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from ari.errors import FormatError
from ari.formats.base import FormatModel
from ari.formats.jsonio import Json, pointer

_SECRET_KEY = re.compile(
    r"(?:^|[^a-z])(?:api[^a-z]?keys?|keys?|access[^a-z]?keys?|secrets?|tokens?|passwords?|passwd|passphrase|pwd"
    r"|credentials?|auth(?:orization)?|bearer|private[^a-z]?keys?)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_VALUE = re.compile(
    r"(?:^|[\s\"'=:])(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|xox[abprs]-[\w-]{10,}|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|^Bearer\s+\S{8,}|^[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@"
)

_SECRET_TEXT = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}"
    r"|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
)
HIDDEN = "********"
"""Stands in place of a secret."""


class Hpc(FormatModel):
    """Where batch jobs go."""

    partition: str | None = None
    cpus: int | None = None


class Registry(FormatModel):
    """A registry of bundles; `token_env` names the variable that holds its token."""

    name: str
    url: str
    token_env: str | None = None


class CheckpointSettings(FormatModel):
    """The whole file."""

    model: str | None = None
    provider: str | None = None
    hpc: Hpc | None = None
    registries: list[Registry] = Field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the document.

        Raises:
            FormatError: If it holds a secret; the value is not repeated.
        """
        document = super().to_dict()
        require_no_secrets(document, source="settings.json")
        return document


def secret_pointers(document: Json, *place: str | int) -> Iterator[str]:
    """Find what looks like a secret.

    Args:
        document: Parsed settings.
        *place: Where the document stands in a larger one.

    Returns:
        JSON pointers to the values, in document order.
    """
    if isinstance(document, Mapping):
        for key, value in document.items():
            if _is_secret(str(key), value):
                yield pointer(*place, key)
            else:
                yield from secret_pointers(value, *place, key)
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from secret_pointers(value, *place, index)
    elif isinstance(document, str) and _SECRET_VALUE.search(document):
        yield pointer(*place)


def _is_secret(key: str, value: object) -> bool:
    named = _SECRET_KEY.search(_CAMEL.sub("_", key)) is not None
    return named and isinstance(value, str) and bool(value.strip())


def require_no_secrets(document: Mapping[str, Any], *, source: str) -> None:
    """Refuse settings that hold a secret.

    Args:
        document: Parsed settings.
        source: Name of the file for the message.

    Raises:
        FormatError: If there is one; names the places, never the values.
    """
    found = list(secret_pointers(document))
    if found:
        raise FormatError(
            f"{source} would hold a secret at {', '.join(found)}",
            cure="Put it into .env (or the environment) and name the variable here, e.g. token_env.",
        )


def without_secret_texts(document: Json) -> Json:
    """Copy a JSON value with every text that looks like a secret replaced, whatever its key.

    Args:
        document: Any JSON value.

    Returns:
        The copy; keys are kept.
    """
    if isinstance(document, Mapping):
        return {key: without_secret_texts(value) for key, value in document.items()}
    if isinstance(document, list):
        return [without_secret_texts(value) for value in document]
    if isinstance(document, str):
        return _SECRET_TEXT.sub(HIDDEN, document)
    return document
