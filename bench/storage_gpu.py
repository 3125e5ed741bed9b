"""Storage to a GPU through host memory beside the slower of its two parts: storage, and PCIe.

Files are made in the folder that $STORAGE names, else in the current directory, and removed.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pairs import Comparison, measure, until_narrow
from tierscope.kinds.plan import Spec
from tierscope.model.spec import Sampling
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.topology.discover import discover

_FOLDER = Path(os.environ.get("STORAGE", ".")).resolve()
_SAMPLING = Sampling(budget_s=2.0)


def compare() -> Iterator[Comparison]:
    """Bandwidth of staged-async over min(storage alone, PCIe alone), direct and buffered."""
    pcie = _spec("gpu-copy", **{"from": "node:0", "to": "gpu:0", "size": "1m"})
    for direct in ("yes", "no"):
        for threads in ("1", "4"):
            common = {"to": f"file:{_FOLDER}", "size": "1g", "threads": threads, "direct": direct}
            staged = _spec(
                "io", **{"from": "gpu:0", "backend": "staged-async", "depth": "2", **common}
            )
            cpus = ",".join(map(str, staged.thread_cpus()))
            storage = _spec("io", **{"from": f"cpus:{cpus}", "backend": "posix", **common})
            name = f"staged-async, {threads} threads, {'direct' if direct == 'yes' else 'buffered'}"
            yield until_narrow(name, "B/s", _bandwidth(staged), _least(storage, pcie))


def _spec(kind: str, **options: str) -> Spec:
    request = Request(kind=kind, options=options)
    (spec,) = expand([request], discover(), thp=False).measurements
    return spec.model_copy(update={"sampling": _SAMPLING})


def _figure(spec: Spec) -> float:
    estimate = measure(spec).estimate
    assert estimate is not None, spec.id
    return estimate


def _bandwidth(spec: Spec) -> Callable[[], float]:
    return lambda: _figure(spec)


def _least(*specs: Spec) -> Callable[[], float]:
    return lambda: min(map(_figure, specs))
