"""Measure requests or a plan and print the run; shared by all measuring commands."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli.options import blaming
from tierscope.cli.output import Output, say_start
from tierscope.cli.print_run import More, Show, print_run
from tierscope.kinds.registry import KINDS
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.plans.grammar import parse_duration

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.kinds.plan import Plan, Spec
    from tierscope.model.run import Case, Refinement, Run
    from tierscope.model.spec import MeasurementSpec
    from tierscope.model.topology import Topology
    from tierscope.plans.request import Request
    from tierscope.runs.measure import Outcome, Watch


def planned(requests: "list[Request]", topology: "Topology") -> "Plan":
    """Return the plan that requests make on this machine, checked against its memory."""
    from tierscope.machine.settings import thp_available
    from tierscope.plans.expand import expand
    from tierscope.plans.fit import check_memory

    plan = expand(requests, topology, thp_available())
    check_memory(plan, topology)
    return plan


def serves(kinds: Iterable[str]) -> bool:
    """On any other rank than 0 of a run over MPI, answer rank 0 to its end; return whether so.

    Only where a kind takes several ranks: of others each rank is a run of its own.
    """
    if not any(kind in KINDS and KINDS[kind].over_mpi for kind in kinds):
        return False
    from tierscope.fleet.messenger import served
    from tierscope.fleet.transport import ranks

    if served():
        return True
    ranks()  # before the machine is looked at: they give back the CPUs that mpirun took
    return False


def refinement_of(requests: "Sequence[Request]") -> "Refinement | None":
    """Return the further points that requests ask for; None where none asks for any.

    Where several ask, each curve gets as many points as the most that is asked for.
    """
    from tierscope.model.run import Refinement
    from tierscope.plans.forms import form_of

    asked = [
        form.refinement(request)
        for request in requests
        if (form := form_of(request.kind)).refinement is not None
    ]
    if not asked:
        return None
    rates = sorted({rate for each in asked for rate in each.at})
    points, ratios = (max(getattr(each, name) for each in asked) for name in ("points", "ratios"))
    return Refinement(points=points, at=rates, ratios=ratios)


def gpu_topology(dry_run: bool = False) -> "Topology":
    """Return this machine; raises UserError (exit code 3) where the engine can use no GPU on it.

    A dry run needs none: without a GPU, its plan is for a machine with one.
    """
    from tierscope.engine.process import capabilities
    from tierscope.machine.discover import discover
    from tierscope.model.topology import Gpu
    from tierscope.plans.gpu import require_gpus

    if dry_run:
        topology = discover()
        if topology.gpus:
            return topology
        click.echo("tierscope: no GPU was found; this is the plan for one GPU", err=True)
        return topology.model_copy(update={"gpus": [Gpu(index=0, name="", address="")]})
    _find_cupti()
    gpu = next(entry for entry in capabilities().capabilities if entry.name == "gpu")
    if not gpu.available:
        raise UserError(
            f"no GPU can be used: {gpu.reason}; {gpu.remedy}", ExitCode.NOTHING_MEASURED
        )
    topology = discover()
    require_gpus(topology)
    return topology


def _find_cupti() -> None:
    """Tell the engine of a CUPTI that came as a Python package, where there is one."""
    from tierscope.engine.process import packaged

    folder = packaged("nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12")
    if folder:
        os.environ.setdefault("TIERSCOPE_CUPTI", str(folder))


def described_machine(path: "Path | None") -> "Topology":
    """Return the machine of an hwloc XML file; this one where there is none."""
    from tierscope.machine.discover import discover
    from tierscope.machine.hwloc import read_hwloc

    return read_hwloc(path) if path else discover()


def fitted(plan: "Plan", time_limit: str | None) -> "Plan":
    """Return a plan that fits into ``--time-limit``, where it was given."""
    from tierscope.plans.fit import fit_time

    return plan if time_limit is None else fit_time(plan, time_limit_seconds(time_limit))


def time_limit_seconds(time_limit: str) -> float:
    """Return the seconds of ``--time-limit``."""
    with blaming("--time-limit"):
        return parse_duration(time_limit, 0, 1e6)


def carry_out(
    label: str,
    plan: "Plan",
    topology: "Topology",
    output: Output,
    refinement: "Refinement | None" = None,
    show: Show | None = None,
    keep: "Callable[[Run], None] | None" = None,
    more: More | None = None,
    cases: "list[Case] | None" = None,
) -> int:
    """Measure a plan and print its run; returns the exit status.

    ``refinement`` adds points to the curves that the plan begins. ``show`` prints the run where
    the command has a view of its own, ``more`` adds to its JSON. ``keep`` gets the run once it is
    printed. ``cases`` are another benchmark's, which the plan was made of.
    """
    outcome = taken(label, plan, topology, output, refinement, cases)
    if outcome and output.printed == "tables":
        _refuse_impossible(outcome)
    return finish(outcome, output, show, keep, more) if outcome else 0


def _refuse_impossible(outcome: "Outcome") -> None:
    """Remove a run in which everything was skipped, and raise UserError that says why."""
    measurements = outcome.run.measurements
    if outcome.error or not measurements or any(m.status != "skipped" for m in measurements):
        return
    why = list(dict.fromkeys("; ".join(filter(None, (m.reason, m.remedy))) for m in measurements))
    more = f" (and {counted(len(why) - 1, 'other reason')})" if len(why) > 1 else ""
    outcome.path.unlink(missing_ok=True)
    raise UserError(f"{why[0]}{more}", ExitCode.NOTHING_MEASURED)


def taken(
    label: str,
    plan: "Plan",
    topology: "Topology",
    output: Output,
    refinement: "Refinement | None" = None,
    cases: "list[Case] | None" = None,
) -> "Outcome | None":
    """Measure a plan; None where a dry run was asked for, which prints the plan."""
    output.check()
    if output.dry_run:
        print_plan(plan, output.beside({}), refinement)
        return None
    from tierscope.runs.measure import measure

    restore_prefetchers()
    name_leftovers(plan.measurements)
    say_start(output.start_at)
    with progress_of(plan.measurements) as watch:
        return measure(
            plan,
            label,
            topology,
            sys.argv,
            output.directory,
            watch,
            refinement,
            output.start_at,
            output.energy,
            cases,
        )


def with_verdict(show: "Callable[[Console, Run], None]") -> Show:
    """Print the verdict before what ``show`` prints, and what was not measured after it."""

    def show_all(console: "Console", run: "Run", path: Path) -> None:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.run import show_between

        show_between(console, run, path, lambda: show(console, run), VIEWS)

    return show_all


def restore_prefetchers() -> None:
    """Restore what a run that was killed left switched, and say so on standard error."""
    from tierscope.engine.prefetchers import restore_left

    if said := restore_left():
        click.echo(said, err=True)


def progress_of(specs: "Sequence[Spec]") -> "AbstractContextManager[Watch]":
    """Return what shows the progress of these measurements, and of points that are added."""
    from tierscope.plans.fit import longest_seconds
    from tierscope.report.progress import live_progress

    if not specs:
        return nullcontext(lambda _: None)
    ids = [spec.id for spec in specs]
    seconds = dict(zip(ids, longest_seconds(specs), strict=True))
    longest = max(seconds.values())
    return live_progress(specs, lambda name: seconds.get(name, longest))


def finish(
    outcome: "Outcome",
    output: Output,
    show: Show | None = None,
    keep: "Callable[[Run], None] | None" = None,
    more: More | None = None,
) -> int:
    """Print a run that ended and return its exit status; raises what ended it before its time."""
    print_run(outcome.run, outcome.path, output, show, more)
    if keep:
        keep(outcome.run)
    if outcome.error:
        raise outcome.error
    return int(outcome.exit_code)


def estimate_of(
    plan: "Plan", further_s: float = 0.0
) -> tuple[list[float | None], dict[str, float]]:
    """Return the most seconds that each measurement may take, None where nobody knows, and what
    the whole plan takes as JSON has it."""
    from tierscope.analysis.time_series import seconds_left
    from tierscope.plans.fit import longest_seconds, peak_bytes

    specs = plan.measurements
    seconds = [
        None if spec.scheduled_apart and seconds_left(spec, ()) is None else longest
        for spec, longest in zip(specs, longest_seconds(specs), strict=True)
    ]
    return seconds, {
        "seconds": round(sum(one for one in seconds if one is not None), 1),
        "further_seconds": round(further_s, 1),
        "peak_bytes": peak_bytes(plan),
    }


def print_plan(plan: "Plan", output: Output, refinement: "Refinement | None" = None) -> None:
    """Print a plan with its time and memory, for a dry run."""
    from tierscope.plans.fit import peak_bytes

    specs = plan.measurements
    further_s = 0.0
    if refinement:
        from tierscope.runs.measure import further_seconds

        further_s = further_seconds(specs, refinement)
    seconds, estimate = estimate_of(plan, further_s)

    def tables(console: "Console") -> None:
        from tierscope.report.plan import show_plan

        show_plan(console, specs, seconds, peak_bytes(plan))
        if further_s:
            click.echo(
                f"and points of each curve where it bends, at most about {further_s:.0f} s more"
            )

    output.emit({"plan": plan.model_dump(mode="json"), "estimate": estimate}, tables)


def measure_request(word: str, needs_gpu: bool, given: dict[str, str], output: Output) -> int:
    """Measure one request made of a command's options; ``word`` is a kind's or a suite's name."""
    from tierscope.machine.discover import discover
    from tierscope.plans.rated import with_ratings_of
    from tierscope.plans.request import Request

    if serves([word]):
        return 0
    requests = [Request(kind=word, options=given)]
    topology = gpu_topology(output.dry_run) if needs_gpu else discover()
    topology = with_ratings_of(topology, requests)
    plan = planned(requests, topology)
    return carry_out(word, plan, topology, output, refinement_of(requests))


def name_leftovers(specs: "Sequence[MeasurementSpec]") -> None:
    """Say on standard error what earlier runs left there, and how it is removed."""
    from tierscope.engine.targets import PathError, known_path

    for path in dict.fromkeys(path for spec in specs for path in spec.files()):
        try:
            if known_path(path).kind == "directory":
                _name(path)
        except PathError:  # The engine says so of its own try.
            continue


def _name(path: str) -> None:
    from tierscope.engine.targets import leftovers
    from tierscope.report.figures import size_text

    left = [file for file in leftovers(path).files if file.state == "leftover" and not file.keep]
    if not left:
        return
    number = sum(1 if file.files is None else file.files for file in left)
    size = size_text(sum(file.bytes for file in left))
    click.echo(
        f"tierscope: {path} has {counted(number, 'file')} that earlier runs left, {size}: "
        f"'tierscope storage {path} --clean' removes what is tierscope's",
        err=True,
    )
