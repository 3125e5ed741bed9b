"""``tierscope matrix``: initiators against targets, or cores against cores."""

from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, parameter
from tierscope.cli.measure import carry_out, fitted, planned, refinement_of, with_verdict
from tierscope.cli.output import Output
from tierscope.model.errors import UserError
from tierscope.runs.output import write_output
from tierscope.suites import core_matrix
from tierscope.suites.matrix import OPTIONS

if TYPE_CHECKING:
    from tierscope.model.run import Run


ALL_OPTIONS = (*OPTIONS, *core_matrix.OPTIONS)
_HWLOC = "--hwloc-xml"


@options.command(params=[parameter(option) for option in ALL_OPTIONS])
@options.file_option(
    "--hwloc-xml",
    "Write this machine as hwloc XML with the measured values as memory attributes",
    essential=False,
)
@options.stated_options
@options.output_options
def matrix(output: Output, hwloc_xml: Path | None, **given: Given) -> int:
    """Measure every initiator against every target: idle latency, peak bandwidth, loaded latency.

    The thread count that a peak needs is searched for and shown with the peak. What the firmware
    claims (SLIT distances, HMAT latencies and bandwidths) is shown with what was measured.

    With --cores, all ordered pairs of cores, one pair at a time: the second core's caches hold
    lines, modified or clean, and the first one loads them. Homes (--to) are reader and writer,
    the nodes of these cores. A pair takes at least 80 ms for each state and home, so 32 cores take
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
    asked = given_options(ALL_OPTIONS, given)
    if "cores" in asked:
        return measure_cores(asked, hwloc_xml, output)
    return measure_matrix(asked, hwloc_xml, output)


def measure_matrix(given: dict[str, str], hwloc_xml: Path | None, output: Output) -> int:
    """Measure each pair of initiator and target, print matrices, write the hwloc XML asked for."""
    from tierscope.engine.process import topology_xml
    from tierscope.machine.discover import discover
    from tierscope.suites.hwloc_xml import with_measured
    from tierscope.suites.matrix import requests as requests_of
    from tierscope.suites.matrix import show_matrix

    output = output.beside({_HWLOC: hwloc_xml})
    output.check()
    for option in core_matrix.OPTIONS:
        if option.name in given:
            raise UserError(f"--{option.name} goes with --cores")
    topology = discover()
    requests = requests_of(given)
    plan = planned(requests, topology)
    refinement = refinement_of(requests)

    rates = refinement.at if refinement else []
    show = with_verdict(lambda console, run: show_matrix(console, run, rates))

    def keep(run: "Run") -> None:
        if hwloc_xml:
            content = with_measured(topology_xml(), run)
            write_output(hwloc_xml, content, _HWLOC)
            output.say_written("hwloc XML", hwloc_xml)

    return carry_out("matrix", plan, topology, output, refinement, show, keep)


def measure_cores(given: dict[str, str], hwloc_xml: Path | None, output: Output) -> int:
    """Measure all pairs of cores, fitted into a time, and print them."""
    from tierscope.machine.discover import discover
    from tierscope.plans.fit import fit_time

    if hwloc_xml:
        raise UserError(f"{_HWLOC} goes with the matrix of nodes, not with --cores")
    topology = discover()
    plan = planned(core_matrix.requests(given, topology), topology)
    limit = given.get("time-limit")
    if limit is None:
        plan = fit_time(plan, core_matrix.SECONDS, strictly=False)
    plan = fitted(plan, limit)
    return carry_out("core-matrix", plan, topology, output)
