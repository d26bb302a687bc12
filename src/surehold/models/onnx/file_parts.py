"""The parts of an ONNX file: how many there are, and that none is of a kind that is not allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from surehold.models.onnx.nodes import onnx, refusal

MOST_PARTS = 1_000_000
"""Messages and fields in a file, of which each takes many times its bytes once it is read."""
MOST_DEPTH = 32
MOST_NUMBERS = 1 << 27
"""Numbers in all constants together."""
LONGEST_TEXT = 1_000
"""Bytes of a label or category. If some were much longer, the time would show which a record has.
"""

_RUNS = {
    0x3D: re.compile(rb"(?:=[\x00-\xff]{4}){1,4096}"),
    0x40: re.compile(rb"(?:@[\x80-\xff]{0,9}[\x00-\x7f]){1,4096}"),
    0x4A: re.compile(rb"(?:J\x04LEAF|J\x09BRANCH_[A-Z]{2}|J\x0aBRANCH_[A-Z]{3}){1,4096}"),
}
"""Many numbers of an attribute, each with a tag of its own, and the names in the nodes of trees."""


def count_parts(content: bytes, kind: Any) -> None:
    """Refuse a file with too many parts, before memory is taken for each of them."""
    parts, below = 0, dict[str, dict[int, Any]]()
    waiting = [(0, len(content), kind, 0)]
    while waiting:
        at, stop, kind, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise refusal("made of parts that are not deeply nested", "deeply nested")
        runs = _RUNS if kind.name == "AttributeProto" else {}
        if kind.full_name not in below:
            fields = {field.number: field.message_type for field in kind.fields}
            below[kind.full_name] = {number: one for number, one in fields.items() if one}
        inner = below[kind.full_name]
        while at < stop:
            parts += 1
            if parts > MOST_PARTS:
                raise refusal(f"of at most {MOST_PARTS:,} parts", "larger")
            tag = content[at]
            if tag in runs and (run := runs[tag].match(content, at, stop)) is not None:
                at = run.end()
                continue
            tag, at = (tag, at + 1) if tag < 128 else _varint(content, at)
            match tag & 7:
                case 2:
                    size, at = _varint(content, at)
                    if size and tag >> 3 in inner:
                        waiting.append((at, at + size, inner[tag >> 3], depth + 1))
                    at += size
                case 0:
                    _, at = _varint(content, at)
                case 1:
                    at += 8
                case 5:
                    at += 4
                case _:
                    raise ValueError
        if at != stop:
            raise ValueError


def _varint(content: bytes, at: int) -> tuple[int, int]:
    if content[at] < 128:
        return content[at], at + 1
    found = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError


def check_parts(model: Any) -> None:
    """Refuse what a model may not contain, in whatever corner of it."""
    kinds, outside = onnx().AttributeProto, onnx().TensorProto.EXTERNAL
    fields = {kinds.FLOAT: "f", kinds.INT: "i", kinds.STRING: "s", kinds.TENSOR: "t"}
    fields |= {kinds.FLOATS: "floats", kinds.INTS: "ints", kinds.STRINGS: "strings"}
    numbers = graphs = 0
    for part in _walk(model):
        match part.DESCRIPTOR.name:
            case "TensorProto":
                if part.data_location == outside or len(part.external_data):
                    raise refusal("in one file, without external data", part.name)
                numbers += _size(part)
                if numbers > MOST_NUMBERS:
                    raise refusal(f"of at most {MOST_NUMBERS:,} constant numbers", "larger")
            case "SparseTensorProto":
                raise refusal("without sparse tensors", "one with them")
            case "FunctionProto" | "TrainingInfoProto":
                raise refusal("without functions and training of its own", "one with them")
            case "GraphProto":
                graphs += 1
                if graphs > 1:
                    raise refusal("without loops, branches and inner graphs", part.name)
            case "AttributeProto":
                if max(map(len, (part.s, *part.strings))) > LONGEST_TEXT:
                    raise _long_text(part)
                present = {field.name for field, _ in part.ListFields()}
                if not present <= {"name", "type", "doc_string", fields.get(part.type)}:
                    raise refusal("of numbers, texts and tensors as attributes", part.name)


def _walk(model: Any) -> Iterator[Any]:
    """All messages, whatever field they are in."""
    waiting = [model]
    while waiting:
        part = waiting.pop()
        yield part
        if part.DESCRIPTOR.name == "TensorProto":
            continue  # only texts and numbers below, of which a list would make a copy
        for field, value in part.ListFields():
            if field.message_type is not None:
                waiting.extend([value] if hasattr(value, "DESCRIPTOR") else value)


def _size(tensor: Any) -> int:
    """How many numbers a tensor declares, which must be as many as it has."""
    kinds = _storage()
    if tensor.data_type not in kinds or tensor.HasField("segment"):
        raise refusal("of constants of usual types", tensor.name)
    size, field = kinds[tensor.data_type]
    filled = {name for _, name in kinds.values() if len(getattr(tensor, name))}
    count: int = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        is_whole = size > 0 and not filled and len(tensor.raw_data) == count * size
    else:
        is_whole = filled <= {field} and len(getattr(tensor, field)) == count
    if any(len(text) > LONGEST_TEXT for text in tensor.string_data):
        raise _long_text(tensor)
    if not is_whole or any(dim < 0 for dim in tensor.dims):
        raise refusal("of constants with as many numbers as they declare", tensor.name)
    return count


def _long_text(part: Any) -> Exception:
    return refusal(f"of texts of at most {LONGEST_TEXT:,} bytes", part.name)


def _storage() -> Mapping[int, tuple[int, str]]:
    """For each type the bytes of a number (0: any), and its field unless it is in raw_data."""
    kinds = onnx().TensorProto
    return {
        **dict.fromkeys((kinds.INT8, kinds.UINT8, kinds.BOOL), (1, "int32_data")),
        **dict.fromkeys((kinds.INT16, kinds.UINT16, kinds.FLOAT16), (2, "int32_data")),
        kinds.INT32: (4, "int32_data"),
        kinds.INT64: (8, "int64_data"),
        kinds.UINT32: (4, "uint64_data"),
        kinds.UINT64: (8, "uint64_data"),
        kinds.FLOAT: (4, "float_data"),
        kinds.DOUBLE: (8, "double_data"),
        kinds.STRING: (0, "string_data"),
    }
