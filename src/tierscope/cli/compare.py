"""``tierscope compare``: runs by their measurements, or two plans measured in turn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.kept import runs_at, together_of
from tierscope.cli.measure import planned, restore_prefetchers
from tierscope.cli.output import Output, waiting
from tierscope.model.errors import ExitCode, UserError
from tierscope.plans.grammar import parse_number
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.runs.pairs import Paired

_MAX_PAIRS = 10_000


@options.command()
@options.runs_argument("BASE NEW [NEWER]...")
@click.option(
    "--tolerance",
    metavar="SHARE",
    default="3%",
    help="Changes up to this count as none  [default: 3%]",
)
@click.option(
    "--allow",
    metavar="LIST",
    help="Compare although these differ: host, machine, kernel, governor, turbo, smt, thp, "
    "numa-balancing, frequency-driver, prefetchers, link, isa, emulated, imported",
)
@click.option(
    "--also",
    metavar="RUN",
    multiple=True,
    shell_complete=options.complete_run,
    help="Another run of the base; differences between it and BASE count as run-to-run "
    "variation. May be repeated",
)
@options.out_option("FILE", "Write an HTML page too")
@click.option(
    "--pairs",
    metavar="N",
    help="Measure two plans (A.yaml B.yaml) here and now, in turn, with N repetitions of each",
)
@click.option(
    "--engine",
    metavar="FILE",
    type=options.PATH,
    multiple=True,
    help="With --pairs: the engine of each side; give it twice, then one plan is enough",
)
@options.json_option
@click.pass_context
def compare(
    context: click.Context,
    runs: tuple[str, ...],
    tolerance: str,
    allow: str | None,
    also: tuple[str, ...],
    out: Path | None,
    pairs: str | None,
    engine: tuple[Path, ...],
    output: Output,
) -> int:
    """Compare runs measurement by measurement, and say what got faster or slower.

    Each run is a run file, the name of a run, a tag, or last. More than two runs show a trend.

    Measurements are joined on kind, endpoints and access pattern. A change counts if it exceeds
    --tolerance and its interval, made of both runs' intervals and the variation between their
    medians, excludes 1. Exit status: 0 nothing got slower, 1 something did, 3 nothing could be
    compared or everything is undecided.

    \b
    Examples:
      tierscope compare before last
      tierscope compare base.jsonl new.jsonl --tolerance 5% -o change.html
      tierscope compare monday tuesday wednesday
      tierscope compare golden last --also monday --also tuesday
      tierscope compare node017.jsonl node018.jsonl --allow host
      tierscope compare --pairs 10 base-pages.yaml huge-pages.yaml
    """
    if pairs is not None:
        options.refuse_given(
            context, "--pairs measures two plans", "tolerance", "allow", "also", "out"
        )
        return compare_pairs(runs, pairs, engine, output)
    options.refuse_given(context, "it goes with --pairs", "engine")
    return _compare_runs(runs, tolerance, allow, also, out, output)


def _compare_runs(
    names: Sequence[str],
    tolerance: str,
    allow: str | None,
    also: Sequence[str],
    out: Path | None,
    output: Output,
) -> int:
    """Compare the first run with each other one; returns the exit status of ``compare``."""
    from tierscope.analysis.compare import check_allowed, compare

    if len(names) < 2:
        raise UserError("compare takes at least two runs: BASE NEW")
    share = _share(tolerance)
    allowed = [word.strip() for word in allow.split(",")] if allow else []
    check_allowed(allowed)
    paths = [find_run(name) for name in (*names, *also)]
    output = output.beside({"--out": out})
    output.check(paths)
    runs = runs_at(paths[: len(names)])
    others = len(runs) - 1
    beside = together_of(paths[: len(names)], runs)
    if beside and "host" not in allowed:
        allowed.append("host")
    with waiting("comparing"):
        before = [run for _, run in runs_at(paths[len(names) :])]
        comparisons = [compare(runs[0], run, share, allowed, others, before) for run in runs[1:]]
    if out is not None:
        from tierscope.report.html.compare import render_comparison

        write_output(out, render_comparison(runs, comparisons), "--out")

    def tables(console: "Console") -> None:
        from tierscope.report.compare import show_comparison, show_trend

        if beside:
            from tierscope.report.fleet import show_together

            show_together(console, beside)
        if others == 1:
            show_comparison(console, comparisons[0])
        else:
            show_trend(console, runs, comparisons)

    found = {
        "comparisons": [c.model_dump(mode="json") for c in comparisons],
        **({"together": [group.model_dump(mode="json") for group in beside]} if beside else {}),
    }
    output.emit(found, tables)
    if out is not None:
        output.say_written("page", out)
    if any(c.count("slower") for c in comparisons):
        return int(ExitCode.SOMETHING_FAILED)
    unjudged = ("undecided", "not comparable")
    judged = any(d.verdict not in unjudged for c in comparisons for d in c.differences)
    return int(ExitCode.ALL_MEASURED if judged else ExitCode.NOTHING_MEASURED)


def _share(tolerance: str) -> float:
    try:
        return parse_number(tolerance, -1e-9, 0.99)
    except UserError:
        raise UserError(
            f"--tolerance: '{tolerance}' is not a share from 0, which counts every change, to 99%"
        ) from None


def compare_pairs(plans: Sequence[str], pairs: str, engines: Sequence[Path], output: Output) -> int:
    """Measure two plans, or one plan by two engines, in turn; returns the exit status."""
    from tierscope.machine.discover import discover
    from tierscope.plans.yaml_plan import read_plan
    from tierscope.report.compare import pairs_json, show_pairs
    from tierscope.runs.pairs import take_pairs

    with options.blaming("--pairs"):
        count = int(parse_number(pairs, 0, _MAX_PAIRS))
    if engines and len(engines) != 2:
        raise UserError("--engine: name two engines, the base first")
    if len(plans) != 2 and not (engines and len(plans) == 1):
        raise UserError("compare --pairs takes two plans, or one plan and two --engine")
    topology = discover()
    base, new = (planned(read_plan(Path(plan)), topology) for plan in (plans[0], plans[-1]))
    restore_prefetchers()
    found, interrupted = take_pairs(base, new, count, engines or (None, None))

    output.emit({"paired": pairs_json(found)}, lambda console: show_pairs(console, found))
    return int(ExitCode.INTERRUPTED if interrupted else _exit_code(found))


def _exit_code(found: "Sequence[Paired]") -> ExitCode:
    if not any(one.pairs for one in found):
        return ExitCode.NOTHING_MEASURED
    failed = any(one.reason for one in found)
    return ExitCode.SOMETHING_FAILED if failed else ExitCode.ALL_MEASURED
