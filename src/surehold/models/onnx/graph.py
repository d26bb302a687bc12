"""What an ONNX file says about itself, read without running it, and what is refused for it.

The author of a model may want to learn more of a record than an answer says. So a model is made of
listed operators only (:mod:`.operators`), of which it is known that neither what a call takes, in
time and in memory, nor whether it fails depends on what a record holds: all sizes follow from
constants and from the sizes of the inputs (:mod:`.costs`), and :mod:`.preparation` keeps indices in
range and paths through trees equally long. Otherwise one record could use up the limits that all of
them share. Nor does a model refer to anything outside of its own bytes (:mod:`.file_parts`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from surehold.errors import InvalidInput
from surehold.models.onnx.classes import MOST_WIDTH, Labels, find_classes
from surehold.models.onnx.costs import check_costs
from surehold.models.onnx.file_parts import check_parts, count_parts
from surehold.models.onnx.nodes import onnx, refusal
from surehold.models.onnx.operators import check_operator

MOST_BYTES = 512 << 20
MOST_NODES = 100_000


class Graph:
    """A parsed model that contains nothing that is refused."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.graph = model.graph

    @classmethod
    def of(cls, content: bytes) -> Graph:
        """Read a file; InvalidInput if it is no model, or one that is not evaluated here."""
        if len(content) > MOST_BYTES:
            raise refusal(f"of at most {MOST_BYTES:,} bytes", f"of {len(content):,}")
        package = onnx()
        try:
            count_parts(content, package.ModelProto.DESCRIPTOR)
            model = package.load_model_from_string(content)
            if model.graph.node and model.graph.output:
                graph = cls(model)
                graph._check()
                return graph
        except InvalidInput:
            raise
        except Exception as error:
            got = f"{len(content):,} bytes of something else"
            raise InvalidInput("the model", "an ONNX model", got) from error
        raise InvalidInput("the model", "an ONNX model", "without nodes or outputs")

    def _check(self) -> None:
        if len(self.graph.node) > MOST_NODES:
            raise refusal(f"of at most {MOST_NODES:,} nodes", f"of {len(self.graph.node):,}")
        for node in self.graph.node:
            check_operator(node)
        check_parts(self.model)
        constants = {tensor.name for tensor in self.graph.initializer}
        for given in self.graph.input:
            dims = given.type.tensor_type.shape.dim
            if given.name in constants or not (dims and dims[0].HasField("dim_value")):
                continue
            if dims[0].dim_value != 1:
                got, hint = (
                    f"for exactly {dims[0].dim_value}",
                    "export it with a dynamic batch axis",
                )
                raise InvalidInput("the model", "for any number of records", got, hint)
        for declared in (*self.graph.input, *self.graph.output):
            if declared.name in constants:
                continue
            widest = max((dim.dim_value for dim in declared.type.tensor_type.shape.dim), default=0)
            if widest > MOST_WIDTH:
                raise refusal(f"of inputs and outputs up to {MOST_WIDTH:,} wide", f"{widest:,}")
        check_costs(self.graph)
        if self.classes is not None and len(self.classes) > MOST_WIDTH:
            raise refusal(f"of at most {MOST_WIDTH:,} classes", f"of {len(self.classes):,}")

    @cached_property
    def classes(self) -> Labels:
        """The labels, in the order of the scores, if the model says them."""
        return find_classes(self.graph)
