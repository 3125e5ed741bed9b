"""How GPU copies are shown."""

from tierscope.kinds.gpu_copy.table import show_table
from tierscope.model.run import Measurement
from tierscope.report.view import View


def _access(measurement: Measurement) -> tuple[str, str]:
    """A GPU's engine makes the copy: between host and GPU it accesses the host's memory."""
    source, destination = measurement.initiator, measurement.target
    return (source, destination) if source.startswith("gpu:") else (destination, source)


VIEW = View(
    title="GPU copies",
    method="Copies queued behind a gate on the device and timed by its events, data verified "
    "afterwards; n bytes copied count n; n½ is the size that reaches half the peak.",
    endpoints=("source", "destination"),
    table=show_table,
    access=_access,
)
