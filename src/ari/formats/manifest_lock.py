"""`manifest.lock` of a published bundle: its files, their hashes, and one hash of them all.

`bundle_sha256` depends on nothing but the files: one record (path, sha256, size) a file, sorted by path in
code-point order, wrapped with `version` 1 and written as JSON with sorted keys, without blanks, non-ASCII
unescaped, in UTF-8. It is the hash that a paper carries as its code digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

from ari.formats.base import FormatModel
from ari.formats.nodes_tree import Sha256


class BundleFile(FormatModel):
    """One file of the bundle."""

    path: str = Field(min_length=1)
    sha256: Sha256
    size: int = Field(ge=0)


class ManifestLock(FormatModel):
    """The whole file."""

    version: Literal[1]
    bundle_sha256: Sha256
    files: list[BundleFile]
    checkpoint_id: str | None = None
    created_at: str | None = None
    excluded_count: int = Field(default=0, ge=0)
    publish: dict[str, Any] = Field(default_factory=dict)


def bundle_digest(files: Iterable[Mapping[str, Any]]) -> str:
    """Compute the hash of a bundle.

    Args:
        files: Objects with `path` (POSIX, relative), `sha256` and `size`; other keys play no part.

    Returns:
        SHA-256 in lower-case hexadecimal.
    """
    records = [{"path": f["path"], "sha256": f["sha256"], "size": f["size"]} for f in files]
    records.sort(key=lambda record: record["path"])
    text = json.dumps(
        {"files": records, "version": 1}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
