"""`python -m ari.schemas`: rewrite the schema files from the models."""

from __future__ import annotations

from pathlib import Path

from ari.schemas.generate import write

for _path in write(Path(__file__).parent):
    print(_path.name)
