"""What holds for the whole suite.

Property tests explore new examples on a developer's machine. Under continuous integration (`CI` is set)
they repeat the same ones, so that a green change stays green; what exploring finds becomes a test of its own.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
