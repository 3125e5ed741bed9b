"""``tierscope place file``."""

from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.place_options import policy_option, to_option


@options.command("file")
@click.argument("path", metavar="FILE", type=options.PATH)
@policy_option
@to_option
@click.option("--size", metavar="SIZE", help="Make the file, or set its length")
@click.option(
    "--shared", is_flag=True, help="Move pages that other processes map, too (needs root)"
)
@options.json_option
def file(
    path: Path, policy: str | None, to: str | None, size: str | None, shared: bool, json: str | None
) -> None:
    """Give a file in tmpfs (such as POSIX shared memory) or hugetlbfs a policy of its own.

    The policy applies to every process that uses the file, until the file is removed. Pages that
    the file already has are moved. shmkey:KEY and shmid:ID are segments of System V shared memory,
    as 'ipcs -m' lists them.

    \b
    Examples:
      tierscope place file /dev/shm/table --to node:2
      tierscope place file /dev/shm/table --size 1g --to node:0,2@3:1
      tierscope place file shmkey:0x4d2 --to node:2
    """
    from tierscope.cli.place_file_flow import place

    place(path, policy, to, size, shared, options.Forms(json))
