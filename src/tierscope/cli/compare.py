"""``tierscope compare``."""

from pathlib import Path

import click

from tierscope.cli import options


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
    help="Measure two plans (A.yaml B.yaml) here and now, in turn, with N visits of each",
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
    json: str | None,
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
        from tierscope.cli.pairs_flow import compare_pairs

        return compare_pairs(runs, pairs, engine, options.Forms(json))
    options.refuse_given(context, "it goes with --pairs", "engine")
    from tierscope.cli.show_flow import compare_runs

    return compare_runs(runs, tolerance, allow, also, out, options.Forms(json))
