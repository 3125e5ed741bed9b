"""Storage to a GPU through host memory beside the slower of its two parts: storage, and PCIe.

Storage alone is read by the same calls, with as many reads in flight, into as many buffers.

A file is made in the folder that $STORAGE names, else in the current directory, and removed.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pairs import Comparison, asked, figure, made_file, until_narrow
from tierscope.kinds.plan import Spec

_FOLDER = Path(os.environ.get("STORAGE", ".")).resolve()
_SECONDS = 1.0


def compare() -> Iterator[Comparison]:
    """Bandwidth of staged-async over min(storage alone, PCIe alone), direct and buffered."""
    pcie = asked("gpu-copy", _SECONDS, **{"from": "node:0", "to": "gpu:0", "size": "1m"})
    with made_file("storage-gpu", _FOLDER, 1024) as file:
        for direct in ("yes", "no"):
            for threads in ("1", "4"):
                common = {"to": f"file:{file}", "depth": "4", "threads": threads, "direct": direct}
                staged = asked(
                    "io", _SECONDS, backend="staged-async", **common, **{"from": "gpu:0"}
                )
                cpus = ",".join(map(str, staged.thread_cpus()))
                storage = asked(
                    "io", _SECONDS, backend="libaio", **common, **{"from": f"cpus:{cpus}"}
                )
                way = "direct" if direct == "yes" else "buffered"
                name = f"staged-async, {threads} threads, {way}"
                yield until_narrow(name, "B/s", _bandwidth(staged), _least(storage, pcie))


def _bandwidth(spec: Spec) -> Callable[[], float]:
    return lambda: figure(spec)


def _least(*specs: Spec) -> Callable[[], float]:
    return lambda: min(map(figure, specs))
