"""`python -m ari`: the command line `ari`."""

from __future__ import annotations

import sys

from ari.cli import main

if __name__ == "__main__":
    sys.exit(main())
