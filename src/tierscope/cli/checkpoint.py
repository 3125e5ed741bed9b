"""``tierscope checkpoint``."""

import click

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, help_text, parameter
from tierscope.cli.measure import carry_out, gpu_topology, planned
from tierscope.cli.output import Output
from tierscope.kinds.registry import KINDS
from tierscope.model.endpoint import parse_target

_KIND = KINDS["checkpoint"]
_OPTIONS = [option for option in _KIND.request.options if option.name != "to"]


@options.command(
    params=[parameter(option) for option in _OPTIONS],
    help=help_text(_KIND.summary, _KIND.request),
)
@click.argument("to", metavar="[TARGET]...", nargs=-1)
@options.output_options
def checkpoint(to: tuple[str, ...], output: Output, **options_given: Given) -> int:
    """Measure how fast a program's state is saved, and restarted from."""
    from tierscope.machine.discover import discover
    from tierscope.plans.request import Request
    from tierscope.suites.checkpoint import BACKINGS, targets

    given = given_options(_OPTIONS, options_given)
    on_gpu = given.get("from", "").startswith("gpu")
    topology = gpu_topology(output.dry_run) if on_gpu else discover()
    allowed = _KIND.spec.targets
    words = [str(parse_target(word, allowed, "checkpoint")) for word in to]
    if not words and "model" not in given:
        words = targets(topology, given.get("from", ""))
        if any(word.startswith("pmem:") for word in words):
            given = {"backing": ",".join(BACKINGS), **given}
    there = {"to": ",".join(words)} if words else {}
    request = Request(kind="checkpoint", options={**given, **there})
    plan = planned([request], topology)
    return carry_out("checkpoint", plan, topology, output)
