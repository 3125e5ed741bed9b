"""Files of tensors in the format safetensors, read and written without a library.

A file is the length of its header (8 bytes, little-endian), the header in JSON, and the tensors'
bytes. The header has for each name its type, its shape and the first and last byte (exclusive),
counted from the header's end (https://github.com/huggingface/safetensors#format).
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ALIGNMENT = 4096
"""Data of files that are written here begins at a multiple of it, so that a copy of the whole file
in memory has each tensor where its type may be. Spaces pad the header, as the format allows."""
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8, "I64": 8, "U8": 1}
_LENGTH = 8
_LONGEST = 100_000_000
"""Bytes of a header, by the format's own limit."""


@dataclass(frozen=True)
class Entry:
    """A tensor in a file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    """Of its first byte in the file."""

    @property
    def bytes(self) -> int:
        """Bytes of its numbers."""
        return math.prod(self.shape) * BYTES[self.dtype]


def layout(shapes: Mapping[str, tuple[int, ...]], dtype: str = "BF16") -> dict[str, Entry]:
    """Return where each tensor is in a file of these tensors, in their order, without gaps."""
    relative: dict[str, Entry] = {}
    at = 0
    for name, shape in shapes.items():
        relative[name] = Entry(dtype, shape, at)
        at += relative[name].bytes
    begin = len(_header(relative))
    return {name: Entry(dtype, one.shape, begin + one.offset) for name, one in relative.items()}


def header_of(entries: Mapping[str, Entry]) -> bytes:
    """Return what a file has before its tensors, which are those of ``layout``."""
    begin = min(one.offset for one in entries.values())
    relative = {n: Entry(e.dtype, e.shape, e.offset - begin) for n, e in entries.items()}
    return _header(relative)


def size_of(entries: Mapping[str, Entry]) -> int:
    """Return the bytes of the file."""
    return max(one.offset + one.bytes for one in entries.values())


def read_header(path: Path) -> dict[str, Entry]:
    """Return the tensors of a file. Raises ValueError where it is no such file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if not 2 <= length <= _LONGEST:
            raise ValueError(f"{path} is no safetensors file: its header has {length} bytes")
        text = file.read(length)
    try:
        found = json.loads(text)
    except ValueError:
        raise ValueError(f"{path} is no safetensors file: its header is no JSON") from None
    entries = {
        name: Entry(one["dtype"], tuple(one["shape"]), _LENGTH + length + one["data_offsets"][0])
        for name, one in found.items()
        if name != "__metadata__"
    }
    end = _LENGTH + length + max(one["data_offsets"][1] for one in found.values() if "dtype" in one)
    if path.stat().st_size != end:
        raise ValueError(f"{path} has {path.stat().st_size} bytes; its header says {end}")
    return entries


def shards(
    shapes: Mapping[str, tuple[int, ...]], limit: int, dtype: str = "BF16"
) -> list[dict[str, tuple[int, ...]]]:
    """Return the tensors of each file, in their order, so that none has more than ``limit`` bytes,
    but one of a single larger tensor."""
    found: list[dict[str, tuple[int, ...]]] = []
    room = 0
    for name, shape in shapes.items():
        needed = math.prod(shape) * BYTES[dtype]
        if needed > room or not found:
            found.append({})
            room = limit
        found[-1][name] = shape
        room -= needed
    return found


def file_names(count: int) -> Iterable[str]:
    """Yield the names that Hugging Face gives to the files of a model."""
    if count == 1:
        yield "model.safetensors"
        return
    for number in range(1, count + 1):
        yield f"model-{number:05}-of-{count:05}.safetensors"


def _header(relative: Mapping[str, Entry]) -> bytes:
    described = {
        name: {
            "dtype": one.dtype,
            "shape": list(one.shape),
            "data_offsets": [one.offset, one.offset + one.bytes],
        }
        for name, one in relative.items()
    }
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-(_LENGTH + len(text)) % ALIGNMENT)
    return len(text).to_bytes(_LENGTH, "little") + text
