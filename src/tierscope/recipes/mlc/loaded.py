"""MLC's loaded latency: one CPU's loads while others move data."""

from pathlib import Path

from tierscope.model.errors import UserError
from tierscope.recipes.drop_in.job_text import read_job_text
from tierscope.recipes.mlc import options
from tierscope.recipes.mlc.cells import Cell, Section, each_thread, threads_apart
from tierscope.recipes.mlc.clock import base_hz
from tierscope.recipes.mlc.options import whole
from tierscope.recipes.mlc.settings import Settings, bound
from tierscope.recipes.mlc.specs import (
    Group,
    clocked_ns,
    loaded_spec,
    local_to_each,
    streams_spec,
)
from tierscope.recipes.mlc.threads_file import read_threads
from tierscope.recipes.mlc.traffic import READS, Mix

DELAYS = (
    0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000,
)  # fmt: skip
"""Clocks, of ``--loaded_latency``."""


def loaded_section(settings: Settings) -> Section:
    """Return latency under loads at falling rates; with -T, the loads alone."""
    line = settings.line
    delays = _delays(settings)
    hz = base_hz() if any(delays) else 1.0
    groups = _load(settings)
    if not groups:
        return Section(options.LOADED, (), missing=_no_load(settings))
    cells = []
    for delay in delays:
        name, pause = f"loaded.d{delay}", clocked_ns(delay, hz)
        if line.of("T"):
            alone = each_thread(groups) if line.of("B") else groups
            moves = streams_spec(settings, name, alone, pause)
            threads = threads_apart(moves, alone) if line.of("B") else {}
            cells.append(Cell(delay, 0, moves.spec, moves.parts, threads))
        else:
            moves = loaded_spec(settings, name, settings.cpu("c"), groups[0], pause)
            cells.append(Cell(delay, 0, moves.spec, moves.parts))
    return Section(options.LOADED, tuple(cells), thread_bytes=groups[0].size)


def _delays(settings: Settings) -> list[int]:
    line = settings.line
    if "d" in line.given:
        return [line.of("d")]
    if "g" not in line.given:
        return list(DELAYS)
    name = line.of("g")
    found = []
    for number, text in enumerate(read_job_text(name).split("\n"), start=1):
        if text.strip():
            try:
                found.append(whole(0, 1_000_000)(text.strip()))
            except UserError as error:
                raise UserError(f"{name}:{number}: {error}") from None
    if not found:
        raise UserError(f"{name}: no delays; give one a line")
    return list(dict.fromkeys(found))


def _load(settings: Settings) -> list[Group]:
    """Return what loads the memory: one group, or with -T several."""
    line = settings.line
    groups = _of_file(settings) if "o" in line.given else _of_cpus(settings)
    if line.of("T") or not groups:
        return groups
    if line.of("B"):
        raise UserError("-B: the bandwidth of each thread is measured with -T only")
    if len(groups) > 1:
        raise UserError(
            f"-o: {Path(line.of('o')).name} has {len(groups)} kinds of threads; latency is "
            "measured beside one kind, so add -T, or make all lines alike"
        )
    if settings.cpu("c") in groups[0].cpus:
        raise UserError(
            f"-{'o' if 'o' in line.given else 'k'}: CPU {settings.cpu('c')} measures the latency "
            "and cannot load, too; leave it out, name another in -c, or give -T"
        )
    return groups


def _no_load(settings: Settings) -> str:
    return (
        f"--{options.LOADED}: CPU {settings.cpu('c')} measures the latency, and no other is left "
        "to load; with -T it loads alone"
    )


def _of_cpus(settings: Settings) -> list[Group]:
    line = settings.line
    chase = settings.cpu("c")
    if line.of("T") or ("k" in line.given and line.mode):
        spared: set[int] = set()
    else:
        core = next((one for one in settings.topology.siblings if chase in one), [chase])
        spared = set(core) if line.of("X") else {chase}
    ways = [
        (left, node)
        for cpus, node in settings.with_own_memory()
        if (left := [cpu for cpu in cpus if cpu not in spared])
    ]
    if not ways and line.mode:
        raise UserError(_no_load(settings))
    if not ways:
        return []
    size = settings.thread_bytes(ways)
    mix: Mix = line.of("W", READS)
    if "j" in line.given:
        node = settings.forced_node()
        ways = [([cpu for cpus, _ in ways for cpu in cpus], node)]
    if line.of("T"):
        return [Group(tuple(cpus), bound(n), mix, size, settings.order) for cpus, n in ways]
    cpus, placement = local_to_each(ways)
    return [Group(tuple(cpus), placement, mix, size, settings.order)]


def _of_file(settings: Settings) -> list[Group]:
    """Return the threads of -o, those that do the same together."""
    if "k" in settings.line.given:
        raise UserError("-k and -o contradict each other: the file names the CPUs")
    found: dict[tuple[object, ...], Group] = {}
    for threads in read_threads(settings.line.of("o")):
        try:
            settings.check(threads.cpus, [share.node for share in threads.placement.nodes])
        except UserError as error:
            raise UserError(f"{threads.place}: {error}") from None
        key = (threads.mix.name, threads.order, threads.size, threads.placement.model_dump_json())
        before = found[key].cpus if key in found else ()
        cpus = (*before, *threads.cpus)
        found[key] = Group(cpus, threads.placement, threads.mix, threads.size, threads.order)
    return list(found.values())
