"""Power that fails at random moments: nothing that anybody was told of is lost.

losses.py does it as often as one likes, and prints the figures.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from power.losses import run
from support.soak import length

LOSSES = length(60, full=1000)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="the recorder needs Linux and a C compiler",
)


@pytest.mark.parametrize(("guard", "losses"), [("noise", LOSSES), ("surprise", LOSSES // 2)])
def test_power_lost_at_random_moments(tmp_path: Path, guard: str, losses: int) -> None:
    seen = run(tmp_path, losses, seed=1, guard=guard)
    assert seen["losses"] == losses
    for what in ("appends", "seals", "tokens", "revocations", "models"):
        assert seen[f"{what} acknowledged"] > 0
    assert seen["answers told"] > 0
