"""ONNX models that try to let one record move the values of others, and datasets to try them on."""

from __future__ import annotations

import numpy as np
import polars as pl
from onnx import TensorProto

from support.onnx_graphs import FLOAT, f, i, ml, model, node
from support.tree_ensembles import chain, ensemble

ONE, TEXT = [("x", FLOAT, [None, 1])], [("x", TensorProto.STRING, [None, 1])]
Y = ("y", FLOAT, [None, 1])
TAILS = ["Asin", "Acos", "Atan", "Log", "Cos", "Sin", "Softplus", "Exp", "Erf", "Tanh", "Sigmoid"]
TAILS += ["Sqrt", "Elu", "Gelu", "Mish", "Selu"]
AMPLIFIED = [node("Mul", "t much", "m"), node("Floor", "m", "w"), node("Sub", "m w", "y")]


def tail(rng):
    """The last bits of elementwise kernels, as large as one likes; some by much memory or time."""
    nodes, name = [], "x"
    constants = {"much": f(10.0 ** rng.integers(5, 8))}
    if rng.random() < 0.5:  # wide, so that a tightened memory leaves room for few
        wide = int(2 ** rng.integers(3, 15))
        constants |= {"wide": np.ones((1, wide), np.float32), "last": i(1)}
        nodes = [node("MatMul", "x wide", "v")]
        name = "v"
    for at in range(rng.integers(1, 4)):
        nodes.append(node(str(rng.choice(TAILS)), name, f"a{at}"))
        name = f"a{at}"
    if "wide" in constants:
        nodes.append(node("ReduceMax", f"{name} last", "t", keepdims=1))
    else:
        nodes.append(node("Identity", name, "t"))
    return model(*nodes, *AMPLIFIED, constants=constants, inputs=ONE, output=Y, opset=20)


def hog(rng):
    """Much memory for each record, by a copy of it in many places."""
    wide = int(2 ** rng.integers(10, 20))
    operator = str(rng.choice(["Expand", "Tile", "OneHot", "Pad"]))
    constants = {"last": i(1), "much": f(1e6)}
    if operator == "OneHot":
        nodes = [
            node("Cast", "x", "n", to=7),
            node("Reshape", "n flat", "k"),
            node("OneHot", "k depth values", "v", axis=-1),
        ]
        constants |= {"flat": i(-1), "depth": np.array(wide), "values": f(0, 1)}
    elif operator == "Pad":
        nodes = [node("Pad", "x pads", "v")]
        constants |= {"pads": i(0, 0, 0, wide)}
    else:
        # One record at a time, as the proof does not know it.
        nodes = [node(operator, "x shape", "v")]
        constants |= {"shape": i(1, wide)}
    nodes += [node("Sin", "v", "s"), node("ReduceSum", "s last", "t", keepdims=1)]
    return model(*nodes, *AMPLIFIED, constants=constants, inputs=ONE, output=Y)


def time_hog(rng):
    """Much time for each record, in products, and not the same for all sizes of a call."""
    size, count = int(2 ** rng.integers(4, 10)), int(rng.integers(1, 6))
    constants = {"much": f(1e6), "w": rng.normal(size=(1, size)).astype(np.float32) / size}
    constants |= {"out": np.ones((size, 1), np.float32)}
    square = rng.normal(size=(size, size)).astype(np.float32) / size
    nodes = [node("MatMul", "x w", "v0")]
    for at in range(count):
        constants[f"w{at}"] = square
        nodes += [node("MatMul", f"v{at} w{at}", f"p{at}"), node("Tanh", f"p{at}", f"v{at + 1}")]
    nodes.append(node("MatMul", f"v{count} out", "t"))
    return model(*nodes, *AMPLIFIED, constants=constants, inputs=ONE, output=Y)


def failing(rng):
    """An index, a divisor or a text by which a record would make a call fail."""
    whole = node("Cast", "x", "n", to=7)
    table = rng.normal(size=int(rng.integers(1, 9))).astype(np.float32)
    match rng.integers(6):
        case 0:
            nodes, constants = [whole, node("Gather", "t n", "y")], {"t": table}
        case 1:
            nodes = [
                whole,
                ml("ArrayFeatureExtractor", "t n", "l"),
                node("Reshape", "l column", "y"),
            ]
            constants = {"t": table, "column": i(-1, 1)}
        case 2:
            divided = str(rng.choice(["Div", "Mod"]))
            nodes = [whole, node(divided, "seven n", "q"), node("Cast", "q", "y", to=1)]
            constants = {"seven": i(7)}
        case 3:
            nodes = [whole, node("Div", "n three", "q"), node("Cast", "q", "y", to=1)]
            constants = {"three": i(int(rng.integers(-1, 4)))}
        case 4:
            nodes = [
                whole,
                ml("OneHotEncoder", "n", "h", cats_int64s=[0, 1, 2], zeros=0),
                node("ReduceMax", "h last", "y", keepdims=0),
            ]
            constants = {"last": i(1, 2)}
        case _:
            nodes = [node("Mod", "x c", "y", fmod=1)]
            constants = {"c": f(rng.random())}
    return model(*nodes, constants=constants, inputs=ONE, output=Y)


