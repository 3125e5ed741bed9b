"""The table of suites: named lists of measurements made of kinds, one row each.

Like the table of kinds it imports nothing until a suite is used. Peers bring suites of their own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tierscope.peers.registry import PEERS
from tierscope.suites.suite import Suite

if TYPE_CHECKING:
    from tierscope.model.run import Run
    from tierscope.report.run_view import Beside

_ROWS = (
    Suite("quick", "Each path's bandwidth and latency, within a minute.", "suites.profiles"),
    Suite(
        "standard", "Also under load, mixed and on GPUs, in about five minutes.", "suites.profiles"
    ),
    Suite("full", "Every path with every sweep, as long as that takes.", "suites.profiles"),
    Suite("matrix", "Every initiator against every target.", "suites.matrix", command="matrix"),
    Suite("core-matrix", "Core-to-core latency of all pairs of cores.", "suites.core_matrix"),
    Suite("stream", "STREAM: Copy, Scale, Add and Triad.", "suites.stream", command="stream"),
    Suite(
        "gpu",
        "From the naive copy to the best one, for each GPU.",
        "suites.gpu_tour",
        command="gpu",
    ),
    Suite(
        "gpu-matrix",
        "Measure copies of every pair of host nodes and GPUs, one pair at a time.",
        command="gpu matrix",
        form_module="suites.gpu_matrix",
    ),
    Suite(
        "gpu-together",
        "Measure concurrent copies among GPUs and the host.",
        command="gpu together",
        form_module="suites.gpu_sets",
    ),
    Suite(
        "expand",
        "Sweep interleave ratios: pages spread over several nodes.",
        group="memory",
        form_module="suites.expand",
    ),
    Suite(
        "coherent-gpu",
        "CPUs on a coherent GPU's memory: bandwidth, latency, expansion, operations.",
        "suites.coherent_gpu",
        beside_module="suites.coherent_gpu_beside",
    ),
    Suite(
        "apps",
        "Run real applications with their memory on each tier.",
        command="apps run",
        form_module="suites.apps",
        beside_module="suites.apps_beside",
    ),
    *(suite for peer in PEERS.values() for suite in peer.suites),
)
SUITES: dict[str, Suite] = {suite.name: suite for suite in _ROWS}
"""By name, in the order in which they are shown."""


def beside_of(run: "Run") -> "Beside | None":
    """Return what a run of a suite is shown beside; None of runs of other suites."""
    words = {word.rpartition("=")[2] for word in run.header.command}
    suite = next((one for one in _ROWS if one.beside_module and one.name in words), None)
    if suite is None:
        return None
    found: Beside | None = import_module(f"tierscope.{suite.beside_module}").beside(run)
    return found
