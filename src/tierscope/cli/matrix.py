"""``tierscope matrix``."""

from datetime import datetime
from pathlib import Path

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.recipes.matrix import OPTIONS


@options.command(params=[parameter(option) for option in OPTIONS])
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

    \b
    Examples:
      tierscope matrix
      tierscope matrix --op read,write,copy,rmw --threads 1..all
      tierscope matrix --from node:0 --to node:0,node:2 --at 10,50
      tierscope matrix --hwloc-xml machine.xml && lstopo --input machine.xml --memattrs
    """
    from tierscope.cli.matrix_flow import measure_matrix

    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    return measure_matrix(given_options(OPTIONS, given), hwloc_xml, output)