def texts(rng):
    """Of many lengths, cast, compared, copied and encoded."""
    match rng.integers(4):
        case 0:
            nodes = [node("Cast", "x", "y", to=1)]
        case 1:
            many = " ".join(["x"] * int(rng.integers(2, 200)))
            nodes = [
                node("Concat", many, "c", axis=1),
                ml("OneHotEncoder", "c", "h", cats_strings=["a", "aa"], zeros=0),
                node("ReduceSum", "h last", "s", keepdims=0),
                node("Reshape", "s column", "t"),
                *AMPLIFIED,
            ]
        case 2:
            keys = ["a", "aa", "b" * 900]
            encoder = {"keys_strings": keys, "values_floats": [0.1, 0.2, 0.3], "default_float": 0.4}
            nodes = [ml("LabelEncoder", "x", "t", **encoder), *AMPLIFIED]
        case _:
            nodes = [node("Equal", "x word", "e"), node("Cast", "e", "y", to=1)]
    constants = {"last": i(1, 2), "column": i(-1, 1), "much": f(1e6)}
    constants |= {"word": np.array(["a"], object)}
    return model(*nodes, constants=constants, inputs=TEXT, output=Y)


def trees(rng):
    """Deep ones, and random ones."""
    if rng.random() < 0.5:
        return chain(int(rng.choice([1, 9, 63, 64, 65, 200, 2_000])))
    return ensemble(int(rng.integers(10_000)))


def mixing(rng):
    """Rows that would be put together, were they given together."""
    operator = str(rng.choice(["ReduceMean", "ReduceMax", "ReduceSum"]))
    nodes = [node(operator, "x first", "r", keepdims=1), node("Sub", "x r", "d")]
    nodes += [node("Sin", "d", "t"), *AMPLIFIED]
    constants = {"first": i(0), "much": f(1e6)}
    return model(*nodes, constants=constants, inputs=ONE, output=Y)


def crowded(rng):
    """So many copies of texts that a call on long ones fails where one on short ones does not."""
    copies = " ".join(["f1"] * int(rng.integers(50, 200)))
    nodes = [
        node(str(rng.choice(["Asin", "Atan", "Log", "Cos", "Sin", "Softplus"])), "f0", "t"),
        *AMPLIFIED[:2],
        node("Sub", "m w", "d"),
        node("Concat", copies, "c", axis=1),
        ml("OneHotEncoder", "c", "h", cats_strings=["a"], zeros=1),
        node("ReduceSum", "h last", "s", keepdims=0),
        node("Reshape", "s column", "e"),
        node("Add", "d e", "y"),
    ]
    constants = {"last": i(1, 2), "column": i(-1, 1), "much": f(1e6)}
    inputs = [("f0", FLOAT, [None, 1]), ("f1", TensorProto.STRING, [None, 1])]
    return model(*nodes, constants=constants, inputs=inputs, output=Y)


KINDS = [tail, tail, hog, time_hog, failing, texts, trees, mixing, crowded]


def hostile(seed):
    """One of them, by its number."""
    return KINDS[seed % len(KINDS)](np.random.default_rng([17, seed]))


NUMBERS = [None, float("nan"), float("inf"), -1e30, 0.0, 1e6, -1.0, 1e-42, 7.0]
TEXTS = [None, "", "a", "aa", "nan", "1" * 300, "b" * 1_024, "b" * 1_025, "c" * 50_000]


def columns_of(graph):
    """The features that a model takes: all in one input, or each in one by its name."""
    given = {one.name: one.type.tensor_type for one in graph.graph.input}
    if "x" in given:
        width = given["x"].shape.dim[1].dim_value
        given = {f"f{at}": given["x"] for at in range(width)}
    kinds = {TensorProto.STRING: "str", FLOAT: "float"}
    return {name: kinds[tensor.elem_type] for name, tensor in given.items()}


def neighbours(rng, columns, count):
    """Two frames that differ in one record, and which."""
    at = int(rng.integers(count))
    frames = []
    for name, kind in columns.items():
        if kind == "str":
            long = rng.random() < 0.5
            values = rng.choice(["b" * 1_000] if long else ["a", "aa", "b", "0.5"], count).tolist()
            other = TEXTS[rng.integers(len(TEXTS))]
        else:
            values = (rng.random(count) * 2 - 0.5).tolist()
            for place in rng.integers(0, count, int(rng.integers(0, 4))).tolist():
                values[place] = NUMBERS[rng.integers(len(NUMBERS))]
            other = None if rng.random() < 0.5 else NUMBERS[rng.integers(len(NUMBERS))]
        stored = pl.String if kind == "str" else pl.Float64
        both = (values, [*values[:at], other, *values[at + 1 :]])
        frames.append([pl.Series(name, one, stored) for one in both])
    before, after = (pl.DataFrame(list(one)) for one in zip(*frames, strict=True))
    return before, after, at
