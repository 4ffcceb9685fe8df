"""The texts that instruct models: Markdown files in `ari/configs/prompts/`, below a head with a version."""

from __future__ import annotations

from importlib.resources import files


def prompt_text(name: str) -> str:
    """The text of a prompt without its head."""
    text = (files("ari.configs") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    return text.split("---\n", 2)[2].strip()
