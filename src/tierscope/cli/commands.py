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
MEASURE, LOOK, COMPARE, PEERS = "Measure", "Look", "Compare", "Peers"


def root_entries() -> list[Entry]:
    """Return the commands right below ``tierscope``, in the order of ``--help``."""
    return [
        _written("run", "Measure this machine by a profile, or what a plan asks for.", MEASURE),
        *_generated(""),
        _written("matrix", "Measure every initiator against every target.", MEASURE),
        _written("gpu", "Measure GPUs: copies, memory, latency; a tour of all.", MEASURE),
        _written("storage", "Measure files and drives: a tour of a path.", MEASURE),
        _written("doctor", "Say what can be measured here, and what distorts figures.", LOOK),
        _written("topo", "Show the machine, and the limit of every link.", LOOK),
        _written("show", "Show a run again.", LOOK),
        _written("report", "Write a run's report as one HTML file.", LOOK),
        _written("list", "List the kept runs.", LOOK, "list:list_runs"),
        _written("tag", "Tag a run.", LOOK, "list:tag"),
        _written("query", "Query all kept runs in SQL.", LOOK),
        _written("export", "Export runs as Parquet or CSV, or for Prometheus.", LOOK),
        _written("bundle", "Pack a run for a bug report.", LOOK),
        _written("compare", "Compare runs: what got faster, what slower.", COMPARE),
        _written("check", "Check a run against golden values.", COMPARE),
        _written("nvbandwidth", "Run nvbandwidth's test cases, with its output.", PEERS),
        _written("gdsio", "Measure storage with gdsio's flags, job files and output.", PEERS),
        _written("gds-stats", "Show what a process moved through cuFile.", PEERS, _GDS_STATS),
    ]


def gpu_entries() -> list[Entry]:
    """Return the commands below ``tierscope gpu``."""
    return _generated("gpu")


def _written(name: str, summary: str, heading: str, place: str = "") -> Entry:
    """Return the entry of a command that is written by hand, by default MODULE:NAME as it says."""
    module, _, attribute = (place or f"{name}:{name}").partition(":")
    return Entry(name, summary, heading, partial(_import, module, attribute))


def _import(module: str, attribute: str) -> "click.Command":
    found: click.Command = getattr(import_module(f"tierscope.cli.{module}"), attribute)
    return found


def _generated(group: str) -> list[Entry]:
    """Return the entries of the kinds and recipes whose commands are right below ``group``."""
    rows: list[Kind | Recipe] = [*KINDS.values()]
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

    return measure_request(word, given, output, needs_gpu=group == "gpu")
