"""``tierscope alloc``: heaps of programs on nodes of choice, by rules."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from tierscope.cli import options
from tierscope.cli.commands import alloc_entries
from tierscope.cli.output import STDOUT, Output
from tierscope.cli.parsing import LazyGroup, WithProgram
from tierscope.model.errors import UserError


@click.group(cls=LazyGroup, entries=alloc_entries(), context_settings=options.SETTINGS)
def alloc() -> None:
    """Place parts of a program's heap on chosen nodes, and leave the rest where it is.

    \b
    Examples:
      tierscope alloc sites -- ./server
      tierscope alloc exec --to node:2 --above 1m -- ./server
      tierscope alloc exec --rules tiers.rules --statistics -- ./server
      cc program.c $(tierscope alloc flags) -o program
    """


@click.command("exec", cls=WithProgram, context_settings=options.SETTINGS)
@click.option(
    "--rules", metavar="FILE",
    help="Rules: by size, call site, thread, mapping (see docs/allocator.md)",
)  # fmt: skip
@click.option(
    "--to", metavar="NODES",
    help="Nodes for the blocks of --above: node:2, 0@2,2@1, or in another form of place exec",
)  # fmt: skip
@click.option(
    "--above", metavar="SIZE",
    help="With --to: blocks of SIZE or more, as in 1m  [default: all blocks]",
)  # fmt: skip
@click.option(
    "--capacity", metavar="SIZE", help="With --to: maximum bytes there  [default: no limit]"
)
@click.option(
    "--full", metavar="spill|fail|reclaim", type=click.Choice(["spill", "fail", "reclaim"]),
    help="With --to, once --capacity is reached or the nodes are full: use plain memory, let "
    "malloc fail, or use unused memory of other arenas first  [default: spill]",
)  # fmt: skip
@click.option(
    "--ratio", metavar="A:B",
    help="Keep bytes on the two nodes of --nodes in this ratio: smaller blocks on the first, "
    "larger ones on the second, by a threshold that moves",
)  # fmt: skip
@click.option("--nodes", metavar="NODES", help="With --ratio: two nodes, as in 0,2")
@click.option(
    "--statistics", is_flag=True,
    help="At exit, print on stderr the bytes of each rule and the nodes of their pages",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True,
    help="End the program, and its children, with status 1 where the rules cannot be applied",
)  # fmt: skip
@options.form_option("--json", "Write a line of JSON for each process to FILE when it ends")
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def execute(
    statistics: bool, strict: bool, json: str | None, command: tuple[str, ...], **given: Any
) -> int:
    """Start a program whose malloc takes memory from chosen nodes, by rules.

    A library is preloaded that stands in front of the program's own allocator. What no rule takes
    is left to that. Nodes that are full are not forced: blocks are plain memory then. The program
    takes this process's place. Programs that it starts follow the same rules, each by itself.

    Exit status: the program's; 1 with --strict, the rules cannot be applied; 2 the request is
    wrong, 126 the program cannot be executed, 127 there is no such program.

    \b
    Examples:
      tierscope alloc exec --to node:2 --above 1m -- ./server
      tierscope alloc exec --to node:0,2@2:1 --capacity 64g --full fail -- ./server
      tierscope alloc exec --ratio 2:1 --nodes 0,2 --statistics -- redis-server
      tierscope alloc exec --rules tiers.rules -- python3 job.py
    """
    from tierscope.place.alloc_rules import Asked, rules_of

    asked = Asked(**given)
    words = [word for word, wanted in (("strict", strict), ("statistics", statistics)) if wanted]
    return _start_program("exec", command, lambda: rules_of(asked), words, Output(json))


@options.command("check")
@options.json_option
@click.argument("file", metavar="FILE")
def check(file: str, output: Output) -> int:
    """Check a file of rules for alloc exec: every line, and that this machine has the nodes.

    Lines of such a file, of which the first one that fits counts:

    \b
      arena slow 2 capacity=8G full=spill   nodes: 2 or 0,2 or bind:2 or 0@2,2@1
      arena both 0@2,2@1
      size >= 1M -> slow                    also: size 64K..1M, which leaves 1M out
      thread worker* -> slow                names of threads
      site server:load_index -> slow        the caller of malloc, as alloc sites shows it
      map >= 64M -> slow                    anonymous private mappings
      ratio plain:slow 2:1                  all other blocks, by a threshold that moves

    Exit status: 2 where something is wrong.

    \b
    Examples:
      tierscope alloc check tiers.rules
    """
    from tierscope.model.errors import counted
    from tierscope.place.allocator import check_rules, rules_file

    output.check()
    arenas, rules = check_rules(rules_file(file))
    text = f"{file}: {counted(arenas, 'arena')}, {counted(rules, 'rule')}; nothing is wrong"
    output.emit({"file": file, "arenas": arenas, "rules": rules}, text)
    return 0


@click.command("sites", cls=WithProgram, context_settings=options.SETTINGS)
@options.form_option("--json", "Write a line of JSON for each process to FILE when it ends")
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def sites(json: str | None, command: tuple[str, ...]) -> int:
    """Start a program, and when it ends show which functions called malloc for most bytes.

    The table on stderr has a line for each function that calls malloc, calloc or the like itself,
    as a rule names it: OBJECT:FUNCTION, or OBJECT+0xOFFSET where the file has no symbols. Bytes are
    all that were allocated, freed ones included. All memory is plain.

    Exit status: the program's; 126 the program cannot be executed, 127 there is no such program.

    \b
    Examples:
      tierscope alloc sites -- ./server
      tierscope alloc sites -- sort /etc/services
    """
    return _start_program("sites", command, lambda: "", ["sites"], Output(json))


@options.command("flags")
@click.option("--compile", "only", flag_value="compile", help="Only the compiler's options")
@click.option("--link", "only", flag_value="link", help="Only the linker's options")
@click.option("--libdir", "only", flag_value="libdir", help="Only the libraries' folder")
@click.option("--hmalloc", "library", flag_value="hmalloc", help="For libhmalloc.so, HMSDK's")
@click.option(
    "--cemalloc", "library", flag_value="cemalloc", help="For libcemalloc.so, of HMSDK 1.1 and 2.0"
)
@options.json_option
def flags(only: str | None, library: str | None, output: Output) -> int:
    """Print the options that compile a program with the allocator and link it.

    \b
    Examples:
      cc program.c $(tierscope alloc flags) -o program
      tierscope alloc flags --link
      LD_LIBRARY_PATH="$(tierscope alloc flags --libdir)" tierscope hmctl -m 2 ./program
    """
    from tierscope.place.allocator import compile_flags, libraries, link_flags

    parts = {
        "compile": " ".join(compile_flags()),
        "link": " ".join(link_flags(library or "tierscope-alloc")),
        "libdir": str(libraries()),
    }
    text = parts[only] if only else f"{parts['compile']} {parts['link']}"
    output.emit(parts, text)
    return 0


def _start_program(
    name: str,
    command: tuple[str, ...],
    rules: Callable[[], str],
    words: Sequence[str],
    output: Output,
) -> NoReturn:
    """Become the program, with the rules that ``rules`` returns. Raises UserError."""
    from tierscope.place.allocator import environment_for
    from tierscope.place.launch import become, find_program, own_environment

    if not command:
        raise UserError(f"name the program behind --, as in: tierscope alloc {name} -- ./server")
    if output.json == STDOUT:
        raise UserError("--json: stdout is the program's; name a file, as in --json=heap.json")
    output.check()
    setting = rules()
    program = find_program(command[0])
    statistics = Path(output.json).absolute() if output.json else None
    environment = environment_for(program, setting, words, statistics, own_environment())
    if statistics:
        from tierscope.runs.output import write_output

        write_output(statistics, "", "--json")
    become(program, command, environment)
