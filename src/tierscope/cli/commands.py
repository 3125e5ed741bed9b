"""The table of commands: what ``tierscope --help`` lists, and where each one is.

Commands of kinds and recipes come from their registries. Nothing here imports a command.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tierscope.cli.group import Entry
from tierscope.kinds.registry import KINDS, Kind
from tierscope.recipes.registry import RECIPES, Recipe

if TYPE_CHECKING:
    import click

    from tierscope.cli.options import Output

_GDS_STATS = "gds_stats:gds_stats"
MEASURE, ACT, LOOK, COMPARE, PEERS = "Measure", "Act", "Look", "Compare", "Peers"


def root_entries() -> list[Entry]:
    """Return the commands right below ``tierscope``, in the order of ``--help``."""
    return [
        _written("run", "Measure this machine by a profile, or what a plan asks for.", MEASURE),
        *_generated(""),
        _written("stream", "Measure Copy, Scale, Add and Triad by STREAM's rules.", MEASURE),
        _written("matrix", "Measure every initiator against every target.", MEASURE),
        _written("pmdk", "Measure what PMDK costs over plain memory.", MEASURE),
        _written("streamer", "Carry out the STREAMer study of persistent and CXL memory.", MEASURE),
        _written("gpu", "Measure GPUs: copies, memory, latency; a tour of all.", MEASURE),
        _written("checkpoint", KINDS["checkpoint"].summary, MEASURE),
        _written("storage", "Measure files and drives: a tour of a path.", MEASURE),
        _written("fleet", "Measure many hosts at once, and find the slow ones.", MEASURE),
        _written("place", "Place the pages of programs, processes and files.", ACT),
        _written("alloc", "Put the heap of programs on nodes of choice, by rules.", ACT),
        _written("tier", "Move hot pages to fast nodes and cold ones to slow nodes.", ACT),
        _written("doctor", "Say what can be measured here, and what distorts figures.", LOOK),
        _written("topo", "Show the machine, and the limit of every link.", LOOK),
        _written(
            "pmem-check",
            "Check that persistent memory survives crashes consistently.",
            LOOK,
            "pmem_check:pmem_check",
        ),
        _written("watch", KINDS["watch"].summary, LOOK),
        _written(
            "import", "Import results of CXL-Bench, Mess or MLC as a run.", LOOK, "import_:import_"
        ),
        _written("show", "Show a run again.", LOOK),
        _written("report", "Write a run's report as one HTML file.", LOOK),
        _written("list", "List the kept runs.", LOOK, "list:list_runs"),
        _written("tag", "Tag a run.", LOOK, "list:tag"),
        _written("query", "Query all kept runs in SQL.", LOOK),
        _written("export", "Export runs as tables, for Prometheus, as interleave weights.", LOOK),
        _written("bundle", "Pack a run for a bug report.", LOOK),
        _written("compare", "Compare runs: what got faster, what slower.", COMPARE),
        _written("check", "Check a run against golden values.", COMPARE),
        _written("cost", "Say what tiers and placements cost.", COMPARE),
        _written("mlc", "Measure memory with the options and text of Intel's MLC.", PEERS),
        _written("nvbandwidth", "Run nvbandwidth's test cases, with its output.", PEERS),
        _written("gdsio", "Measure storage with gdsio's flags, job files and output.", PEERS),
        _written("fio", "Measure storage with fio's job files, options and output.", PEERS),
        _written("gds-stats", "Show what a process moved through cuFile.", PEERS, _GDS_STATS),
        _written("hmsdk", "Run HMSDK's programs, with their options and files.", PEERS),
        _written("hmctl", "Start a program with hmctl's options and environment.", PEERS),
    ]


def gpu_entries() -> list[Entry]:
    """Return the commands below ``tierscope gpu``."""
    return _generated("gpu")


def hmsdk_entries() -> list[Entry]:
    """Return the commands below ``tierscope hmsdk``."""
    return [
        _written("bwactl", "Set interleave weights in proportion to bandwidths.", PEERS,
                 "hmsdk_bwactl:bwactl"),
        _written("bwprof", "Record memory bandwidth by socket as CSV.", PEERS,
                 "hmsdk_bwprof:bwprof"),
        _written("gen_migpol", "Write a migration policy for damo.", PEERS,
                 "hmsdk_gen_migpol:gen_migpol"),
    ]  # fmt: skip


def place_entries() -> list[Entry]:
    """Return the commands below ``tierscope place``."""
    return [
        _written("exec", "Start a program under a memory policy.", ACT, "place_exec:execute"),
        _written("move", "Move a process's pages to other nodes.", ACT, "place_move:move"),
        _written("file", "Give a file in memory a policy of its own.", ACT, "place_file:file"),
        _written("weights", "Find and apply interleave weights.", ACT, "place_weights:weights"),
    ]


def alloc_entries() -> list[Entry]:
    """Return the commands below ``tierscope alloc``."""
    return [
        _written("exec", "Start a program whose heap follows rules.", ACT, "alloc_exec:execute"),
        _written("check", "Check a file of rules.", LOOK, "alloc_check:check"),
        _written("sites", "Show which functions of a program allocate most.", LOOK,
                 "alloc_sites:sites"),
        _written("flags", "Print the options that link a program with the allocator.", LOOK,
                 "alloc_flags:flags"),
    ]  # fmt: skip


def tier_entries() -> list[Entry]:
    """Return the commands below ``tierscope tier``."""
    return [
        _written("start", "Start moving pages by rules.", ACT, "tier_start:start"),
        _written("status", "Show what has moved, and why nothing moves.", LOOK, "tier_look:status"),
        _written("watch", "Show the same, live.", LOOK, "tier_look:watch"),
        _written("stop", "Stop, and restore what was changed.", ACT, "tier_look:stop"),
        _written("restore", "Restore what was changed, after a crash.", ACT, "tier_look:restore"),
        _written("observe", "Show which memory is accessed.", LOOK, "tier_observe:observe"),
        _written("presets", "List the presets.", LOOK, "tier_rules:presets"),
        _written("rules", "Print rules as a file for damo.", LOOK, "tier_rules:rules"),
    ]


def fleet_entries() -> list[Entry]:
    """Return the commands below ``tierscope fleet``."""
    return [
        _written("run", "Measure a plan on all hosts of an MPI job.", MEASURE, "fleet_run:run"),
        _written("gather", "Join the runs of many hosts as Parquet.", LOOK, "fleet_gather:gather"),
        _written("check", "Find hosts that are slower than their group.", COMPARE,
                 "fleet_check:check"),
        _written("report", "Write a fleet's report as one HTML file.", LOOK,
                 "fleet_report:report"),
    ]  # fmt: skip


def _written(name: str, summary: str, heading: str, place: str = "") -> Entry:
    """Return the entry of a command that is written by hand, by default MODULE:NAME as it says."""
    module, _, attribute = (place or f"{name}:{name}").partition(":")
    return Entry(name, summary, heading, partial(_import, module, attribute))


def _import(module: str, attribute: str) -> "click.Command":
    found: click.Command = getattr(import_module(f"tierscope.cli.{module}"), attribute)
    return found


def _generated(group: str) -> list[Entry]:
    """Return the entries of the kinds and recipes whose commands are right below ``group``."""
    rows: list[Kind | Recipe] = [kind for kind in KINDS.values() if not kind.own_command]
    rows += [recipe for recipe in RECIPES.values() if recipe.form_module]
    found = []
    for row in rows:
        above, _, name = (row.command or row.name).rpartition(" ")
        if above == group:
            load = partial(_request_command, row, name, group)
            found.append(Entry(name, row.summary, MEASURE, load, row.aliases))
    return found


def _request_command(row: Kind | Recipe, name: str, group: str) -> "click.Command":
    from tierscope.cli.generated import request_command

    return request_command(name, row.summary, row.request, partial(_measure, row.name, group))


def _measure(word: str, group: str, given: dict[str, str], output: "Output") -> int:
    from tierscope.cli.request_flow import measure_request

    if word in KINDS and KINDS[word].over_mpi:
        from tierscope.mpi.launcher import launched_rank
        from tierscope.mpi.ranks import ranks, served

        if served():
            return 0
        if launched_rank() is not None:
            ranks()  # Gives rank 0 the CPUs back that its launcher bound it to.
    return measure_request(word, given, output, needs_gpu=group == "gpu")
