"""What an ONNX file says about itself, read without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from holdfast.data.models.extras import needed
from holdfast.data.models.payload import TRUTHS, Label
from holdfast.errors import InvalidInput

_RANDOM = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
_CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_PASSING = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Flatten"})
_CLASSIFIERS = frozenset({"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"})


class Graph:
    """A parsed model that has nothing in it which is refused."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.graph = model.graph
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self._producers = {name: node for node in self.graph.node for name in node.output if name}

    @classmethod
    def of(cls, content: bytes) -> Graph:
        """Read a file; InvalidInput if it is no model, or one that is not evaluated here."""
        onnx = needed("onnx", "an ONNX model")
        try:
            model = onnx.load_model_from_string(content)
        except Exception as error:
            required = "an ONNX model"
            got = f"{len(content):,} bytes of something else"
            raise InvalidInput("the model", required, got) from error
        if not model.graph.node or not model.graph.output:
            raise InvalidInput("the model", "an ONNX model", "without nodes or outputs")
        graph = cls(model)
        graph._refuse()
        return graph

    # ------------------------------------------------------------------------ refusals

    def _refuse(self) -> None:
        onnx = needed("onnx", "an ONNX model")
        for node in self._all_nodes():
            operator = node.op_type
            drops = operator == "Dropout" and len(node.input) > 2 and bool(node.input[2])
            if operator in _RANDOM or drops:
                raise _refused("without random operators", operator)
            kinds = {attribute.type for attribute in node.attribute}
            graphs = {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS}
            holds = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
            if operator in _CONTROL or kinds & graphs or holds:
                raise _refused("without loops, branches and inner graphs", operator)
        for tensor in self._all_tensors():
            outside = onnx.TensorProto.EXTERNAL
            if tensor.data_location == outside or len(tensor.external_data):
                raise _refused("in one file, without external data", tensor.name)
        for given in self.inputs:
            dims = given.type.tensor_type.shape.dim
            if dims and dims[0].HasField("dim_value") and dims[0].dim_value != 1:
                first = dims[0].dim_value
                hint = "export it with a dynamic batch axis"
                required = "for any number of records"
                raise InvalidInput("the model", required, f"for exactly {first}", hint)

    def _all_nodes(self) -> Iterator[Any]:
        yield from self.graph.node
        for function in self.model.functions:
            yield from function.node

    def _all_tensors(self) -> Iterator[Any]:
        yield from self.graph.initializer
        for sparse in self.graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
        for node in self._all_nodes():
            for attribute in node.attribute:
                yield attribute.t
                yield from attribute.tensors

    # --------------------------------------------------------------------------- facts

    @property
    def inputs(self) -> list[Any]:
        """What has to be fed."""
        return [given for given in self.graph.input if given.name not in self.initializers]

    @property
    def classes(self) -> tuple[Label, ...] | None:
        """The labels, in the order of the scores, if the model says them."""
        for node in self.graph.node:
            if node.op_type == "ZipMap":
                return _listed(node)
        onnx = needed("onnx", "an ONNX model")
        kinds = onnx.TensorProto
        whole = (kinds.INT64, kinds.INT32, kinds.STRING, kinds.BOOL)
        widths = []
        for output in self.graph.output:
            tensor = output.type.tensor_type
            if tensor.elem_type in whole:
                found = self._traced(output.name)
                if found is not None:
                    return found
                if tensor.elem_type == kinds.BOOL:
                    return TRUTHS
            elif tensor.elem_type in (kinds.FLOAT, kinds.DOUBLE):
                widths.append(_width(tensor))
        labelled = len(widths) < len(self.graph.output)
        if not widths or widths[0] is None:
            return None
        if widths[0] > 1:
            return tuple(range(widths[0]))
        return None if labelled else TRUTHS

    def _traced(self, name: str) -> tuple[Label, ...] | None:
        """The classes of the node that a label comes from."""
        for _ in range(len(self.graph.node)):
            node = self._producers.get(name)
            if node is None:
                return None
            if node.op_type in _CLASSIFIERS:
                return _listed(node)
            if node.op_type == "LabelEncoder":
                return _encoded(node)
            if node.op_type in ("ArrayFeatureExtractor", "Gather"):
                return self._constant(node.input[0])
            if node.op_type not in _PASSING:
                return None
            name = node.input[0]
        return None

    def _constant(self, name: str) -> tuple[Label, ...] | None:
        onnx = needed("onnx", "an ONNX model")
        for _ in range(len(self.graph.node) + 1):
            if name in self.initializers:
                array = onnx.numpy_helper.to_array(self.initializers[name])
                return tuple(_plain(value) for value in np.ravel(array).tolist())
            node = self._producers.get(name)
            if node is None or node.op_type not in _PASSING:
                return None
            name = node.input[0]
        return None


def _width(tensor: Any) -> int | None:
    """Numbers for each record, as declared."""
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    if len(dims) == 1:
        return 1
    if len(dims) == 2 and dims[1].HasField("dim_value"):
        return int(dims[1].dim_value)
    return None


def _attributes(node: Any) -> Mapping[str, Any]:
    return {attribute.name: attribute for attribute in node.attribute}


def _listed(node: Any) -> tuple[Label, ...] | None:
    given = _attributes(node)
    for name in ("classlabels_ints", "classlabels_int64s"):
        if name in given and given[name].ints:
            return tuple(int(value) for value in given[name].ints)
    if "classlabels_strings" in given and given["classlabels_strings"].strings:
        return tuple(_plain(value) for value in given["classlabels_strings"].strings)
    return None


def _encoded(node: Any) -> tuple[Label, ...] | None:
    given = _attributes(node)
    if "values_strings" in given:
        return tuple(_plain(value) for value in given["values_strings"].strings)
    if "values_int64s" in given:
        return tuple(int(value) for value in given["values_int64s"].ints)
    return None


def _plain(value: Any) -> Label:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    plain: Label = value
    return plain


def _refused(required: str, got: str) -> InvalidInput:
    return InvalidInput("an ONNX model", required, got)
