"""``tierscope pmem-check``."""

import click

from tierscope.cli import options

_WRITERS = ("transactions", "no-transactions", "slots", "slots-no-flush", "slots-no-fence")


@options.command("pmem-check")
@click.option(
    "--kills",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=30,
    help="How often each writer is killed, each time on a new pool  [default: 30]",
)
@click.option(
    "--states",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=20_000,
    help="Most states of memory that are tried for each crash point  [default: 20000]",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, (1 << 32) - 1),
    help="Chooses the moments of kills and the states that are tried  [default: at random]",
)
@click.option(
    "--until-cut",
    metavar="WRITER",
    type=click.Choice(_WRITERS),
    help="Write to a new file in DIR until this machine loses power, and print each number that is "
    f"durable: {', '.join(_WRITERS)}",
)
@click.option(
    "--after-cut",
    metavar="WRITER=N",
    multiple=True,
    help="After the power cut: look at the writer's file in DIR, of which N was the last number "
    "printed; remove it if it is consistent. May be given again",
)
@options.json_option
@click.argument("directory", metavar="DIR")
@click.pass_context
def pmem_check(
    context: click.Context,
    directory: str,
    kills: int,
    states: int,
    seed: int | None,
    until_cut: str | None,
    after_cut: tuple[str, ...],
    json: str | None,
) -> int:
    """Check that what is written to persistent memory in DIR stays consistent across crashes.

    A writer that uses libpmemobj's transactions is killed again and again, and its pool is looked
    at; and stores, flushes and fences are recorded and replayed with lines dropped that were not
    flushed. Writers that are broken on purpose show that the methods notice. Files in DIR have no
    names and vanish; nothing that exists is touched. What each method proves, and what not:
    docs/pmem-check.md.

    Exit status: 0 consistent, and every broken writer was caught; 1 something is inconsistent, was
    not caught or failed; 2 the request was wrong.

    \b
    Examples:
      tierscope pmem-check /mnt/pmem
      tierscope pmem-check . --kills 500 --seed 1 --json
      tierscope pmem-check /mnt/pmem --until-cut transactions
      tierscope pmem-check /mnt/pmem --after-cut transactions=81234
    """
    from tierscope.cli import pmem_check_flow as flow

    forms = options.Forms(json)
    if until_cut is not None:
        options.refuse_given(
            context, "--until-cut does nothing else", "kills", "states", "seed", "after_cut", "json"
        )
        return flow.write_until_cut(directory, until_cut)
    if after_cut:
        options.refuse_given(context, "--after-cut does nothing else", "kills", "states", "seed")
        return flow.look_after_cut(directory, after_cut, forms)
    return flow.check_crashes(directory, kills, states, seed, forms)
