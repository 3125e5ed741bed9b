"""``tierscope pmdk``: a pool and plain memory, measured in turn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, parameter
from tierscope.cli.measure import print_plan, restore_prefetchers
from tierscope.cli.output import Output, say_start
from tierscope.model.errors import ExitCode
from tierscope.suites.pmdk import OPTIONS

if TYPE_CHECKING:
    from tierscope.suites.pmdk import Cost


@options.command(params=[parameter(option) for option in OPTIONS])
@options.json_option
@options.csv_option
@options.dry_run_option
@options.start_option
def pmdk(output: Output, **arguments: Given) -> int:
    """Measure what PMDK costs: arrays in a pool of libpmemobj over plain memory of the same node.

    The pool is in a file on tmpfs whose pages are bound to the node. Both sides are measured in
    turn, so that what they share cancels. Arrays are reached by addresses that are taken once
    (pool), and by object ids that are translated for each element, as STREAM-PMem does
    (pool-objects). Nothing is flushed on either side, as in STREAM-PMem.

    \b
    Examples:
      tierscope pmdk
      tierscope pmdk --to "node:*" --op copy,triad --threads 1,all
    """
    from tierscope.machine.discover import discover
    from tierscope.runs.pairs import take_pairs
    from tierscope.suites.pmdk import costs, costs_csv, costs_json, pair_count, show_costs, sides

    given = given_options(OPTIONS, arguments)

    output.check()
    count = pair_count(given)
    plain, pools = sides(given, discover())
    if output.dry_run:
        both = [*plain.measurements, *pools.measurements]
        print_plan(plain.model_copy(update={"measurements": both}), output)
        return 0
    restore_prefetchers()
    say_start(output.start_at)
    paired, interrupted = take_pairs(plain, pools, count, start_at=output.start_at)
    found = costs(paired)

    output.emit(
        {"pmdk": costs_json(found)},
        lambda console: show_costs(console, found),
        lambda: costs_csv(found),
    )
    return int(ExitCode.INTERRUPTED if interrupted else _exit_code(found))


def _exit_code(found: "Sequence[Cost]") -> ExitCode:
    measured = [one for one in found if one.ratio]
    if not measured:
        return ExitCode.NOTHING_MEASURED
    return ExitCode.ALL_MEASURED if len(measured) == len(found) else ExitCode.SOMETHING_FAILED
