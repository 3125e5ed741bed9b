"""``tierscope place move``."""

import click

from tierscope.cli import options


@options.command("move")
@click.argument("pid", metavar="PID", type=click.IntRange(1, 1 << 22))
@click.option(
    "--from", "source", metavar="NODES", required=True,
    help="Nodes to move pages away from: node:0, or as numactl writes them: 0-2, all, !1, +0",
)  # fmt: skip
@click.option(
    "--to", metavar="NODES", required=True,
    help="Nodes to move them to, with shares as in node:2,4@3:1  [default shares: equal]",
)  # fmt: skip
@click.option(
    "--rate",
    metavar="SIZE",
    help="Move at most this many bytes a second, as in 200m  [default: no limit]",
)
@click.option(
    "--shared", is_flag=True, help="Move pages that several processes map, too (needs root)"
)
@options.json_option
def move(pid: int, source: str, to: str, rate: str | None, shared: bool, json: str | None) -> int:
    """Move the pages of a running process from some nodes to others.

    Pages move in batches of 16 MiB, so that the process is never stopped for long. Those that stay
    are counted by reason. New pages still go where the process's own policy says.

    Exit status: 0 all were moved, 1 some were not, 2 the request was wrong.

    \b
    Examples:
      tierscope place move 4711 --from node:0 --to node:2
      tierscope place move 4711 --from all --to node:0,2@3:1 --rate 500m --json
    """
    from tierscope.cli.place_move_flow import move_process

    return move_process(pid, source, to, rate, shared, options.Forms(json))
