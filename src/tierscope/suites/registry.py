"""The table of suites: named lists of measurements made of kinds, one row each.

Like the table of kinds it imports nothing until a suite is used. Peers bring suites of their own.
"""

from tierscope.peers.registry import PEERS
from tierscope.suites.suite import Suite

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
    ),
    *(suite for peer in PEERS.values() for suite in peer.suites),
)
SUITES: dict[str, Suite] = {suite.name: suite for suite in _ROWS}
"""By name, in the order in which they are shown."""
