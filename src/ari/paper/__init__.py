"""The paper of a finished study: prose from its data, LaTeX, reviews, the proof of the printed formula."""

from __future__ import annotations
