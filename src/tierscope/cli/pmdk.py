"""``tierscope pmdk``."""

from datetime import datetime

from tierscope.cli import options
from tierscope.cli.forms import Forms
from tierscope.cli.generated import given_options, parameter
from tierscope.recipes.pmdk import OPTIONS


@options.command(params=[parameter(option) for option in OPTIONS])
@options.json_option
@options.csv_option
@options.dry_run_option
@options.start_option
def pmdk(
    json: str | None,
    csv: str | None,
    dry_run: bool,
    start_at: datetime | None,
    **given: str | bool | None,
) -> int:
    """Measure what PMDK costs: arrays in a pool of libpmemobj over plain memory of the same node.

    The pool is in a file on tmpfs whose pages are bound to the node. Both sides are visited in
    turn, so that what they share cancels. Arrays are reached by addresses that are taken once
    (pool), and by object ids that are translated for each element, as STREAM-PMem does
    (pool-objects). Nothing is flushed on either side, as in STREAM-PMem.

    \b
    Examples:
      tierscope pmdk
      tierscope pmdk --to "node:*" --op copy,triad --threads 1,all
    """
    from tierscope.cli.pmdk_flow import compare_pools

    output = options.Output(Forms(json, csv), dry_run, None, start_at)
    return compare_pools(given_options(OPTIONS, given), output)
