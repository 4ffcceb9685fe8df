"""LaTeX: text made safe for it, and its programs run within limits."""

from __future__ import annotations
