"""Graphs that may mix the rows of records, and whether the runtime mixes them."""

from __future__ import annotations

import numpy as np
import onnxruntime

from support.onnx_graphs import FLOAT, i, ml, model, node

TREE = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.3, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 7.0],
    "n_targets": 1,
}
LINEAR = {"coefficients": [1.0, 2.0, -1.0], "intercepts": [0.5]}
X = np.array([[0.1, -2, 3], [1, 0.5, -1], [2, 2, 0.25], [-1, 0, 4]], np.float32)


def session(graph):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def mixes(graph, given=X):
    """Whether another record changes a record's row, or their number does; None if it can't run."""
    try:
        run = session(graph)
        before = run.run(None, {"x": given})
    except Exception:
        return None
    if any(np.ndim(found) == 0 or len(found) != len(given) for found in before):
        return True
    rng = np.random.default_rng(1)
    for kept in range(len(given)):
        for _ in range(2):
            other = rng.normal(size=given.shape).astype(np.float32) * 3
            other[kept] = given[kept]
            after = run.run(None, {"x": other})
            for old, new in zip(before, after, strict=True):
                if not np.allclose(old[kept], new[kept], rtol=1e-4, atol=1e-5, equal_nan=True):
                    return True
    return False


WIDTHS = [1, 2, 3, 6]
UNARY = ["Relu", "Abs", "Neg", "Tanh", "Sigmoid", "Identity", "Floor", "Erf"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"]
SHAPES = [[-1, 3], [0, -1], [0, 3], [-1], [-1, 1], [3, -1], [0, 3, 1], [-1, 1, 3], [4, -1], [-1, 2]]
CONSTANTS = [
    (),
    (1,),
    (3,),
    (4,),
    (1, 3),
    (1, 1),
    (4, 3),
    (4, 1),
    (3, 3),
    (1, 1, 3),
    (3, 1),
    (2, 3),
]


def random_graph(choose):
    """Nodes one after the other, each taking what there is; most are valid, and many mix."""
    names, nodes, constants = ["x"], [], {}

    def constant(value):
        name = f"c{len(constants)}"
        constants[name] = value
        return name

    for at in range(choose.randint(1, 5)):
        source, out = choose.choice(names[-2:]), f"v{at}"
        axis = choose.choice([-2, -1, 0, 1, 1, 2])
        kind = choose.randrange(14)
        shape = choose.choice(CONSTANTS)
        values = np.asarray(np.random.default_rng(at).normal(size=shape), np.float32)
        match kind:
            case 0:
                made = node(choose.choice(UNARY), source, out)
            case 1 | 2:
                other = choose.choice([*names, constant(values)])
                made = node(choose.choice(BINARY), f"{source} {other}", out)
            case 3:
                how = choose.choice(["ReduceMean", "ReduceSum", "ReduceMax"])
                keep = choose.randint(0, 1)
                made = node(how, f"{source} {constant(i(axis))}", out, keepdims=keep)
            case 4:
                made = node(choose.choice(["Softmax", "LogSoftmax"]), source, out, axis=axis)
            case 5:
                made = node("Reshape", f"{source} {constant(i(*choose.choice(SHAPES)))}", out)
            case 6:
                left = choose.random() < 0.3
                pair = [source, constant(values)]
                made = node("MatMul", " ".join(reversed(pair) if left else pair), out)
            case 7:
                turned = {"transA": choose.randint(0, 1), "transB": choose.randint(0, 1)}
                made = node("Gemm", f"{source} {constant(values)}", out, **turned)
            case 8:
                made = node("Concat", f"{source} {choose.choice(names)}", out, axis=axis)
            case 9:
                made = node("Gather", f"{source} {constant(i(0))}", out, axis=axis)
            case 10:
                made = node(
                    choose.choice(["Squeeze", "Unsqueeze"]), f"{source} {constant(i(axis))}", out
                )
            case 11:
                perm = choose.choice([[1, 0], [0, 1], [0, 2, 1], [1, 0, 2]])
                made = node("Transpose", source, out, perm=perm)
            case 12:
                made = choose.choice(
                    [
                        ml("Normalizer", source, out, norm="L2"),
                        ml("LinearRegressor", source, out, **LINEAR),
                        ml("TreeEnsembleRegressor", source, out, **TREE),
                        ml(
                            "FeatureVectorizer",
                            source,
                            out,
                            inputdimensions=[choose.choice(WIDTHS)],
                        ),
                        node("Flatten", source, out, axis=choose.choice([0, 1, 1, 2])),
                        node("CumSum", f"{source} {constant(np.array(axis))}", out),
                    ]
                )
            case _:
                made = node("Where", f"{constant(values > 0)} {source} {choose.choice(names)}", out)
        nodes.append(made)
        names.append(out)
    return model(*nodes, constants=constants, output=(names[-1], FLOAT, None))
