"""Names for the graphs within an ONNX model: onnxruntime's format loses them, and its reader of ONNX requires them.

Numbers are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from backend.media.protobuf import Value, field, fields

BRANCHES = (7, 1, 5, 6)
"""ModelProto.graph, GraphProto.node, NodeProto.attribute, AttributeProto.g: the branches of an `If`."""
GRAPH_NAME = 2


def with_named_branches(model: bytes) -> bytes:
    """Return the model with a name for each graph within its graph."""
    return _named(memoryview(model), BRANCHES)


def _named(message: Value, path: tuple[int, ...]) -> bytes:
    assert isinstance(message, memoryview)
    if not path:
        return bytes(message) + field(GRAPH_NAME, b"branch")
    return b"".join(
        field(number, _named(value, path[1:])) if number == path[0] else whole
        for number, value, whole in fields(message)
    )
