"""The reader of named weights in an ONNX file knows just enough of its format (protocol buffers) for that.

Followed here: `ModelProto.graph` (7), `GraphProto.node` (1), `NodeProto.attribute` (5), `AttributeProto.name` (1),
`.t` (5) and `.g` (6), `TensorProto.dims` (1), `.data_type` (2), `.name` (8) and `.raw_data` (9). Reference: onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from backend.errors import BadRequest
from backend.media.protobuf import Value, fields, varint

Weights = dict[str, NDArray[np.float32]]


class BadModel(BadRequest):
    """The file is not an ONNX model as we know them."""

    hint = "Install the project's requirements again."


def read_weights(model: bytes, branch: str) -> Weights:
    """Return every named float tensor in the graphs called `branch` (of an `If` node), by name. Raises `BadModel`."""
    try:
        graph = _message(memoryview(model))[7][-1]
        inside = [each[6][-1] for each in _attributes(graph) if 6 in each and _text(each[1][-1]) == branch]
        return dict(named for each in inside for named in _tensors(each))
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise BadModel(f"The model file cannot be read ({type(error).__name__}).") from error


Fields = dict[int, list[Value]]
"""The values of a message by the number of their field."""


def _tensors(graph: Value) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the constants of a graph and of the graphs within it."""
    for attribute in _attributes(graph):
        for tensor in map(_message, attribute.get(5, [])):
            if 8 in tensor and tensor.get(2, [0])[-1] == 1:  # `TensorProto.DataType.FLOAT`
                shape = [size for dims in tensor.get(1, []) for size in _sizes(dims)]
                raw = tensor[9][-1] if 9 in tensor else b""
                yield _text(tensor[8][-1]), np.frombuffer(_bytes(raw), "<f4").reshape(shape)
        for inner in attribute.get(6, []):
            yield from _tensors(inner)


def _attributes(graph: Value) -> Iterator[Fields]:
    for node in _message(graph).get(1, []):
        yield from map(_message, _message(node).get(5, []))


def _message(value: Value) -> Fields:
    found = Fields()
    for number, content, _ in fields(_bytes(value)):
        found.setdefault(number, []).append(content)
    return found


def _sizes(dims: Value) -> Iterator[int]:
    """Yield dimensions, which come one by one or packed."""
    if isinstance(dims, int):
        yield dims
        return
    at = 0
    while at < len(dims):
        size, at = varint(dims, at)
        yield size


def _bytes(value: Value | bytes) -> memoryview:
    if isinstance(value, int):
        raise TypeError("a number where a message was expected")
    return memoryview(value)


def _text(value: Value) -> str:
    return bytes(_bytes(value)).decode()
