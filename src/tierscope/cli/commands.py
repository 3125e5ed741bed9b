"""The table of commands: what ``tierscope --help`` lists, and where each one is.

Commands of kinds and suites come from their registries. Nothing here imports a command.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tierscope.cli.parsing import Entry, LazyGroup
from tierscope.kinds.registry import DEVICES, KINDS, MEMORY, Kind
from tierscope.peers.registry import (
    IMPORTERS,
    OTHER_TOOLS,
    PEERS,
    PROGRAMS,
    Peer,
    imported_programs,
)
from tierscope.suites.registry import SUITES
from tierscope.suites.suite import Suite

if TYPE_CHECKING:
    import click

MEASURE, ACT, LOOK, COMPARE = "Measure", "Act", "Look", "Compare"


def root_entries() -> list[Entry]:
    """Return the commands right below ``tierscope``, in the order of ``--help``."""
    rows = [
        _written("run", "Measure this machine by a profile, or what a plan asks for.", MEMORY),
        _written("gpu", "Measure GPUs: copies, memory, latency; a tour of all.", DEVICES),
        _written("storage", "Measure files and drives: a tour of a path.", DEVICES),
        *_generated(""),
        _of_kind("ops"),
        _written("matrix", "Measure every initiator against every target.", MEMORY),
        _written("pmdk", "Measure the cost of PMDK over plain memory.", MEMORY, group="pmem"),
        _written("stream", "Measure Copy, Scale, Add and Triad by STREAM's rules.", MEMORY,
                 group="peers"),
        _of_kind("checkpoint"),
        _written("apps", "Run real applications with their memory on each tier.", DEVICES),
        _written("fleet", "Measure many hosts at once, and find the slow ones.", DEVICES),
        _written("place", "Place the pages of programs, processes and files.", ACT),
        _written("alloc", "Place program heaps on chosen nodes, by rules.", ACT),
        _written("tier", "Move hot pages to fast nodes and cold ones to slow nodes.", ACT),
        _written("doctor", "Report what can be measured here, and what distorts figures.", LOOK),
        _written("topo", "Show the machine, and the limit of every link.", LOOK),
        _of_kind("watch"),
        _written("demo", "Write example runs, and commands to try with them.", LOOK),
        _written("show", "Show a run again.", LOOK),
        _written("report", "Write a run's report as one HTML file.", LOOK),
        _written("pmem-check", "Check that persistent memory survives crashes consistently.", LOOK,
                 "pmem_check:pmem_check", group="pmem"),
        _written("handover-responder", "Answer hand-overs of another host in shared memory.",
                 MEMORY, "handover:responder", group="pmem"),
        _written("list", "List the kept runs.", LOOK, "list:list_runs", group="runs"),
        _written("tag", "Tag a run.", LOOK, "list:tag", group="runs"),
        _written("query", "Query all kept runs in SQL.", LOOK, group="runs"),
        *_import_entry(),
        _written("export", "Export runs as tables, for Prometheus, as interleave weights.", LOOK,
                 group="runs"),
        _written("bundle", "Pack a run for a bug report.", LOOK, group="runs"),
        _written("compare", "Compare runs: what got faster, what slower.", COMPARE),
        _written("check", "Check a run against golden values.", COMPARE),
        _written("whatif", "Predict what other memory would do here.", COMPARE),
        _written("cost", "Estimate the cost of tiers and placements.", COMPARE),
        *_of_peers(),
    ]  # fmt: skip
    return [
        *rows,
        *_group("memory", "More of memory", MEMORY, rows),
        *_group("pmem", "Persistent memory", MEMORY, rows),
        *_group("runs", "Keep, search and exchange runs", LOOK, rows),
        *_group("peers", "Commands of other tools, with their options and files", OTHER_TOOLS, rows,
                _written("install", f"Put programs on PATH: {', '.join(PROGRAMS)}.", OTHER_TOOLS,
                         "peers:install")),
    ]  # fmt: skip


def gpu_entries() -> list[Entry]:
    """Return the commands below ``tierscope gpu``."""
    return _generated("gpu")


def apps_entries() -> list[Entry]:
    """Return the commands below ``tierscope apps``."""
    return [
        *_generated("apps"),
        _written("list", "List applications, and what each lacks here.", LOOK, "apps:list_apps"),
        _written("install", "Install what applications need.", ACT, "apps:install"),
        _written("report", "Show what placements do to applications, and what they cost.", LOOK,
                 "apps:report"),
    ]  # fmt: skip


def place_entries() -> list[Entry]:
    """Return the commands below ``tierscope place``."""
    return [
        _written("exec", "Start a program under a memory policy.", ACT, "place:execute"),
        _written("move", "Move a process's pages to other nodes.", ACT, "place:move"),
        _written("file", "Give a file in memory a policy of its own.", ACT, "place:file"),
        _written("weights", "Find and apply interleave weights.", ACT, "place_weights:weights"),
    ]


def alloc_entries() -> list[Entry]:
    """Return the commands below ``tierscope alloc``."""
    return [
        _written("exec", "Start a program whose heap follows rules.", ACT, "alloc:execute"),
        _written("check", "Check a file of rules.", LOOK, "alloc:check"),
        _written("sites", "Show the functions of a program that allocate most.", LOOK,
                 "alloc:sites"),
        _written("heat", "Show how hot the memory of each function is, and propose rules.", LOOK,
                 "alloc_heat:heat"),
        _written("flags", "Print the options that link a program with the allocator.", LOOK,
                 "alloc:flags"),
    ]  # fmt: skip


def tier_entries() -> list[Entry]:
    """Return the commands below ``tierscope tier``."""
    return [
        _written("start", "Start moving pages by rules.", ACT, "tier:start"),
        _written("status", "Show what has moved, and why nothing moves.", LOOK, "tier:status"),
        _written("watch", "Show the same, live.", LOOK, "tier:watch"),
        _written("stop", "Stop, and restore what was changed.", ACT, "tier:stop"),
        _written("restore", "Restore what was changed, after a crash.", ACT, "tier:restore"),
        _written("observe", "Show which memory is accessed.", LOOK, "tier_observe:observe"),
        _written("presets", "List the presets.", LOOK, "tier:presets"),
        _written("rules", "Print rules as a file for damo.", LOOK, "tier:rules"),
    ]


def fleet_entries() -> list[Entry]:
    """Return the commands below ``tierscope fleet``."""
    return [
        _written("run", "Measure a plan on all hosts of an MPI job.", MEASURE, "fleet_run:run"),
        _written("gather", "Join the runs of many hosts as Parquet.", LOOK, "fleet:gather"),
        _written("check", "Find hosts that are slower than their group.", COMPARE,
                 "fleet:check"),
        _written("report", "Write a fleet's report as one HTML file.", LOOK,
                 "fleet:report"),
    ]  # fmt: skip


def _import_entry() -> list[Entry]:
    """Return the command that imports files, where a peer has any."""
    summary = f"Import results of {imported_programs()} as a run."
    return [_written("import", summary, LOOK, "import_:import_", group="runs")] if IMPORTERS else []


def _group(name: str, title: str, heading: str, rows: list[Entry], *further: Entry) -> list[Entry]:
    """Return the command that lists those of ``rows`` that are of a group, if there are any.

    ``further`` commands are called with the group's name only.
    """
    entries = [entry for entry in rows if entry.group == name]
    summary = f"{title}: {', '.join(entry.name for entry in entries)}."
    load = partial(_group_command, name, summary, entries, further)
    return [Entry(name, summary, heading, load)] if entries else []


def _group_command(
    name: str, summary: str, entries: list[Entry], further: tuple[Entry, ...]
) -> "click.Command":
    from tierscope.cli.options import SETTINGS

    first = entries[0].name
    but = f" but {', '.join(entry.name for entry in further)}" if further else ""
    more = "".join(f"\n      tierscope {name} {one.name}" for one in further)
    text = f"""{summary}

    Each{but} is a command of its own, too: `tierscope {first}` is `tierscope {name} {first}`.

    \b
    Example{"s" * bool(further)}:
      tierscope {name} {first} --help{more}
    """
    return LazyGroup(name, entries=[*entries, *further], help=text, context_settings=SETTINGS)


def _of_peers() -> list[Entry]:
    """Return the commands of peers."""
    return [
        Entry(one.name, one.summary, one.heading, partial(_peer_command, peer, one.name), one.group)
        for peer in PEERS.values()
        for one in peer.commands
    ]


def _peer_command(peer: Peer, name: str) -> "click.Command":
    found: click.Command = getattr(peer.module("command"), name.replace("-", "_"))
    return found


def _written(name: str, summary: str, heading: str, place: str = "", group: str = "") -> Entry:
    """Return the entry of a command that is written by hand, by default MODULE:NAME as it says."""
    module, _, attribute = (place or f"{name}:{name}").partition(":")
    return Entry(name, summary, heading, partial(_import, module, attribute), group)


def _of_kind(name: str) -> Entry:
    """Return the entry of a kind whose command is written by hand."""
    kind = KINDS[name]
    return _written(name, kind.summary, kind.heading, group=kind.group)


def _import(module: str, attribute: str) -> "click.Command":
    found: click.Command = getattr(import_module(f"tierscope.cli.{module}"), attribute)
    return found


def _generated(group: str) -> list[Entry]:
    """Return the entries of the kinds and suites whose commands are right below ``group``."""
    rows: list[Kind | Suite] = [kind for kind in KINDS.values() if not kind.own_command]
    rows += [suite for suite in SUITES.values() if suite.form_module]
    found = []
    for row in rows:
        above, _, name = (row.command or row.name).rpartition(" ")
        if above == group:
            load = partial(_request_command, row, name, group)
            heading = MEASURE if group else row.heading
            found.append(Entry(name, row.summary, heading, load, row.group))
    return found


def _request_command(row: Kind | Suite, name: str, group: str) -> "click.Command":
    from tierscope.cli.generated import request_command
    from tierscope.cli.measure import measure_request

    measure = partial(measure_request, row.name, group == "gpu")
    return request_command(name, row.summary, row.request, measure)
