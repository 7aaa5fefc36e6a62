"""ONNX graphs rewritten so that their weights are floats in a mapped file, instead of being computed at every step.

The Moonshine model's weights are 8-bit integers, and its graph turns all of them into floats (Cast, Mul, Add) before
each token: most of its time and memory. `rewritten` does that once: it writes the floats into a file which
onnxruntime maps into memory, so that they are read from there and shared.

An ONNX file is a protocol buffer; the few fields needed are read here, because the package `onnx` is three times as
large as the model. Field numbers are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Message = bytes | memoryview
Weights = NDArray[np.float32]

_MODEL_GRAPH = 7
_NODE, _GRAPH_NAME, _INITIALIZER, _INPUT, _OUTPUT = 1, 2, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE, _NODE_ATTRIBUTE = 1, 2, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_GRAPH = 1, 6
_DIMENSIONS, _DATA_TYPE, _TENSOR_NAME, _RAW_DATA, _EXTERNAL, _LOCATION = 1, 2, 8, 9, 13, 14
_VALUE_NAME = 1
_FLOAT, _INT8, _UINT8 = 1, 3, 2
_TYPES: dict[int, np.dtype[Any]] = {_FLOAT: np.dtype("<f4"), _INT8: np.dtype("i1"), _UINT8: np.dtype("u1")}
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph."""

    operation: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    message: Message


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph's parts, by name where they have one; messages as they stand in the file."""

    head: bytes
    """The model's fields beside its graph."""
    nodes: tuple[Node, ...]
    initializers: Mapping[str, Message]
    inputs: Mapping[str, Message]
    outputs: Mapping[str, Message]


def read_graph(model: bytes, branch: str = "") -> Graph:
    """Return a model's graph; with `branch`, as it is where its one `If` takes the branch of that name."""
    view = memoryview(model)
    head = b"".join(whole for number, _, whole in _fields(view) if number != _MODEL_GRAPH)
    outer = _one(view, _MODEL_GRAPH)
    nodes = [_node(each) for each in _all(outer, _NODE)]
    initializers, outputs = list(_all(outer, _INITIALIZER)), outer
    if branch:
        choice = next(node for node in nodes if node.operation == "If")
        outputs = next(
            _one(each, _ATTRIBUTE_GRAPH)
            for each in _all(choice.message, _NODE_ATTRIBUTE)
            if _text(each, _ATTRIBUTE_NAME) == branch
        )
        nodes = [node for node in nodes if node is not choice] + [_node(each) for each in _all(outputs, _NODE)]
        initializers += _all(outputs, _INITIALIZER)
    return Graph(
        head,
        tuple(nodes),
        {_text(each, _TENSOR_NAME): each for each in initializers},
        {_text(each, _VALUE_NAME): each for each in _all(outer, _INPUT)},
        {_text(each, _VALUE_NAME): each for each in _all(outputs, _OUTPUT)},
    )


def float_weights(graph: Graph) -> dict[str, Weights]:
    """Return every tensor that the graph computes from 8-bit weights alone: weights × scale + offset."""
    made = {node.outputs[0]: node for node in graph.nodes}
    found: dict[str, Weights] = {}
    for name, add in made.items():
        if add.operation != "Add" or (scaled := made.get(add.inputs[0])) is None or scaled.operation != "Mul":
            continue
        cast = made.get(scaled.inputs[0])
        if cast is None or cast.operation != "Cast" or cast.inputs[0] not in graph.initializers:
            continue
        numbers = _tensor(graph.initializers[cast.inputs[0]])
        found[name] = numbers * _tensor(graph.initializers[scaled.inputs[1]]) + _tensor(
            graph.initializers[add.inputs[1]]
        )
    return found


def write_rewritten(graph: Graph, wanted: Collection[str], weights: Mapping[str, Weights], path: Path) -> None:
    """Write the part of `graph` that makes the outputs `wanted`, with `weights` in a file beside it, `path` + ".data".

    A table from which only some rows are gathered stays in integers: only those rows are made floats.
    """
    nodes: list[Node] = []
    stored: dict[str, Weights] = {}
    made = {node.outputs[0]: node for node in graph.nodes}
    for node in graph.nodes:
        source = node.inputs[0] if node.inputs else ""
        if node.outputs[0] in weights:
            continue
        if node.operation == "Gather" and source in weights:
            nodes += _gather_before_cast(node, made)
        elif node.operation == "Transpose" and source in weights and weights[source].ndim == 2:
            stored[node.outputs[0]] = weights[source].T
        else:
            nodes.append(node)
    needed = _needed(nodes, wanted)
    kept = [node for node in nodes if needed.intersection(node.outputs)]
    stored |= {name: each for name, each in weights.items() if name in needed}
    data = path.with_name(path.name + ".data")
    with data.open("wb") as file:
        tensors = [_external(name, each, data.name, file) for name, each in stored.items() if name in needed]
    parts = [_field(_NODE, node.message) for node in _in_order(kept)]
    parts.append(_field(_GRAPH_NAME, path.stem.encode()))
    parts += [_field(_INITIALIZER, each) for each in tensors]
    parts += [_field(_INITIALIZER, each) for name, each in graph.initializers.items() if name in needed]
    parts += [_field(_INPUT, each) for name, each in graph.inputs.items() if name in needed]
    parts += [_field(_OUTPUT, each) for name, each in graph.outputs.items() if name in wanted]
    path.write_bytes(graph.head + _field(_MODEL_GRAPH, b"".join(parts)))


