"""``tierscope run`` on CXL-Bench's workload files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tierscope.cli.flow import carry_out, estimate_of
from tierscope.cli.forms import emit
from tierscope.cli.options import Output
from tierscope.cli.run_flow import described_machine, time_limit_seconds
from tierscope.kinds.plan import Plan
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.plans.fit import fit_time
from tierscope.plans.grammar import split_words
from tierscope.recipes.cxlbench.limits import Means, parse_mapping
from tierscope.recipes.cxlbench.plan import Prepared, prepare
from tierscope.recipes.cxlbench.workload import parse_workload, read_folder
from tierscope.topology.discover import discover

if TYPE_CHECKING:
    from rich.console import Console


class Asked(NamedTuple):
    """The options that go with workload files."""

    fit: bool = False
    map_nodes: tuple[str, ...] = ()
    destroy_data: str | None = None
    machine: Path | None = None
    """hwloc XML of the machine that a dry run plans for."""
    as_cxlbench: bool = False
    """CXL-Bench's JSON on stdout in place of tables."""
    time_limit: str | None = None


def measure_workload(
    path: Path, text: str | None, asked: Asked, output: Output, storage: bool = False
) -> int:
    """Measure a workload file, whose ``text`` was read, or all of a folder; returns the exit
    status. ``storage`` was asked for, too, which goes with other plans."""
    if storage:
        raise UserError("--storage goes with profiles and plans; measure it by itself")
    _check(asked, output)
    workload = read_folder(path) if text is None else parse_workload(text, shown(path))
    topology = described_machine(asked.machine) if asked.machine else discover()
    prepared = prepare(
        workload,
        Means(
            topology=topology,
            fit=asked.fit,
            nodes=parse_mapping(asked.map_nodes, "--map-nodes"),
            destroy=frozenset(split_words(asked.destroy_data) if asked.destroy_data else []),
        ),
    )
    for remark in prepared.remarks:
        click.echo(remark, err=True)
    if output.dry_run and not prepared.specs:
        _print_planned(prepared, None, output)
        return 0
    plan = prepared.plan
    if asked.time_limit is not None:
        plan = fit_time(plan, time_limit_seconds(asked.time_limit))
    if output.dry_run:
        _print_planned(prepared, plan, output)
        return 0
    return carry_out(
        path.stem or "workloads",
        plan,
        topology,
        output,
        show=_print_results if asked.as_cxlbench else None,
        cases=prepared.cases,
    )


def _check(asked: Asked, output: Output) -> None:
    if asked.machine is not None and not output.dry_run:
        raise UserError("--topology plans for another machine; it goes with --dry-run")
    if asked.as_cxlbench and output.forms.printed != "tables":
        raise UserError(
            "--format cxlbench prints to stdout, and so do --json and --csv; name a file, "
            "--json=FILE"
        )


def _print_results(_console: "Console", run: Run, path: Path) -> None:
    from tierscope.recipes.cxlbench.output import results_of

    click.echo(json.dumps(results_of(run), indent=2))
    click.echo(f"run file: {path}", err=True)


def _print_planned(prepared: Prepared, plan: Plan | None, output: Output) -> None:
    """Print what each case became; ``plan`` is None where all were refused."""
    _, estimate = estimate_of(plan) if plan else ([], {"seconds": 0.0, "peak_bytes": 0})

    def tables() -> None:
        from tierscope.recipes.cxlbench.table import show_planned
        from tierscope.report.console import make_console
        from tierscope.report.figures import size_text

        show_planned(make_console(), prepared.cases, prepared.specs)
        click.echo(
            f"at most about {estimate['seconds']:.0f} s, up to "
            f"{size_text(int(estimate['peak_bytes']))} of memory at a time; nothing was measured"
        )

    found = {
        "plan": plan.model_dump(mode="json") if plan else None,
        "estimate": estimate,
        "cases": [case.model_dump(mode="json") for case in prepared.cases],
        "remarks": prepared.remarks,
    }
    emit(output.forms, lambda: json.dumps(found), tables)
