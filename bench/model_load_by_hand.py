"""The ways of the job model_load beside safetensors' own way: model_load_by_hand.py FOLDER PAIRS.

FOLDER has the files that ``model_load.py write`` made. By hand a model is loaded by
``safetensors.torch.load_file(file, device="cuda")``. Both sides load it in turn in one process,
from the page cache and from storage; times are seconds.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file

from pairs import alternate
from tierscope.kinds.effect.jobs.gpu_staging import Staging, forget
from tierscope.kinds.effect.jobs.model_load import by_mapping
from tierscope.kinds.effect.jobs.safetensors_file import read_header, size_of

_THREADS, _PIECE = 12, 8 << 20


def main(folder: Path, pairs: int) -> None:
    """Compare each source and way."""
    files = {path: read_header(path) for path in sorted(folder.glob("*.safetensors"))}
    images = {
        path: torch.empty(size_of(entries), dtype=torch.uint8, device="cuda")
        for path, entries in files.items()
    }
    staging = Staging(_THREADS, _PIECE)

    def by_hand(path: Path, _direct: bool) -> object:
        return load_file(path, device="cuda")

    def by_mmap(path: Path, _direct: bool) -> object:
        return by_mapping(path, files[path], images[path])

    def by_staging(path: Path, direct: bool) -> object:
        file = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
        staging.load(file, images[path])
        return os.close(file)

    def timed(load: Callable[[Path, bool], object], cold: bool) -> Callable[[], float]:
        def run() -> float:
            for path in files:
                forget(path) if cold else path.read_bytes()
            torch.cuda.synchronize()
            began = time.perf_counter()
            loaded = [load(path, cold) for path in files]
            torch.cuda.synchronize()
            seconds = time.perf_counter() - began
            del loaded
            return seconds

        return run

    for cold in (False, True):
        theirs = timed(by_hand, cold)
        theirs()  # What PyTorch and CUDA set up, and the GPU's memory.
        for name, way in (("mmap", by_mmap), ("staged", by_staging)):
            source = "storage" if cold else "cache"
            print(alternate(f"{source}_{name}", "s", pairs, timed(way, cold), theirs), flush=True)
    staging.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
