"""From options to rules, printed."""

import json
from pathlib import Path

import click
from rich.text import Text

from tierscope.cli.forms import Forms, emit
from tierscope.cli.tier_flow import kernel_here
from tierscope.model.errors import ExitCode, UserError
from tierscope.placement.damon.presets import PRESETS
from tierscope.plans.damo_text import damo_json, damo_yaml
from tierscope.plans.tier_start import Asked, label_and_rules
from tierscope.report.console import make_console
from tierscope.report.style import new_table
from tierscope.runs.output import write_output

_BALANCING = {
    "name": "numa-balancing",
    "summary": "the kernel's own: NUMA balancing promotes what programs access, "
    "reclaim demotes where the fast node is short of memory",
    "needs": "Linux 5.18",
}


def list_presets(forms: Forms) -> None:
    """Print the presets."""
    rows = [
        {"name": one.name, "summary": one.summary, "needs": one.needs} for one in PRESETS.values()
    ]
    rows.append(_BALANCING)

    def tables() -> None:
        table = new_table()
        for heading in ("preset", "what it does", "needs"):
            table.add_column(heading, no_wrap=heading != "what it does")
        for row in rows:
            table.add_row(*map(Text, (row["name"], row["summary"], row["needs"])))
        make_console().print(table)

    emit(forms, lambda: json.dumps(rows, indent=2), tables)


def print_rules(asked: Asked, out: Path | None, forms: Forms) -> None:
    """Print or write rules as damo's files have them."""
    forms.check({"--out": out})
    _, rules = label_and_rules(kernel_here(), asked, asked.cgroup)
    if rules is None:
        raise UserError("numa-balancing has no rules; 'tierscope tier presets' says what it does")
    if out is not None:
        write_output(out, damo_yaml(rules), "--out", ExitCode.SOMETHING_FAILED)
    emit(
        forms,
        lambda: damo_json(rules),
        lambda: None if out else click.echo(damo_yaml(rules).rstrip("\n")),
    )
