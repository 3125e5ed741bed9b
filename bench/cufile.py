"""cuFile by tierscope, by kvikio, and by the shortest loops, in turn over one file.

Batches and streams stand beside loops of their own; streams that were registered as page-aligned
beside streams that were not, both by the loop.

The file is made in the folder that $STORAGE names, else in the current directory, and removed.
kvikio has to be installed; KVIKIO_COMPAT_MODE=OFF has it use cuFile, in whichever mode cuFile
itself is. $CUFILE_ROOT has cuFile's include and lib folders; nvcc builds cufile_loop.cpp.
On all sides buffers are cudaMalloc's and not registered, and files are open with O_DIRECT.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pairs import Comparison, asked, figure, made_file, until_narrow
from tierscope.kinds.io.spec import IoSpec

_FOLDER = Path(os.environ.get("STORAGE", ".")).resolve()
_ROOT = Path(os.environ.get("CUFILE_ROOT", "/usr/local/cuda"))
_SECONDS = 2.0
_OPERATIONS = 16
_FIXED, _ALIGNED = "7", "15"
"""Flags of cuFileStreamRegister: all is known at submission; all is a multiple of 4 KiB, too."""
_HERE = Path(__file__).parent


def compare() -> Iterator[Comparison]:
    """Bandwidth: synchronous against kvikio, batches and streams against the loop's."""
    with made_file("cufile", _FOLDER, 1024) as file, tempfile.TemporaryDirectory() as folder:
        loop = _built(Path(folder, "cufile_loop"))
        for block in (1 << 20, 1 << 16):
            size = f"{block >> 10}k"
            arguments = [str(file), str(block), str(_SECONDS)]
            yield until_narrow(
                f"cuFile, kvikio, {size}",
                "B/s",
                _ours(file, "cufile", size),
                _theirs([sys.executable, str(_HERE / "kvikio_read.py"), *arguments]),
            )
            arguments.insert(2, str(_OPERATIONS))
            together = {"depth": str(_OPERATIONS), "batch": str(_OPERATIONS)}
            for backend, way in (("batch", "batch"), ("stream", _ALIGNED)):
                yield until_narrow(
                    f"cuFile, {_OPERATIONS} by {backend}, {size}",
                    "B/s",
                    _ours(file, f"cufile-{backend}", size, **together),
                    _theirs([str(loop), *arguments, way]),
                )
            yield until_narrow(
                f"cuFile, {_OPERATIONS} streams said to be page-aligned, {size}",
                "B/s",
                _theirs([str(loop), *arguments, _ALIGNED]),
                _theirs([str(loop), *arguments, _FIXED]),
            )


def _built(program: Path) -> Path:
    library = _ROOT / "lib"
    source = _HERE / "cufile_loop.cpp"
    link = [f"-L{library}", "-l:libcufile.so.0", "-Xlinker", f"-rpath={library}"]
    include = f"-I{_ROOT / 'include'}"
    subprocess.run(["nvcc", "-O2", "-std=c++17", include, source, "-o", program, *link], check=True)
    return program


def _theirs(command: list[str]) -> Callable[[], float]:
    environment = {**os.environ, "KVIKIO_COMPAT_MODE": "OFF"}

    def run() -> float:
        done = subprocess.run(
            command, env=environment, cwd=_FOLDER, stdout=subprocess.PIPE, text=True, check=True
        )
        return float(done.stdout.split()[-1])

    return run


def _ours(file: Path, backend: str, block: str, **options: str) -> Callable[[], float]:
    wanted = {"from": "gpu:0", "to": f"file:{file}", "backend": backend, "block-size": block}
    spec = asked("io", _SECONDS, **wanted, **options)
    assert isinstance(spec, IoSpec)
    operation = 1 if spec.headline() == "bandwidth" else spec.pattern.sizes[0]
    return lambda: figure(spec) * operation
