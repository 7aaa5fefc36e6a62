"""Reads the named weights out of an ONNX file: just enough of its format (protocol buffers) for that.

A message is a row of fields, each a key (number and wire type) and a value. Followed here: `ModelProto.graph` (7),
`GraphProto.node` (1), `NodeProto.attribute` (5), `AttributeProto.name` (1), `.t` (5) and `.g` (6), `TensorProto.dims`
(1), `.data_type` (2), `.name` (8) and `.raw_data` (9). Reference: onnx.proto, and the page on the encoding in the
documentation of protocol buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from backend.errors import BadRequest

Weights = dict[str, NDArray[np.float32]]

_FLOAT = 1
"""`TensorProto.DataType.FLOAT`."""


class BadModel(BadRequest):
    """The file is not an ONNX model as we know them."""

    hint = "Install the project's requirements again."


def read_weights(model: bytes, branch: str) -> Weights:
    """Return every named float tensor in the graphs called `branch` (of an `If` node), by name. Raises `BadModel`."""
    try:
        graph = dict(_fields(memoryview(model)))[7]
        return dict(_of_branch(graph, branch))
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise BadModel(f"The model file cannot be read ({type(error).__name__}).") from error


Value = int | memoryview


def _of_branch(graph: Value, branch: str) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the tensors of a branch, which an `If` node keeps as an attribute that is a graph."""
    for attribute in _attributes(graph):
        if 6 in attribute:
            inside = _tensors(attribute[6]) if bytes(_view(attribute[1])) == branch.encode() else ()
            yield from inside


def _tensors(graph: Value) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the constants of a graph and of the graphs within it."""
    for attribute in _attributes(graph):
        if 5 in attribute:
            yield from _tensor(attribute[5])
        if 6 in attribute:
            yield from _tensors(attribute[6])


def _attributes(graph: Value) -> Iterator[dict[int, Value]]:
    for number, node in _fields(_view(graph)):
        if number == 1:
            for inner, attribute in _fields(_view(node)):
                if inner == 5:
                    yield dict(_fields(_view(attribute)))


def _tensor(value: Value) -> Iterator[tuple[str, NDArray[np.float32]]]:
    shape: list[int] = []
    name, raw, kind = "", b"", 0
    for number, field in _fields(_view(value)):
        match number:
            case 1:
                shape += [field] if isinstance(field, int) else _packed(field)
            case 2:
                kind = int(field) if isinstance(field, int) else 0
            case 8:
                name = bytes(_view(field)).decode()
            case 9:
                raw = bytes(_view(field))
    if name and kind == _FLOAT:
        yield name, np.frombuffer(raw, "<f4").reshape(shape)


def _fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(message, at)
            case 5:
                size = 4
            case wire_type:
                raise ValueError(f"wire type {wire_type}")
        yield key >> 3, message[at : at + size]
        at += size


def _packed(message: memoryview) -> list[int]:
    numbers, at = [], 0
    while at < len(message):
        number, at = _varint(message, at)
        numbers.append(number)
    return numbers


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """Read seven bits a byte, the lowest first; the highest bit says that more follow."""
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _view(value: Value) -> memoryview:
    if isinstance(value, int):
        raise TypeError("a number where a message was expected")
    return value
