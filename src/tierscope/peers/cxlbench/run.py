"""``tierscope run`` on CXL-Bench's workload files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli.measure import carry_out, described_machine, estimate_of, fitted
from tierscope.cli.output import Output
from tierscope.kinds.plan import Plan
from tierscope.model.errors import UserError, shown
from tierscope.model.run import Run
from tierscope.peers.cxlbench.placing import Means, parse_mapping
from tierscope.peers.cxlbench.plan import Prepared, prepare
from tierscope.peers.cxlbench.workload import parse_workload, read_folder
from tierscope.plans.grammar import split_words

if TYPE_CHECKING:
    from rich.console import Console


def measure_workload(
    path: Path,
    text: str | None,
    output: Output,
    *,
    fit: bool = False,
    map_nodes: Sequence[str] = (),
    destroy_data: str | None = None,
    form: str = "table",
    machine: Path | None = None,
    time_limit: str | None = None,
    storage: Sequence[str] = (),
) -> int:
    """Measure a workload file, whose ``text`` was read, or all of a folder.

    ``form`` cxlbench is CXL-Bench's JSON on stdout in place of tables, ``machine`` the hwloc XML of
    the machine that a dry run plans for; ``storage`` goes with other plans. Returns the exit
    status.
    """
    if storage:
        raise UserError("--storage goes with profiles and plans; measure it by itself")
    if machine is not None and not output.dry_run:
        raise UserError("--topology plans for another machine; it goes with --dry-run")
    if form == "cxlbench" and output.printed != "tables":
        raise UserError(
            "--format cxlbench prints to stdout, and so do --json and --csv; name a file, "
            "--json=FILE"
        )
    workload = read_folder(path) if text is None else parse_workload(text, shown(path))
    topology = described_machine(machine)
    prepared = prepare(
        workload,
        Means(
            topology=topology,
            fit=fit,
            nodes=parse_mapping(map_nodes, "--map-nodes"),
            destroy=frozenset(split_words(destroy_data) if destroy_data else []),
        ),
    )
    for remark in prepared.remarks:
        click.echo(remark, err=True)
    if output.dry_run and not prepared.specs:
        _print_planned(prepared, None, output)
        return 0
    plan = fitted(prepared.plan, time_limit)
    if output.dry_run:
        _print_planned(prepared, plan, output)
        return 0
    return carry_out(
        path.stem or "workloads",
        plan,
        topology,
        output,
        show=_print_results if form == "cxlbench" else None,
        cases=prepared.cases,
    )


def _print_results(_console: "Console", run: Run, path: Path) -> None:
    from tierscope.peers.cxlbench.output import results_of

    click.echo(json.dumps(results_of(run), indent=2))
    click.echo(f"run file: {path}", err=True)


def _print_planned(prepared: Prepared, plan: Plan | None, output: Output) -> None:
    """Print what each case became; ``plan`` is None where all were refused."""
    _, estimate = estimate_of(plan) if plan else ([], {"seconds": 0.0, "peak_bytes": 0})

    def tables(console: "Console") -> None:
        from tierscope.peers.cxlbench.output import show_planned
        from tierscope.report.figures import size_text

        show_planned(console, prepared.cases, prepared.specs)
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
    output.emit(found, tables)
