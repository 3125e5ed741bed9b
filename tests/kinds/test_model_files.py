"""Files of tensors, and what moves them: formats, shapes, whole reads, the page cache."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.kinds.effect.jobs.gpu_staging import (
    forget,
    read_whole,
    resident_share,
    write_whole,
)
from tierscope.kinds.effect.jobs.llama_shapes import MODELS
from tierscope.kinds.effect.jobs.safetensors_file import (
    file_names,
    header_of,
    layout,
    read_header,
    shards,
    size_of,
)

SHAPES = {"first": (3, 5), "second": (7,), "third": (2, 2, 2)}
shapes = st.dictionaries(
    st.text("abc.0123456789", min_size=1),
    st.lists(st.integers(1, 9), max_size=3).map(tuple),
    min_size=1,
    max_size=20,
)


def written(folder: Path, dtype: str = "BF16") -> Path:
    entries = layout(SHAPES, dtype)
    header = header_of(entries)
    file = folder / "model.safetensors"
    file.write_bytes(header + bytes(range(size_of(entries) - len(header))))
    return file


def test_a_file_is_what_the_format_says(tmp_path: Path) -> None:
    data = written(tmp_path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 4096 == 0
    assert json.loads(data[8 : 8 + length]) == {
        "first": {"dtype": "BF16", "shape": [3, 5], "data_offsets": [0, 30]},
        "second": {"dtype": "BF16", "shape": [7], "data_offsets": [30, 44]},
        "third": {"dtype": "BF16", "shape": [2, 2, 2], "data_offsets": [44, 60]},
    }
    assert len(data) == 8 + length + 60


def test_the_library_reads_what_is_written(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors", reason="there is no safetensors")
    found = dict(safetensors.deserialize(written(tmp_path, "U8").read_bytes()))
    assert {name: tuple(one["shape"]) for name, one in found.items()} == SHAPES
    assert bytes(found["second"]["data"]) == bytes(range(15, 22))


@given(shapes=shapes, dtype=st.sampled_from(["BF16", "F32", "U8"]))
def test_tensors_lie_one_behind_the_other(
    shapes: dict[str, tuple[int, ...]], dtype: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = layout(shapes, dtype)
    at = len(header_of(entries))
    for one in entries.values():
        assert one.offset == at
        at += one.bytes
    assert size_of(entries) == at
    file = tmp_path_factory.mktemp("files") / "one.safetensors"
    file.write_bytes(header_of(entries) + bytes(at - len(header_of(entries))))
    assert read_header(file) == entries


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda data: data[:-1], r"4155 bytes; its header says 4156"),
        (lambda data: data[:8] + b"x" + data[9:], "its header is no JSON"),
        (lambda data: b"\0" * 8 + data[8:], "its header has 0 bytes"),
        (lambda data: b"\xff" * 8 + data[8:], "its header has 18446744073709551615 bytes"),
        (lambda data: data[:0], "its header has 0 bytes"),
    ],
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes], error: str
) -> None:
    file = written(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=error):
        read_header(file)


@given(shapes=shapes, limit=st.integers(1, 3000))
def test_a_model_is_split_into_files_of_at_most_so_many_bytes(
    shapes: dict[str, tuple[int, ...]], limit: int
) -> None:
    parts = shards(shapes, limit)
    assert [item for part in parts for item in part.items()] == [*shapes.items()]
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        sizes = [one.bytes for one in layout(part).values()]
        assert sum(sizes) <= limit or len(sizes) == 1
        if following:
            first = next(iter(layout(following).values())).bytes
            assert sum(sizes) + first > limit, "it had room for the next tensor"


def test_files_are_named_as_those_of_hugging_face() -> None:
    assert [*file_names(1)] == ["model.safetensors"]
    assert [*file_names(3)][1] == "model-00002-of-00003.safetensors"


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("llama-3.2-1b", 1_235_814_400),
        ("llama-3.2-3b", 3_212_749_824),
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.1-70b", 70_553_706_496),
    ],
)
def test_models_have_as_many_parameters_as_are_published(model: str, parameters: int) -> None:
    entries = layout(MODELS[model].tensors())
    assert sum(one.bytes for one in entries.values()) == 2 * parameters


@pytest.mark.parametrize("model", MODELS)
def test_a_joined_layer_has_the_bytes_of_its_tensors(model: str) -> None:
    one = MODELS[model]
    joined = sum(entry.bytes for entry in layout(one.fused_layer()).values())
    apart = sum(
        entry.bytes
        for name, entry in layout(one.tensors()).items()
        if name.startswith("model.layers.0.")
    )
    assert joined == apart


def test_reads_are_whole_or_fail(tmp_path: Path) -> None:
    path = tmp_path / "data"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    data = bytes(range(256)) * 40
    write_whole(file, memoryview(data + b"more"), 5, len(data))
    assert path.read_bytes() == bytes(5) + data
    buffer = bytearray(len(data))
    read_whole(file, memoryview(buffer), 5, len(data))
    assert buffer == data
    with pytest.raises(OSError, match="the file ends 3 bytes early"):
        read_whole(file, memoryview(buffer), 8, len(data))
    os.close(file)


def test_a_file_is_dropped_from_the_page_cache(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(64 << 12))
    assert resident_share(path) == 1
    if _in_memory(path):
        with pytest.raises(OSError, match=r"100% of .*/data stay in the page cache"):
            forget(path)
        return
    forget(path)
    assert resident_share(path) == 0
    path.read_bytes()
    assert resident_share(path) == 1


def _in_memory(path: Path) -> bool:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    within = [m for m in mounts if path.is_relative_to(m[1])]
    return max(within, key=lambda m: len(m[1]))[2] in ("tmpfs", "ramfs")
