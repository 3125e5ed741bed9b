"""From pairs of nodes to a file of damo's."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from tierscope.cli.forms import Forms, emit
from tierscope.cli.tier_flow import kernel_here
from tierscope.model.errors import ExitCode, UserError
from tierscope.placement.damon import memory
from tierscope.plans.damo_text import damo_json, damo_yaml
from tierscope.plans.grammar import parse_size
from tierscope.recipes.hmsdk_gen_migpol import MEMCG, Way, policy
from tierscope.runs.output import write_output


class Ways(NamedTuple):
    """What gen_migpol's options say."""

    demotions: Sequence[Way]
    promotions: Sequence[Way]
    both: Sequence[Way]
    everything: bool
    most: str | None


def write_policy(asked: Ways, out: Path | None, forms: Forms) -> None:
    """Print the policy, or write it to a file."""
    forms.check({"-o": out})
    kernel = kernel_here()

    def ranges(node: int) -> tuple[Way, ...]:
        memory.check(kernel, node)
        return memory.ranges(kernel, node)

    for _, target in (*asked.demotions, *asked.promotions, *asked.both):
        memory.check(kernel, target)
    size = None if asked.most is None else parse_size(asked.most)
    if size is not None and size <= 0:
        raise UserError("--region-max-size has to be above 0")
    memcg = None if asked.everything else MEMCG
    rules = policy(asked.demotions, asked.promotions, asked.both, memcg, size, ranges)
    text = damo_yaml(rules) + "\n"  # HMSDK's ends with an empty line, too
    if out is not None:
        write_output(out, text, "-o", ExitCode.SOMETHING_FAILED)
    emit(
        forms,
        lambda: damo_json(rules),
        lambda: None if out else click.echo(text, nl=False),
    )
