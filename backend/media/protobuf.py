"""Protocol Buffers: a message is a sequence of fields, each a key (number and wire type) and a value. Pure.

The official package needs a schema compiled into code, and has no types.
"""

from collections.abc import Iterator

Value = int | memoryview
VARINT, BYTES = 0, 2
"""Wire types of a field: the last three bits of its key."""
FIXED_SIZES = {1: 8, 5: 4}
"""The bytes of a value, by each other wire type."""
VARINT_LIMIT = 10
"""The bytes of the longest number."""


def fields(message: bytes | memoryview) -> Iterator[tuple[int, Value, memoryview]]:
    """Yield the number, the value and the whole encoding of each field, in order. Raise `ValueError`."""
    view, at = memoryview(message), 0
    while at < len(view):
        begin = at
        key, at = varint(view, at)
        value: Value
        if key & 7 == VARINT:
            value, at = varint(view, at)
        else:
            size, at = varint(view, at) if key & 7 == BYTES else (FIXED_SIZES.get(key & 7), at)
            if size is None or size > len(view) - at:
                raise ValueError("a field has an unknown type, or is cut short")
            value, at = view[at : at + size], at + size
        yield key >> 3, value, view[begin:at]


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and its end: seven bits a byte, the lowest first. Raises `ValueError`."""
    value = 0
    for index, byte in enumerate(message[at : at + VARINT_LIMIT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("a number is cut short")


def field(number: int, value: int | bytes) -> bytes:
    """Return a field as it is encoded."""
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    return _varint(number << 3 | BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