def _gather_before_cast(gather: Node, made: Mapping[str, Node]) -> list[Node]:
    add = made[gather.inputs[0]]
    scale = made[add.inputs[0]]
    cast = made[scale.inputs[0]]
    rows, floats, scaled = (f"{gather.outputs[0]}_{each}" for each in ("rows", "floats", "scaled"))
    return [
        _renamed(gather, (cast.inputs[0], *gather.inputs[1:]), rows),
        _renamed(cast, (rows,), floats),
        _renamed(scale, (floats, scale.inputs[1]), scaled),
        _renamed(add, (scaled, add.inputs[1]), gather.outputs[0]),
    ]


def _renamed(node: Node, inputs: tuple[str, ...], output: str) -> Node:
    rest = (whole for number, _, whole in _fields(node.message) if number in (_NODE_TYPE, _NODE_ATTRIBUTE))
    names = [_field(_NODE_INPUT, each.encode()) for each in inputs] + [_field(_NODE_OUTPUT, output.encode())]
    return Node(node.operation, inputs, (output,), b"".join([*names, *rest]))


def _needed(nodes: Collection[Node], wanted: Collection[str]) -> set[str]:
    """Return the names of all values that the outputs `wanted` are made of, and of these."""
    made = {output: node for node in nodes for output in node.outputs}
    needed, open_ = set(wanted), list(wanted)
    while open_:
        node = made.get(open_.pop())
        for name in node.inputs if node else ():
            if name not in needed:
                needed.add(name)
                open_.append(name)
    return needed


def _in_order(nodes: list[Node]) -> list[Node]:
    """Return the nodes so that each comes after those that make its inputs."""
    waiting = {output for node in nodes for output in node.outputs}
    ordered: list[Node] = []
    while nodes:
        later: list[Node] = []
        for node in nodes:
            if waiting.isdisjoint(node.inputs):
                ordered.append(node)
                waiting.difference_update(node.outputs)
            else:
                later.append(node)
        nodes = later
    return ordered


def _external(name: str, weights: Weights, file_name: str, file: BinaryIO) -> bytes:
    file.write(bytes(-file.tell() % _PAGE))
    entries = {"location": file_name, "offset": str(file.tell()), "length": str(weights.nbytes)}
    file.write(np.ascontiguousarray(weights, "<f4").data)
    parts = [_varint(_DIMENSIONS << 3) + _varint(size) for size in weights.shape]
    parts.append(_varint(_DATA_TYPE << 3) + _varint(_FLOAT))
    parts.append(_field(_TENSOR_NAME, name.encode()))
    parts += [_field(_EXTERNAL, _field(1, key.encode()) + _field(2, text.encode())) for key, text in entries.items()]
    parts.append(_varint(_LOCATION << 3) + _varint(1))
    return b"".join(parts)


# --- protocol buffers ------------------------------------------------------------------------------------------------


def _fields(message: Message) -> Iterator[tuple[int, int | Message, Message]]:
    """Yield each field's number, its value, and its whole encoding."""
    at = 0
    while at < len(message):
        begin = at
        key, at = _read_varint(message, at)
        value: int | Message
        match key & 7:
            case 0:
                value, at = _read_varint(message, at)
            case 2:
                length, at = _read_varint(message, at)
                value, at = message[at : at + length], at + length
            case kind:
                width = 4 if kind == 5 else 8
                value, at = message[at : at + width], at + width
        yield key >> 3, value, message[begin:at]


def _read_varint(message: Message, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, content: Message) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + bytes(content)


def _all(message: Message, wanted: int) -> Iterator[Message]:
    for number, value, _ in _fields(message):
        if number == wanted and not isinstance(value, int):
            yield value


def _one(message: Message, wanted: int) -> Message:
    return next(_all(message, wanted))


def _text(message: Message, wanted: int) -> str:
    return bytes(_one(message, wanted)).decode()


def _node(message: Message) -> Node:
    inputs, outputs = (
        tuple(bytes(each).decode() for each in _all(message, number)) for number in (_NODE_INPUT, _NODE_OUTPUT)
    )
    return Node(_text(message, _NODE_TYPE), inputs, outputs, message)


def _tensor(message: Message) -> Weights:
    numbers = [(number, value) for number, value, _ in _fields(message) if isinstance(value, int)]
    shape = [value for number, value in numbers if number == _DIMENSIONS]
    kind = next(value for number, value in numbers if number == _DATA_TYPE)
    flat = np.frombuffer(bytes(_one(message, _RAW_DATA)), _TYPES[kind])
    return flat.reshape(shape).astype(np.float32)
