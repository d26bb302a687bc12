"""The evaluation of a block by an ONNX model: calls on full cells, and nothing else.

No record decides whether a call fails (:mod:`surehold.models.onnx.graph`), so there is nothing to
search for: if a call still fails, the machine is the cause, and the whole evaluation fails.
"""

from __future__ import annotations

import time

import numpy as np

from surehold.data.process.blocks import Block
from surehold.data.process.channel import FULL, GOOD, Notes
from surehold.data.process.evaluators import Evaluator, Want


def evaluate_cells(
    model: Evaluator, block: Block, filling: Block, want: Want, notes: Notes, cell: int
) -> None:
    """Evaluate every remaining cell; the last is filled up with made-up rows.

    Exceptions from the model pass through.
    """
    for at, start in enumerate(range(0, len(block), cell)):
        if notes.done[at]:
            continue
        stop = min(start + cell, len(block))
        whole = stop - start == cell
        part = block.slice(start, stop) if whole else block.filled(start, stop, filling)
        notes.call[1:6] = FULL, start, 0, stop - start, notes.call[5] + 1
        notes.call[0] = time.monotonic_ns()
        try:
            found = model(part, want)
        finally:
            notes.call[0] = 0
        notes.values[start:stop] = found[: stop - start]
        notes.verdicts[start:stop] = np.uint8(GOOD)
        notes.done[at] = 1
