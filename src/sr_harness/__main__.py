"""`python -m sr_harness`: the command line `sr-harness`."""

from __future__ import annotations

import sys

from sr_harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
