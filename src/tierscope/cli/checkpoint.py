"""``tierscope checkpoint``."""

import click

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, help_text, parameter
from tierscope.cli.measure import carry_out, gpu_topology, planned
from tierscope.cli.output import Output
from tierscope.kinds.registry import KINDS
from tierscope.model.endpoint import parse_target
from tierscope.model.errors import UserError
from tierscope.plans.options import Option

_KIND, _MODELS = KINDS["checkpoint"], KINDS["model-checkpoint"]
_OPTIONS = [option for option in _KIND.request.options if option.name != "to"]
_OF_MODELS = [option for option in _MODELS.request.options if option.name != "to"]
_NAMES = [option.name for option in _OPTIONS]


@options.command(
    params=[
        parameter(option)
        for option in (*_OPTIONS, *(one for one in _OF_MODELS if one.name not in _NAMES))
    ],
    help=help_text(_KIND.summary, _KIND.request),
)
@click.argument("to", metavar="[TARGET]...", nargs=-1)
@options.output_options
def checkpoint(to: tuple[str, ...], output: Output, **options_given: Given) -> int:
    """Measure how fast a program's state is saved, and restarted from."""
    from tierscope.machine.discover import discover
    from tierscope.plans.request import Request
    from tierscope.suites.checkpoint import BACKINGS, targets

    if options_given["model"] is not None:
        return _measure_model(to, output, options_given)
    _refuse(_OF_MODELS, _OPTIONS, options_given, "it goes with --model")
    given = given_options(_OPTIONS, options_given)
    on_gpu = given.get("from", "").startswith("gpu")
    topology = gpu_topology(output.dry_run) if on_gpu else discover()
    allowed = _KIND.spec.targets
    words = [str(parse_target(word, allowed, "checkpoint")) for word in to]
    if not words:
        words = targets(topology, given.get("from", ""))
        if any(word.startswith("pmem:") for word in words):
            given = {"backing": ",".join(BACKINGS), **given}
    request = Request(kind="checkpoint", options={**given, "to": ",".join(words)})
    plan = planned([request], topology)
    return carry_out("checkpoint", plan, topology, output)


def _measure_model(to: tuple[str, ...], output: Output, options_given: dict[str, Given]) -> int:
    """Measure the files of a model's checkpoint."""
    from tierscope.machine.discover import discover
    from tierscope.plans.request import Request

    _refuse(_OPTIONS, _OF_MODELS, options_given, "a model has files of its own")
    given = given_options(_OF_MODELS, options_given)
    if words := [str(parse_target(word, _MODELS.spec.targets, "checkpoint")) for word in to]:
        given["to"] = ",".join(words)
    topology = discover()
    plan = planned([Request(kind=_MODELS.name, options=given)], topology)
    return carry_out("checkpoint", plan, topology, output)


def _refuse(
    others: list[Option], own: list[Option], options_given: dict[str, Given], why: str
) -> None:
    """Raise UserError where an option was given that only the other way of measuring has."""
    names = {option.name for option in own}
    for name in given_options((one for one in others if one.name not in names), options_given):
        raise UserError(f"--{name} has no effect here; {why}")
