"""How long random runs are: short ones in `make test`, their full length in `make soak`."""

from __future__ import annotations

import os

SOAKING = os.environ.get("SUREHOLD_SOAK") == "1"


def length(short: int, full: int) -> int:
    """Return ``full`` if this is a soak, which finds the files that call this by its import."""
    return full if SOAKING else short
