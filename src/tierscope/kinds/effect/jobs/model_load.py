"""How long until a model is in a GPU's memory, from each source, in each way.

``model_load.py write FOLDER --model NAME`` writes the files of a model of random numbers.
``model_load.py load FOLDER`` loads them, checks every tensor on the GPU, and prints the times.

Sources:

- ``storage``: the files of FOLDER, which the page cache does not hold (mincore(2) proves it);
- ``cache``: the same files, all of them in the page cache;
- ``memory``: copies of them in the file system in memory (tmpfs) that ``--memory`` names, written
  by this process, so that they are where its memory policy has them;
- ``folder``: copies of them in the folder of ``--folder``, which the page cache does not hold.

Ways:

- ``mmap``: each tensor is copied to the GPU from a mapping of its file, as ``safetensors`` does,
  which transformers and vLLM load models by;
- ``staged``: threads read pieces into pinned memory, from storage with O_DIRECT, and copy each
  while they read the next one;
- ``cufile``: threads read by cuFile (GPUDirect Storage), from storage and folders only.

The GPU's memory is allocated before, and the pinned memory, too; ``set_up`` is the time of that. A
load ends when the last byte is on the GPU.
"""

import argparse
import contextlib
import json
import mmap
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from tierscope.kinds.effect.jobs.cufile import CuFile
from tierscope.kinds.effect.jobs.gpu_staging import (
    Staging,
    bytes_of,
    checksum,
    forget,
    resident_share,
    torch_module,
)
from tierscope.kinds.effect.jobs.llama_shapes import MODELS
from tierscope.kinds.effect.jobs.safetensors_file import (
    Entry,
    file_names,
    header_of,
    layout,
    read_header,
    shards,
    size_of,
)

SOURCES = ("storage", "cache", "memory", "folder")
WAYS = ("mmap", "staged", "cufile")
_COLD = ("storage", "folder")
_SHARD = 5_000_000_000
"""Bytes of a file, as Hugging Face splits models."""
_SUMS = "checksums.json"
_CACHED = 0.99
_POISON = 0xA5

Load = Callable[[Path, dict[str, Entry], Any], None]
"""Fills an image of a file on the GPU."""


