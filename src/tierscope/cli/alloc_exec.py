"""``tierscope alloc exec``."""

import click

from tierscope.cli import options
from tierscope.cli.parsing import WithProgram


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
    "--capacity", metavar="SIZE", help="With --to: so many bytes at most  [default: no limit]"
)
@click.option(
    "--full", metavar="spill|fail|reclaim", type=click.Choice(["spill", "fail", "reclaim"]),
    help="With --to, when that is reached or the nodes are full: plain memory, malloc fails, or "
    "unused memory of other arenas first  [default: spill]",
)  # fmt: skip
@click.option(
    "--ratio", metavar="A:B",
    help="Keep bytes on the two nodes of --nodes in this ratio: smaller blocks on the first, "
    "larger ones on the second, by a threshold that moves",
)  # fmt: skip
@click.option("--nodes", metavar="NODES", help="With --ratio: two nodes, as in 0,2")
@click.option(
    "--statistics", is_flag=True,
    help="When it ends, print on stderr what each rule took and where pages lie",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True,
    help="End the program, and its children, with status 1 where the rules cannot be applied",
)  # fmt: skip
@options.form_option("--json", "Write a line of JSON for each process to FILE when it ends")
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def execute(
    rules: str | None,
    to: str | None,
    above: str | None,
    capacity: str | None,
    full: str | None,
    ratio: str | None,
    nodes: str | None,
    statistics: bool,
    strict: bool,
    json: str | None,
    command: tuple[str, ...],
) -> int:
    """Start a program whose malloc takes memory from nodes of choice, by rules.

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
    from tierscope.cli.alloc_flow import start_program
    from tierscope.recipes.alloc_rules import Asked, rules_of

    asked = Asked(rules, to, above, capacity, full, ratio, nodes)
    words = [word for word, wanted in (("strict", strict), ("statistics", statistics)) if wanted]
    return start_program("exec", command, lambda: rules_of(asked), words, options.Forms(json))
