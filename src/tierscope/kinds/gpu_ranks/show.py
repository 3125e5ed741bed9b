"""How copies among ranks are shown."""

from tierscope.report.view import View

VIEW = View(
    title="GPU copies among MPI ranks",
    method="Each rank has one GPU and an engine of its own; copies queued behind a gate of all of "
    "them and timed by the GPUs' events; the rank that has a destination verified it afterwards.",
    endpoints=("source", "destination"),
)
