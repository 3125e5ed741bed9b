"""``tierscope tier observe``: which memory is accessed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.output import Output, make_folder, write_pictures
from tierscope.cli.tier import Ending, kernel_here, need_root
from tierscope.model.endpoint import whole_number
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.plans.grammar import parse_count, parse_duration

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.model.run import Run
    from tierscope.place import tiering
    from tierscope.place.damon.footprint import Observed
    from tierscope.place.kernel import Kernel

_LONGEST_S = 86400.0
_LOOKS = 120
"""At most; so many columns a heat map can show."""
Members = Callable[[], list[int]]
"""The processes to look at; none for the machine."""


@options.command()
@click.argument("target", metavar="PID|CGROUP|machine")
@click.option(
    "--for",
    "duration",
    metavar="TIME",
    default="20s",
    show_default=True,
    help="How long to observe",
)
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=options.complete_run,
    help="A run that measured latencies, for the cost of a slow node, as in last",
)
@click.option("--pair", metavar="FAST:SLOW", help="With --run: the nodes, as in 0:2")
@options.file_option("--png", "Write the pictures as PNG files", metavar="DIR")
@options.file_option("--svg", "Write the pictures as SVG files", metavar="DIR")
@options.json_option
def observe(
    target: str,
    duration: str,
    run: str | None,
    pair: str | None,
    png: Path | None,
    svg: Path | None,
    output: Output,
) -> None:
    """Show which memory is accessed, and how much could be on a slow node; move nothing.

    A process is observed with all its children, including those that it starts meanwhile.
    --png and --svg draw the working set over time, and a heat map of addresses and time of
    each process or node, of the four largest.

    \b
    Examples:
      tierscope tier observe 4711
      tierscope tier observe 4711 --for 1min --run last --pair 0:2
      tierscope tier observe 4711 --for 1min --png pictures
      tierscope tier observe /system.slice/redis.service
      tierscope tier observe machine --json
    """
    observe_target(target, duration, run, pair, {"png": png, "svg": svg}, output)


def observe_target(
    target: str,
    duration: str,
    run: str | None,
    pair: str | None,
    folders: Mapping[str, Path | None],
    output: Output,
) -> None:
    """Look at the target for a time, print what it accessed, and draw it into folders.

    ``folders`` has them by the form of the pictures, png or svg.
    """
    from tierscope.analysis.cost import on_slow
    from tierscope.report.tiering import footprint_json, show_footprint, show_on_slow

    seconds = parse_duration(duration, 0, _LONGEST_S)
    output.check()
    if (run is None) != (pair is None):
        raise UserError("--run and --pair go together: latencies, and of which nodes")
    latencies = latencies_of(run, pair) if run and pair else None
    kernel = kernel_here()
    need_root(kernel, "tier observe")
    for form, folder in folders.items():
        if folder is not None:
            make_folder(folder, form)
    what, members = _members(kernel, target)
    times, found = _observe(kernel, members, seconds)
    pieces = [
        (piece.bytes, piece.bytes * sum(shares[at] for shares in one.heat))
        for one in found
        for at, piece in enumerate(one.pieces)
    ]
    rows = on_slow(pieces, latencies)

    def tables(console: "Console") -> None:
        show_footprint(console, what, times, found)
        show_on_slow(console, rows, (pair or "").replace(":", " and "))

    output.emit(footprint_json(what, times, found, rows), tables)
    for form, folder in folders.items():
        if folder is not None:
            count = write_pictures(folder, form, _pictures(form, what, times, found))
            output.say(f"{counted(count, 'picture')} in {folder}")


def _pictures(
    form: str, what: str, times: Sequence[float], found: "Sequence[Observed]"
) -> Iterator[tuple[str, bytes]]:
    from tierscope.machine.discover import discover
    from tierscope.report.pictures.footprint import footprint_pictures
    from tierscope.report.pictures.of_run import drawn, origin_text
    from tierscope.runs.record import version

    here = discover()
    day = datetime.now().astimezone().date().isoformat()
    origin = origin_text(here.host, here.cpu_model, day, version(), here.emulated)
    return drawn(footprint_pictures(what, times, found), form, origin)


def _members(kernel: "Kernel", target: str) -> tuple[str, Members]:
    from tierscope.place import cgroups
    from tierscope.place.damon import footprint

    if target == "machine":
        return "the machine", list
    if (pid := whole_number(target)) is not None:
        if not kernel.exists(f"/proc/{pid}"):
            raise UserError(f"there is no process {pid}")
        return f"process {pid}", lambda: footprint.family(kernel, pid)
    cgroup = cgroups.find(kernel, target)
    return (
        f"cgroup {cgroup.path}",
        lambda: footprint.largest(kernel, cgroups.pids(kernel, cgroup)),
    )


def _observe(
    kernel: "Kernel", members: Members, seconds: float
) -> "tuple[list[float], list[Observed]]":
    """Look again and again; start anew, with what was seen kept, when processes come or go."""
    from tierscope.place import tiering
    from tierscope.place.damon import tree
    from tierscope.place.damon.footprint import MONITORING

    ending = Ending()
    pids = members()
    done: list[Observed] = []
    with tiering.starting(kernel) as started:
        started.begin("observe")
        found = _watch(kernel, started, pids)
    times: list[float] = []
    begin = time.monotonic()
    pause = max(MONITORING.aggr_us / 1e6, seconds / _LOOKS)
    try:
        while not ending.number and (not times or time.monotonic() - begin < seconds):
            time.sleep(pause)
            if pids and times and not tree.running(kernel):
                break  # all have ended
            _add(kernel, found)
            times.append(time.monotonic() - begin)
            for one in done:
                one.add([], 1)
            now = members()
            if now != pids and now:
                done += [one for one in found if one.name.split()[0] not in map(str, now)]
                kept = {one.name: one for one in found}
                found = _again(kernel, started, now, kept, len(times))
                pids = now
    finally:
        started.end()
    return times, [*done, *found]


def _watch(kernel: "Kernel", started: "tiering.Tiering", pids: Sequence[int]) -> "list[Observed]":
    from tierscope.place.damon import footprint
    from tierscope.place.damon.files import content

    rules = footprint.rules_for(kernel, pids)
    started.run(rules, content(rules))
    return footprint.observed(kernel, pids)


def _again(
    kernel: "Kernel",
    started: "tiering.Tiering",
    pids: Sequence[int],
    kept: "dict[str, Observed]",
    looks: int,
) -> "list[Observed]":
    """Look at other processes from now on; those that stay keep what was seen of them."""
    from tierscope.place.damon import tree

    for number in tree.running(kernel):
        tree.command(kernel, number, "off")
    found = []
    for one in _watch(kernel, started, pids):
        own = kept.get(one.name)
        if own is None:
            own = one
            own.heat = [[0.0] * len(own.pieces) for _ in range(looks)]
        found.append(own)
    return found


def _add(kernel: "Kernel", found: "Sequence[Observed]") -> None:
    from tierscope.place.damon import status
    from tierscope.place.damon.footprint import MONITORING
    from tierscope.place.kernel import KernelError

    samples = MONITORING.aggr_us // MONITORING.sample_us
    for number, one in enumerate(found):
        try:
            regions = status.regions_of(kernel, number, 0)
        except KernelError:  # it has ended
            regions = []
        one.add(regions, samples)


def latencies_of(name: str, pair: str) -> tuple[float, float]:
    """Return the measured latencies (ns) of a fast and a slow node; raises UserError."""
    from tierscope.runs.read import read_run
    from tierscope.runs.store import find_run

    fast, colon, slow = pair.partition(":")
    if not colon:
        raise UserError(f"--pair '{pair}' is not FAST:SLOW, such as 0:2")
    run = read_run(find_run(name))
    first, second = (_latency(run, parse_count(node, minimum=0)) for node in (fast, slow))
    return first, second


def _latency(run: "Run", node: int) -> float:
    from tierscope.analysis.cost import memory_latency

    found = memory_latency(run, node)
    if found is None:
        raise UserError(
            f"the run has no latency of node {node}; "
            f"'tierscope latency --to node:{node}' measures it",
            ExitCode.NOTHING_MEASURED,
        )
    return found
