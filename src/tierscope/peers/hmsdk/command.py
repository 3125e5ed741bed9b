"""``tierscope hmsdk`` and ``hmctl``: the programs of SK hynix's HMSDK, by their options."""

from collections.abc import Callable
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.cli.parsing import Entry, LazyGroup

_COMMANDS = ("record", "top", "dump", "report", "info", "help")
_NODE = click.IntRange(0, 1023)
_TWO_ENDS = (
    "HMSDK 2.0's; name both ends, as since 3.0: -m FAST_TIER SLOW_TIER, or -d SRC DEST and "
    "-p SRC DEST"
)


@options.command("bwactl")
@options.file_option("--mlc-file", "MLC's matrix of bandwidths  [default: measure one]")
@options.file_option(
    "--lstopo-file", "Text of lstopo-no-graphics -p, or lstopo's XML  [default: this machine]"
)
@click.option(
    "--topology",
    metavar="GROUPS",
    help='Nodes to spread memory over together, as "[[0,2],[1,3]]"  [default: each package\'s]',
)
@click.option(
    "--max-weight",
    metavar="N",
    type=click.IntRange(1, 255),
    default=255,
    help="Largest weight  [default: 255]",
)
@click.option("--hmsdk-rule", is_flag=True, help="Halve and round as HMSDK does, up to 10")
@click.option("--dry-run", is_flag=True, help="Print the weights; write none")
@options.json_option
def bwactl(
    mlc_file: Path | None,
    lstopo_file: Path | None,
    topology: str | None,
    max_weight: int,
    hmsdk_rule: bool,
    dry_run: bool,
    output: Output,
) -> int:
    """Set the kernel's interleave weights in proportion to bandwidths, as HMSDK's bwactl does.

    Bandwidths are read from MLC's output, or measured: reads of each group's CPUs from each of its
    nodes. The lines on stdout are HMSDK's, and commands of a shell. Writing weights needs root and
    Linux 6.9. 'tierscope place weights --revert' restores the weights that were replaced.

    Exit status: 1 where weights could not be written.

    \b
    Examples:
      tierscope hmsdk bwactl --dry-run
      tierscope hmsdk bwactl --mlc-file mlc.txt --lstopo-file lstopo.txt
      tierscope hmsdk bwactl --mlc-file mlc.txt --topology "[[0,2],[1,3]]" --dry-run
    """
    from tierscope.peers.hmsdk.bwactl import set_weights

    return set_weights(output, mlc_file, lstopo_file, topology, max_weight, hmsdk_rule, dry_run)


@options.command("bwprof")
@click.argument(
    "command", type=click.Choice(_COMMANDS), metavar="|".join(_COMMANDS), default="help"
)
@click.argument("program", metavar="[-- PROGRAM [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-i", "--interval", metavar="SECONDS", default="2", help="Time between lines  [default: 2]"
)
@click.option(
    "-s", "--socket", metavar="N", type=click.IntRange(0), help="One socket  [default: all]"
)
@click.option(
    "-d",
    "--data-dir",
    "--dir",
    "directory",
    metavar="DIR",
    type=options.PATH,
    default="bwprof.data",
    help="Directory of the recording  [default: bwprof.data]",
)
@click.option("--top", is_flag=True, help="With record: show each line, too")
@click.option("--duration", metavar="TIME", help="How long to record  [default: until Ctrl-C]")
@options.json_option
@click.pass_context
def bwprof(
    context: click.Context,
    command: str,
    program: tuple[str, ...],
    interval: str,
    socket: int | None,
    directory: Path,
    top: bool,
    duration: str | None,
    output: Output,
) -> int:
    """Record memory bandwidth by socket, of DRAM and of CXL devices, as HMSDK's bwprof does.

    record writes DIR/bwprof.csv (seconds of the monotonic clock, MB/s) and DIR/info.txt, while
    PROGRAM runs, or until Ctrl-C; an earlier DIR becomes DIR.old. top shows the same and records
    nothing. dump prints what was recorded, report its means and sums, info the machine. What is not
    counted is empty, or -.

    \b
    Examples:
      tierscope hmsdk bwprof record -i 1 --top -- ./server --its-own-options
      tierscope hmsdk bwprof record -s 0 -d before --duration 60s
      tierscope hmsdk bwprof report -d before
      tierscope hmsdk bwprof help
    """
    from tierscope.model.errors import UserError
    from tierscope.peers.hmsdk.bwprof import Asked, record, show

    if command in ("record", "top"):
        kept = directory if command == "record" else None
        shown = top or command == "top"
        return record(Asked(interval, duration, socket, program), kept, shown, output)
    if program:
        raise UserError(f"bwprof {command} starts no program: leave '{program[0]}' out")
    if command == "help":
        click.echo(context.get_help())
        return 0
    return show(command, directory, output)


