"""Two small ONNX classifiers of two columns, and the queries for their accuracy."""

from __future__ import annotations

import numpy as np

import surehold as sh
from support.onnx_graphs import FLOAT, model, node

ABOUT = {"features": ["age", "bmi"], "target": "bmi > 25", "classes": [False, True]}


def graph(weight: float) -> bytes:
    """Of two columns, the probabilities of two classes."""
    constants = {
        "w": np.array([[weight, -weight], [0.1, -0.1]], np.float32),
        "b": np.zeros(2, np.float32),
    }
    steps = (
        node("MatMul", "x w", "h"),
        node("Add", "h b", "g"),
        node("Softmax", "g", "y", axis=1),
    )
    inputs = [("x", FLOAT, [None, 2])]
    made = model(*steps, constants=constants, inputs=inputs, output=("y", FLOAT, [None, 2]))
    return made.SerializeToString()


ONE, OTHER = graph(1.0), graph(2.0)
NEW, OLD = sh.accuracy(ONE, **ABOUT), sh.accuracy(OTHER, **ABOUT)
