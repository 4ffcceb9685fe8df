"""`meta.json`: who the run is, where it comes from, and what it began with.

Beyond identity and versions it holds the hashes of the data and of the prompts (`data_hashes`, `prompts`:
path to SHA-256) and the commitment to the sealed rows (`sealed`), so that a resumed run can refuse changed
data and a reader can check that the hold-out was fixed before the search began. `replay_of` names
the study whose recordings answer for models and commands in this one.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ari.formats.base import FormatModel
from ari.formats.nodes_tree import Sha256


class Meta(FormatModel):
    """The whole file."""

    schema_version: Literal[1] = 1
    run_id: str = Field(min_length=1)
    parent_run_id: str | None = None
    replay_of: str | None = None
    seed: int | None = None
    created_at: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    data_hashes: dict[str, Sha256] = Field(default_factory=dict)
    prompts: dict[str, Sha256] = Field(default_factory=dict)
    sealed: dict[str, Any] | None = None
    recursion_depth: int = Field(default=0, ge=0)
    max_recursion_depth: int | None = None