def main() -> None:
    """Write or load, as the first argument says."""
    asked = _arguments()
    try:
        if asked.do == "write":
            write(asked.path, asked.model)
        else:
            load(asked)
    except (OSError, ValueError, RuntimeError) as error:  # PyTorch's errors are RuntimeErrors
        sys.exit(f"model_load: {str(error).splitlines()[0]}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("write", "load"))
    parser.add_argument("path", type=Path, metavar="FOLDER")
    parser.add_argument("--model", choices=MODELS, default="llama-3.2-1b")
    parser.add_argument("--sources", default="storage,cache,memory")
    parser.add_argument("--ways", default="mmap,staged")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"))  # noqa: S108
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--threads", type=int, default=12)
    parser.add_argument("--piece", type=int, default=8 << 20, help="bytes, whole pages")
    parser.add_argument(
        "--repeats", type=int, default=1, help="of each load; the median is printed"
    )
    asked = parser.parse_args()
    asked.sources, asked.ways = asked.sources.split(","), asked.ways.split(",")
    for given, known in ((asked.sources, SOURCES), (asked.ways, WAYS)):
        if wrong := [one for one in given if one not in known]:
            parser.error(f"'{wrong[0]}' is none of {', '.join(known)}")
    if "folder" in asked.sources and asked.folder is None:
        parser.error("source folder needs --folder")
    if asked.piece <= 0 or asked.piece % mmap.PAGESIZE:
        parser.error(f"--piece {asked.piece} is no multiple of {mmap.PAGESIZE} bytes")
    return asked


def write(folder: Path, model: str) -> None:
    """Write a model's files, with the checksum of each tensor as the CPU has it."""
    torch = torch_module()
    numbers = torch.Generator("cuda").manual_seed(1)
    parts = shards(MODELS[model].tensors(), _SHARD)
    sums: dict[str, int] = {}
    for name, shapes in zip(file_names(len(parts)), parts, strict=True):
        entries = layout(shapes)
        with (folder / name).open("wb") as file:
            file.write(header_of(entries))
            for tensor, one in entries.items():
                made = torch.empty(one.shape, dtype=torch.bfloat16, device="cuda")
                values = made.normal_(0, 0.02, generator=numbers).cpu()
                sums[tensor] = checksum(torch, values)
                file.write(bytes_of(values))
            file.flush()
            os.fsync(file.fileno())
    (folder / _SUMS).write_text(json.dumps(sums))


def load(asked: argparse.Namespace) -> None:
    """Load the files of a folder from each source in each way, and print."""
    torch = torch_module()
    began = time.perf_counter()
    files = {path: read_header(path) for path in sorted(asked.path.glob("*.safetensors"))}
    if not files:
        raise OSError(f"{asked.path} has no *.safetensors; write them first")
    images = [
        torch.empty(size_of(entries), dtype=torch.uint8, device="cuda")
        for entries in files.values()
    ]
    with contextlib.ExitStack() as stack:
        staging = Staging(asked.threads, asked.piece)
        stack.callback(staging.close)
        driver = None
        if "cufile" in asked.ways:
            driver = CuFile(asked.threads, asked.piece)
            stack.callback(driver.close)
        torch.zeros(1 << 26, dtype=torch.uint8).cuda()  # What CUDA sets up for pageable memory.
        torch.cuda.synchronize()
        print(f"set_up: {time.perf_counter() - began:.6f} s")
        size = sum(map(size_of, files.values()))
        print(f"size: {size} B")
        print(f"piece: {asked.piece} B")
        print(f"threads: {asked.threads}")
        sums = json.loads((asked.path / _SUMS).read_text())
        for source in asked.sources:
            with _placed(source, files, asked) as paths:
                for way in asked.ways:
                    if way == "cufile" and source not in _COLD:
                        continue
                    work = _loader(way, source, staging, driver)
                    seconds = median(
                        _timed(source, work, paths, images, sums) for _ in range(asked.repeats)
                    )
                    print(f"{source}_{way}: {seconds:.6f} s")
                    print(f"{source}_{way}_rate: {size / seconds / 1e9:.4f} GB/s")


@contextlib.contextmanager
def _placed(
    source: str, files: dict[Path, dict[str, Entry]], asked: argparse.Namespace
) -> Iterator[dict[Path, dict[str, Entry]]]:
    """Copies of the files where the source wants them, while in use; the files themselves where
    they are in place."""
    parent = {"memory": asked.memory, "folder": asked.folder}.get(source)
    if parent is None:
        yield files
        return
    folder = Path(tempfile.mkdtemp(prefix="model-load.", dir=parent))
    try:
        yield {Path(shutil.copyfile(one, folder / one.name)): e for one, e in files.items()}
    finally:
        shutil.rmtree(folder)


def _loader(way: str, source: str, staging: Staging, driver: CuFile | None) -> Load:
    if way == "mmap":
        return by_mapping
    direct = source in _COLD

    def read(path: Path, _entries: dict[str, Entry], image: Any) -> None:
        file = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
        try:
            (driver if way == "cufile" and driver else staging).load(file, image)
        finally:
            os.close(file)

    return read


def by_mapping(path: Path, entries: dict[str, Entry], image: Any) -> None:
    """Copy each tensor from a mapping of its file, one after the other."""
    torch = torch_module()
    with path.open("rb") as file:
        # Private, so that PyTorch may take it for writable memory.
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    source = torch.frombuffer(mapping, dtype=torch.uint8)
    for one in entries.values():
        image[one.offset : one.offset + one.bytes].copy_(
            source[one.offset : one.offset + one.bytes]
        )


def _timed(
    source: str,
    work: Load,
    files: dict[Path, dict[str, Entry]],
    images: list[Any],
    sums: dict[str, int],
) -> float:
    """Return the seconds of one load. Raises ValueError where a tensor is wrong afterwards."""
    torch = torch_module()
    for path, image in zip(files, images, strict=True):
        forget(path) if source in _COLD else _read_into_cache(path)
        image.fill_(_POISON)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for (path, entries), image in zip(files.items(), images, strict=True):
        work(path, entries, image)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    for (path, entries), image in zip(files.items(), images, strict=True):
        for name, one in entries.items():
            if checksum(torch, image[one.offset : one.offset + one.bytes]) != sums[name]:
                raise ValueError(f"{name} of {path} has another checksum on the GPU")
    return seconds


def _read_into_cache(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
    if (share := resident_share(path)) < _CACHED:
        raise OSError(f"only {share:.0%} of {path} fit into the page cache")


if __name__ == "__main__":
    main()
