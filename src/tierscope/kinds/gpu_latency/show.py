"""How latencies from GPUs are shown."""

from collections.abc import Iterator

from tierscope.model.endpoint import EndpointKind
from tierscope.model.run import Measurement, Run
from tierscope.report.figures import size_text
from tierscope.report.pictures.generic import bars, matrices
from tierscope.report.pictures.working_set import over_working_set
from tierscope.report.view import View


def _notes(measured: list[Measurement], _run: Run) -> Iterator[str]:
    """Say which figures of host memory may be those of the CPUs' caches."""
    held: dict[str, int] = {}
    for m in measured:
        if m.fits_caches and m.target.startswith(f"{EndpointKind.NODE}:"):
            held[m.target] = max(held.get(m.target, 0), m.pattern["size"])
    for target, size in held.items():
        yield (
            f"{target}: the CPUs' caches may hold working sets of up to {size_text(size)}; such "
            "latencies may be those of caches, not of memory"
        )


VIEW = View(
    title="Latency from a GPU",
    method="One warp follows one random cycle of dependent loads through the whole working set; "
    "time per load; median and its 95% interval.",
    notes=_notes,
    pictures=(matrices, over_working_set, bars),
)
