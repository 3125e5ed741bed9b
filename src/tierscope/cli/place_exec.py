"""``tierscope place exec``."""

import click

from tierscope.cli import options
from tierscope.cli.parsing import WithProgram
from tierscope.cli.place_options import balancing_option, policy_option, to_option


@click.command("exec", cls=WithProgram, context_settings=options.SETTINGS)
@policy_option
@to_option
@click.option(
    "--from", "initiator", metavar="ENDPOINT",
    help="CPUs to run on: node:0 or cpus:0-7,16  [default: any]",
)  # fmt: skip
@balancing_option
@click.option(
    "--heap-only", is_flag=True,
    help="Place heap and anonymous memory only, not code, files and stacks (preloads a library)",
)  # fmt: skip
@click.option(
    "--mechanism", metavar="kernel|user", type=click.Choice(["kernel", "user"]),
    help="Who places by weights  [default: the kernel where its weights are those asked for, else "
    "a preloaded library]",
)  # fmt: skip
@click.option(
    "--watch", is_flag=True,
    help="Stay, show pages by node on a terminal, and in the end what landed where",
)  # fmt: skip
@options.json_option
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def execute(
    policy: str | None,
    to: str | None,
    initiator: str | None,
    balancing: bool,
    heap_only: bool,
    mechanism: str | None,
    watch: bool,
    json: str | None,
    command: tuple[str, ...],
) -> int:
    """Start a program under a memory policy, which its threads and children inherit.

    The program takes this process's place: nothing of tierscope stays, unless --watch asks for it.
    Weights are the kernel's where they can be (Linux 6.9 or later); else, and for --heap-only,
    a library is preloaded.

    Exit status: the program's; 2 the placement is not possible, 126 the program cannot be
    executed, 127 there is no such program.

    \b
    Examples:
      tierscope place exec --to node:0 -- stream
      tierscope place exec --to node:0,2@3:1 --from node:0 -- redis-server --port 7000
      tierscope place exec --policy interleave --to all --watch --json=pages.json -- make -j8
      tierscope place exec --policy preferred --to pci:0000:17:00.0 -- ./train
    """
    from tierscope.cli.place_exec_flow import Asked, start_program

    asked = Asked(policy, to, initiator, balancing, heap_only, mechanism)
    return start_program(asked, command, watch, options.Forms(json))
