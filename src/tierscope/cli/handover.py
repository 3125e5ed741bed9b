"""``tierscope handover-responder``: the other side of hand-overs between two hosts."""

import os

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.model.errors import ExitCode, UserError


@options.command("handover-responder")
@click.option("--cpu", metavar="N", type=click.IntRange(0), help="CPU  [default: the first]")
@click.option("--dax-offset", metavar="SIZE", default="0", help="As the initiator's  [default: 0]")
@click.option(
    "--destroy-data",
    metavar="NAME",
    default="",
    help="Overwrite the device: its name (dax0.0) or its namespace's UUID",
)
@options.json_option
@click.argument("target", metavar="TARGET")
def responder(
    target: str, cpu: int | None, dax_offset: str, destroy_data: str, output: Output
) -> int:
    """Answer hand-overs of another host in memory that both share, until Ctrl-C.

    TARGET is dax:/dev/dax0.0, or pmem:FILE with a file that exists: the same memory as the
    initiator's, which runs `tierscope handover --responder host` on the other host.

    Exit status: 0 all bytes were right; 1 some were not; 2 the request was wrong.

    \b
    Examples:
      tierscope handover-responder dax:/dev/dax0.0 --destroy-data dax0.0
      tierscope handover-responder pmem:/mnt/famfs/handover --cpu 8 --json
    """
    from tierscope.engine.handover import respond
    from tierscope.model.endpoint import EndpointKind, parse_target
    from tierscope.plans.grammar import parse_size

    output.check()
    shared = parse_target(target, (EndpointKind.PMEM, EndpointKind.DAX), "handover-responder")
    if shared.numbers:
        raise UserError(f"no other host shares {target}; name dax:DEVICE or pmem:FILE")
    served = respond(
        shared.path,
        parse_size(dax_offset) if dax_offset != "0" else 0,
        destroy_data,
        min(os.sched_getaffinity(0)) if cpu is None else cpu,
        lambda: click.echo(f"tierscope: answering in {target}; Ctrl-C ends it", err=True),
    )
    verdict = f"{served.wrong_words} words were wrong" if served.wrong_words else "all verified"
    output.emit(
        served.model_dump_json,
        f"{served.rounds:,} blocks in {served.sessions} repetitions, {served.bytes:,} bytes, "
        f"{verdict} ({served.instructions})",
    )
    passed = served.wrong_words == 0
    return int(ExitCode.ALL_MEASURED if passed else ExitCode.SOMETHING_FAILED)
