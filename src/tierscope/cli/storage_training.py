"""``tierscope storage --training``: what training reads, below directories."""

from collections.abc import Mapping, Sequence

import click

from tierscope.cli.generated import Given, given_options, parameter
from tierscope.cli.measure import carry_out, planned
from tierscope.cli.options import refuse_given
from tierscope.cli.output import Output
from tierscope.kinds.registry import KINDS

_KIND = KINDS["training"]
_SHARED = ("from", "to", "size", "workload")
"""Options that the command has itself, or by another name."""
_OPTIONS = [one for one in _KIND.request.options if one.name not in _SHARED]
PARAMETERS = [parameter(option) for option in _OPTIONS]
_OTHERS = ("matrix", "clean", "overwrite", "keep", "rated", "time_limit", "kv_cache", "qualify")


def refuse_without_training() -> None:
    """Raise UserError where an option was given that goes with --training."""
    names = [option.name.replace("-", "_") for option in _OPTIONS]
    refuse_given(click.get_current_context(), "it goes with --training", *names)


def measure_training(
    workload: str, paths: Sequence[str], given: Mapping[str, Given], output: Output
) -> int:
    """Measure what training reads below each of these directories; returns the exit status.

    ``given`` are the command's other options, by their names in Python.
    """
    from tierscope.cli.storage import found_path
    from tierscope.machine.discover import discover
    from tierscope.plans.request import Request

    refuse_given(click.get_current_context(), "--training makes a dataset of its own", *_OTHERS)
    if not paths:
        raise click.UsageError("name a directory for the dataset")
    there = [found_path(path)[0] for path in dict.fromkeys(paths)]
    wanted = given_options(_OPTIONS, given)
    for name in ("from", "size"):
        if isinstance(value := given.get("initiator" if name == "from" else name), str):
            wanted[name] = value
    wanted |= {"workload": workload, "to": ",".join(str(target) for target in there)}
    topology = discover()
    plan = planned([Request(kind=_KIND.name, options=wanted)], topology)
    return carry_out("storage-training", plan, topology, output)