def _ways(
    short: str, long: str, name: str, nodes: str, help_text: str
) -> Callable[[options.Function], options.Function]:
    return click.option(
        short, long, name, type=(_NODE, _NODE), multiple=True, metavar=nodes, help=help_text
    )


@options.command("gen_migpol")
@_ways("-d", "--demote", "demotions", "SRC DEST", "Demote pages from SRC to DEST")
@_ways("-p", "--promote", "promotions", "SRC DEST", "Promote pages from SRC to DEST")
@_ways("-m", "--migrate", "both", "FAST_TIER SLOW_TIER", "Demote and promote between two nodes")
@click.option(
    "-g", "--global", "everything", is_flag=True,
    help="Move pages of all processes, not only of those in the cgroup 'hmsdk'",
)  # fmt: skip
@click.option(
    "-s", "--region-max-size", "most", metavar="SIZE",
    help="Cut larger regions, as in 1G; each piece gets a kdamond",
)  # fmt: skip
@click.option(
    "-o", "--output", "out", metavar="FILE", type=options.PATH, help="Write the policy to a file"
)
@options.moved_option("-c", _TWO_ENDS)
@options.moved_option("--cxl_nodes", _TWO_ENDS)
@options.moved_option("--dram_nodes", _TWO_ENDS)
@options.json_option
def gen_migpol(
    demotions: tuple[tuple[int, int], ...],
    promotions: tuple[tuple[int, int], ...],
    both: tuple[tuple[int, int], ...],
    everything: bool,
    most: str | None,
    out: Path | None,
    output: Output,
) -> None:
    """Write a migration policy as HMSDK's gen_migpol does: YAML that damo and 'tier start' read.

    \b
    Examples:
      tierscope hmsdk gen_migpol -d 0 2 -p 2 0 -o hmsdk.yaml
      tierscope hmsdk gen_migpol -m 0 2 -g
    """
    from tierscope.peers.hmsdk.gen_migpol import Ways, write_policy

    write_policy(Ways(demotions, promotions, both), everything, most, out, output)


_ENTRIES = (
    Entry(
        "bwactl", "Set interleave weights in proportion to bandwidths.", "Commands", lambda: bwactl
    ),
    Entry("bwprof", "Record memory bandwidth by socket as CSV.", "Commands", lambda: bwprof),
    Entry("gen_migpol", "Write a migration policy for damo.", "Commands", lambda: gen_migpol),
)


@click.group(cls=LazyGroup, entries=_ENTRIES, context_settings=options.SETTINGS)
def hmsdk() -> None:
    """Run HMSDK's programs, with their options and files.

    \b
    Examples:
      tierscope hmsdk bwprof record -i 1
      tierscope hmsdk bwactl --mlc-file mlc.txt --topology "[[0,2],[1,3]]"
      tierscope hmsdk gen_migpol -m 0 2 -o policy.yaml
    """


@click.command(
    "hmctl",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", metavar="PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def hmctl(words: tuple[str, ...]) -> int:
    """Start a program with hmctl's options: sets the environment that HMSDK's hmalloc reads.

    \b
    Examples:
      tierscope hmctl -m 2 ./program
      tierscope hmctl --weighted-interleave=0,2 ./program --its-own-options
    """
    from tierscope.peers.hmsdk.hmctl import run

    return run(words)
