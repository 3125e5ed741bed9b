"""``tierscope checkpoint``."""

from datetime import datetime
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.generated import given_options, help_text, parameter
from tierscope.kinds.registry import KINDS

_KIND = KINDS["checkpoint"]
_OPTIONS = [option for option in _KIND.request.options if option.name != "to"]


@options.command(
    params=[parameter(option) for option in _OPTIONS],
    help=help_text(_KIND.summary, _KIND.request),
)
@click.argument("to", metavar="[TARGET]...", nargs=-1)
@options.output_options
def checkpoint(
    to: tuple[str, ...],
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
    **given: str | bool | None,
) -> int:
    """Measure how fast a program's state is saved, and restarted from."""
    from tierscope.cli.checkpoint_flow import measure_checkpoints

    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    return measure_checkpoints(to, given_options(_OPTIONS, given), output)
