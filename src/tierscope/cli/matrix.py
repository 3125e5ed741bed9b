"""``tierscope matrix``."""

from datetime import datetime
from pathlib import Path

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.recipes import core_matrix
from tierscope.recipes.matrix import OPTIONS

ALL_OPTIONS = (*OPTIONS, *core_matrix.OPTIONS)


@options.command(params=[parameter(option) for option in ALL_OPTIONS])
@options.file_option(
    "--hwloc-xml",
    "Write this machine as hwloc XML with the measured values as memory attributes",
)
@options.output_options
def matrix(
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
    hwloc_xml: Path | None,
    **given: str | bool | None,
) -> int:
    """Measure every initiator against every target: idle latency, peak bandwidth, loaded latency.

    The thread count that a peak needs is searched for and shown with the peak. What the firmware
    claims (SLIT distances, HMAT latencies and bandwidths) is shown with what was measured.

    With --cores, all ordered pairs of cores, one pair at a time: the second core's caches hold
    lines, modified or clean, and the first one loads them. Homes (--to) are reader and writer,
    the nodes of these cores. About 80 ms are the least for a pair, state and home, so 32 cores take
    10 minutes, 64 cores up to 20 and 128 cores an hour; --state modified halves that.

    \b
    Examples:
      tierscope matrix
      tierscope matrix --op read,write,copy,rmw --threads 1..all
      tierscope matrix --from node:0 --to node:0,node:2 --at 10,50
      tierscope matrix --cores
      tierscope matrix --cores --from node:0 --state modified --time-limit 1min
      tierscope matrix --hwloc-xml machine.xml && lstopo --input machine.xml --memattrs
    """
    from tierscope.cli.matrix_flow import measure_cores, measure_matrix

    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    asked = given_options(ALL_OPTIONS, given)
    if "cores" in asked:
        return measure_cores(asked, hwloc_xml, output)
    return measure_matrix(asked, hwloc_xml, output)
