"""What `ari skills list` tells: the skills, what each is bound to, its tools and their arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ari.errors import ConfigError
from ari.pipeline.outside import installed_skills
from ari.skills import build_server
from ari.skills.boundary import SERVER_PREFIX
from ari.skills.catalogue import CATALOGUE


def describe(name: str | None = None) -> list[dict[str, Any]]:
    """Describe one skill or all of them.

    Args:
        name: The skill; None for all.

    Returns:
        Per skill: `name`, `server`, `summary`, `usage` (the options it is bound with), and `tools` with
        `name`, `description` and `arguments` (their JSON Schema).

    Raises:
        ConfigError: When there is no such skill.
    """
    installed = [known for known in installed_skills() if known not in CATALOGUE]
    names = [*CATALOGUE, *installed]
    if name is not None and name not in names:
        raise ConfigError(f"there is no skill {name!r}", cure=f"Available: {', '.join(names)}.")
    return [
        _skill(known) if known in CATALOGUE else _installed(known) for known in names if name in (None, known)
    ]


def _installed(name: str) -> dict[str, Any]:
    """A skill of another distribution: what its tools are is known only once it is bound."""
    summary = "brought by another distribution; its tools are known once it is served"
    return {"name": name, "server": None, "summary": summary, "usage": "[--option KEY=VALUE]", "tools": []}


def _skill(name: str) -> dict[str, Any]:
    info = CATALOGUE[name]
    tools = asyncio.run(build_server(name, None).list_tools())
    return {
        "name": name,
        "server": f"{SERVER_PREFIX}{name}",
        "summary": info.summary,
        "usage": info.usage,
        "tools": [
            {"name": tool.name, "description": tool.description, "arguments": tool.input_schema}
            for tool in tools
        ],
    }


def lines(described: Sequence[Mapping[str, Any]], *, arguments: bool) -> Iterator[str]:
    """The description as text.

    Args:
        described: A result of `describe`.
        arguments: Whether to tell the arguments of each tool.
    """
    for place, skill in enumerate(described):
        if place:
            yield ""
        yield f"{skill['name']}  {skill['summary']}"
        yield f"    options: {skill['usage'] or 'none'}"
        for tool in skill["tools"]:
            yield f"    {tool['name']}: {tool['description'].splitlines()[0]}"
            if arguments:
                yield from _arguments(tool["arguments"])


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    needed = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        default = "" if name in needed else f" (default {field.get('default')!r})"
        yield f"        {name}{default}: {field.get('description', '')}"
