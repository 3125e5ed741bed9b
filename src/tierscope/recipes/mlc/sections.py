"""MLC's modes as sections of its output."""

from collections.abc import Callable, Sequence

from tierscope.plans.pinning import by_rank_in_core
from tierscope.recipes.mlc import options
from tierscope.recipes.mlc.c2c import c2c_section
from tierscope.recipes.mlc.cells import Cell, Section, each_thread, threads_apart
from tierscope.recipes.mlc.loaded import loaded_section
from tierscope.recipes.mlc.settings import Settings, bound
from tierscope.recipes.mlc.specs import (
    Group,
    Moves,
    can_triad,
    latency_spec,
    streams_spec,
    triad_spec,
)
from tierscope.recipes.mlc.traffic import PEAK, READS, Mix


def sections(settings: Settings) -> list[Section]:
    """Return what a command line measures; UserError where this machine cannot."""
    return [_MAKERS[mode](settings) for mode in settings.line.modes]


def _latency_matrix(settings: Settings) -> Section:
    nodes = settings.memory_nodes
    cells = [
        Cell(node.number, to, latency_spec(settings, f"latency.{node.number}.{to}", cpu, to, nodes))
        for node, cpu in settings.first_cpus
        for to in nodes
    ]
    size = settings.latency_bytes(min(settings.topology.cpus), nodes)
    return Section(options.LATENCY, tuple(cells), tuple(nodes), latency_bytes=size)


def _idle_latency(settings: Settings) -> Section:
    cpus = [settings.cpu("c")]
    if settings.line.of("a"):
        ranks = by_rank_in_core(settings.topology.cpus, settings.topology.siblings)
        cpus = ranks[0] if settings.line.of("X") else settings.topology.cpus
    nodes = {cpu: settings.latency_memory(cpu) for cpu in cpus}
    every = sorted(set(nodes.values()))
    cells = [
        Cell(cpu, node, latency_spec(settings, f"latency.cpu{cpu}.{node}", cpu, node, every))
        for cpu, node in nodes.items()
    ]
    size = settings.latency_bytes(cpus[0], every)
    return Section(options.IDLE, tuple(cells), latency_bytes=size)


def _bandwidth_matrix(settings: Settings) -> Section:
    mix: Mix = settings.line.of("W", READS)
    nodes = settings.memory_nodes
    ways = [(node.number, cpus, to) for node, cpus in settings.with_cpus for to in nodes]
    size = settings.thread_bytes([(cpus, to) for _, cpus, to in ways])
    cells = []
    for number, cpus, to in ways:
        group = Group(tuple(cpus), bound(to), mix, size, settings.order)
        moves = _moves(settings, f"bandwidth.{number}.{to}.{mix.name}", [group], mix)
        cells.append(Cell(number, to, moves.spec, moves.parts))
    return Section(options.MATRIX, tuple(cells), tuple(nodes), thread_bytes=size)


def _moves(settings: Settings, name: str, groups: Sequence[Group], mix: Mix) -> Moves:
    if mix.two_buffers and can_triad(settings, groups):
        return triad_spec(settings, name, groups, mix)
    return streams_spec(settings, name, groups, 0)


def peak_section(settings: Settings) -> Section:
    """Return peak injection: all CPUs to their own nodes, at five mixes."""
    return _peaks(settings, options.PEAK, [settings.with_own_memory()])


def _max_bandwidth(settings: Settings) -> Section:
    """Peak injection by several numbers of threads on each node: all, one a core, half of those."""
    every = settings.with_own_memory()
    cores = settings.topology.siblings
    single = [(by_rank_in_core(cpus, cores)[0], node) for cpus, node in every]
    half = [(cpus[: max(1, len(cpus) // 2)], node) for cpus, node in single]
    tried = []
    for one in (every, single, half):
        if one not in tried:
            tried.append(one)
    return _peaks(settings, options.MAX, tried)


Ways = list[tuple[list[int], int]]
"""CPUs, and the node that they go to."""


def _peaks(settings: Settings, mode: str, tried: Sequence[Ways]) -> Section:
    size = settings.thread_bytes(tried[0])
    cells = []
    for number, ways in enumerate(tried):
        for label, mix in PEAK.items():
            groups = [
                Group(tuple(cpus), bound(node), mix, size, settings.order) for cpus, node in ways
            ]
            name = f"{'peak' if mode == options.PEAK else 'max'}.{mix.name}"
            name += f".{sum(len(cpus) for cpus, _ in ways)}" if len(tried) > 1 else ""
            cells.append(_peak(settings, name, label, number, groups, mix))
    return Section(mode, tuple(cells), thread_bytes=size)


def _peak(
    settings: Settings, name: str, label: str, number: int, groups: list[Group], mix: Mix
) -> Cell:
    if settings.line.of("B"):
        alone = each_thread(groups)
        moves = streams_spec(settings, name, alone, 0)
        return Cell(label, number, moves.spec, moves.parts, threads_apart(moves, alone))
    moves = _moves(settings, name, groups, mix)
    return Cell(label, number, moves.spec, moves.parts)


_MAKERS: dict[str, Callable[[Settings], Section]] = {
    options.LATENCY: _latency_matrix,
    options.IDLE: _idle_latency,
    options.MATRIX: _bandwidth_matrix,
    options.PEAK: peak_section,
    options.MAX: _max_bandwidth,
    options.LOADED: loaded_section,
    options.C2C: c2c_section,
}
