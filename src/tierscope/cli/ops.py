"""``tierscope ops``: what its options ask for, or without them a tour."""

from tierscope.cli.generated import request_command
from tierscope.cli.measure import carry_out, measure_request, with_verdict
from tierscope.cli.output import Output
from tierscope.kinds.registry import KINDS
from tierscope.plans.options import SAMPLING

_OF_TOUR = {"pages", *(option.name for option in SAMPLING)}
"""Options that do not say what is measured, nor where."""


def _measure(given: dict[str, str], output: Output) -> int:
    if not set(given) <= _OF_TOUR:
        return measure_request("ops", False, given, output)
    from tierscope.machine.discover import discover
    from tierscope.machine.settings import thp_available
    from tierscope.plans.fit import check_memory
    from tierscope.suites.ops_tour import in_json, plan_of, show_tour

    topology = discover()
    plan = plan_of(topology, thp_available(), given)
    check_memory(plan, topology)
    return carry_out("ops", plan, topology, output, show=with_verdict(show_tour), more=in_json)


ops = request_command("ops", KINDS["ops"].summary, KINDS["ops"].request, _measure)
