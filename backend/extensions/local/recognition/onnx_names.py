"""Names for the graphs within an ONNX model: onnxruntime's own format loses them, and its reader of ONNX asks for them.

An ONNX file is a protocol buffer: a message is a row of fields, each a key (number and wire type) and a value. Numbers
are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

from collections.abc import Iterator

BRANCHES = (7, 1, 5, 6)
"""ModelProto.graph, GraphProto.node, NodeProto.attribute, AttributeProto.g: the branches of an `If`."""
GRAPH_NAME = 2


def with_named_branches(model: bytes) -> bytes:
    """Return the model with a name for each graph within its graph."""
    return _named(memoryview(model), BRANCHES)


def _named(message: memoryview, path: tuple[int, ...]) -> bytes:
    if not path:
        return bytes(message) + _field(GRAPH_NAME, b"branch")
    return b"".join(
        _field(number, _named(value, path[1:])) if number == path[0] else whole
        for number, value, whole in _fields(message)
    )


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Yield each field's number, its content, and its whole encoding."""
    at = 0
    while at < len(message):
        begin = at
        key, at = _read_varint(message, at)
        content = at
        match key & 7:
            case 0:
                _, at = _read_varint(message, at)
            case 2:
                length, content = _read_varint(message, at)
                at = content + length
            case kind:
                at += 4 if kind == 5 else 8
        yield key >> 3, message[content:at], message[begin:at]


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    """Read seven bits a byte, the lowest first; the highest bit says that more follow."""
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content
