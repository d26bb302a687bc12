"""What every reader of ONNX files uses: the package, names, attributes, and how to refuse."""

from __future__ import annotations

from typing import Any

from surehold.errors import InvalidInput
from surehold.models.extras import load_package

MAIN, ML = "", "ai.onnx.ml"
"""The two domains of operators that are evaluated here."""


def onnx() -> Any:
    """The package, loaded when it is first used."""
    return load_package("onnx", "an ONNX model")


def domain_of(named: Any) -> str:
    """The domain of a node or an opset by the shorter of its names."""
    return MAIN if named.domain == "ai.onnx" else str(named.domain)


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node by their names."""
    return {attribute.name: attribute for attribute in node.attribute}


def refusal(required: str, got: str, hint: str = "") -> InvalidInput:
    """The error for a model that is not evaluated here."""
    return InvalidInput("an ONNX model", required, got[:100], hint)
