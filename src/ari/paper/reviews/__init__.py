"""Reviews of a paper and the revisions they lead to. Opinions never block; numbers never change."""

from __future__ import annotations
