"""``tierscope export``: runs as tables, timelines, weights, and for other programs."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.kept import refuse_imported, say_left_out
from tierscope.cli.output import STDOUT, Output, waiting
from tierscope.model.errors import UserError, counted, shown
from tierscope.peers.registry import EXPORTS, PEERS
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run


@options.command()
@options.runs_argument()
@options.form_option("--parquet", "All measurements with their samples, as Parquet")
@options.form_option("--csv", "The same as CSV")
@options.file_option("--prometheus", "One run, for node_exporter's textfile collector")
@options.file_option("--trace-events", "One run's timeline, for Perfetto or chrome://tracing")
@options.file_option("--numactl", "A run's best weights: a script that starts programs by them")
@options.file_option("--udev", "The same as rules that set them when nodes appear")
@options.file_option("--systemd", "The same as a service that sets them at boot")
@options.peer_options(EXPORTS)
@click.option("--all", "every", is_flag=True, help="All kept runs")
@options.json_option
@click.pass_context
def export(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    parquet: str | None,
    csv: str | None,
    prometheus: Path | None,
    trace_events: Path | None,
    numactl: Path | None,
    udev: Path | None,
    systemd: Path | None,
    every: bool,
    output: Output,
    **of_peers: Path | None,
) -> None:
    """Export runs as tables or timelines, for Prometheus, as weights, or as CXL-Bench's JSON.

    RUN is a run file, the name of a run, a tag, or last, which is the default.

    \b
    Examples:
      tierscope export --all --parquet=runs.parquet
      tierscope export golden last --csv=two.csv
      tierscope export last --csv
      tierscope export --prometheus /var/lib/node_exporter/tierscope.prom
      tierscope export last --trace-events timeline.json
      tierscope export last --cxlbench results.json
      tierscope export last --mess curves
      tierscope export last --systemd tierscope-weights.service --udev 99-weights.rules
    """

    for name, target in of_peers.items():
        if target is not None and EXPORTS[name].alone:
            others = {parameter.name or "" for parameter in context.command.params}
            why = f"--{name} writes a folder by itself"
            options.refuse_given(context, why, *(others - {"runs", "json", name}))
            PEERS[name].module("output").export(runs, target, output)
            return
    single = {"prometheus": prometheus, "trace-events": trace_events}
    single |= {"numactl": numactl, "udev": udev, "systemd": systemd}
    single |= {name: path for name, path in of_peers.items() if not EXPORTS[name].alone}
    _export_runs(runs, parquet, csv, single, every, output)


def _export_runs(
    names: Sequence[str],
    parquet: str | None,
    csv_file: str | None,
    of_one: Mapping[str, Path | None],
    every: bool,
    output: Output,
) -> None:
    """Write what was asked for; raises UserError where nothing was.

    ``of_one`` are the files that hold one run's, by the options that name them.
    """
    from tierscope.runs.history import run_files

    single = {option: path for option, path in of_one.items() if path is not None}
    if parquet is None and csv_file is None and not single:
        *others, last = (f"--{option} FILE" for option in of_one)
        forms_of_one = f"{', '.join(others)} or {last}"
        raise UserError(f"say what to write: --parquet=FILE, --csv=FILE, {forms_of_one}")
    if every and names:
        raise UserError("name runs or give --all, not both")
    paths = run_files() if every else [find_run(name) for name in names or ["last"]]
    if single and len(paths) != 1:
        raise UserError(f"--{min(single)} takes one run, not {len(paths)}: it holds one state")
    if parquet == STDOUT and sys.stdout.isatty():
        raise UserError("--parquet is not text for a terminal; name a file, as --parquet=FILE")
    printed = [target for target in (parquet, csv_file, output.json) if target == STDOUT]
    if len(printed) > 1:
        raise UserError("only one of --parquet, --csv and --json can go to stdout; name files")
    if not paths:
        raise UserError("--all: there is no run yet; make one with 'tierscope run'")
    asked = {"parquet": parquet, "csv": csv_file}
    tables = {form: Path(file) for form, file in asked.items() if file is not None}
    outputs = {f"--{form}": path for form, path in (tables | single).items()}
    output = output.beside(outputs)
    output.check(paths)
    written: list[dict[str, object]] = []
    for form, target in tables.items():
        count, runs = _export_table(paths, target, form, every)
        written.append({"file": shown(target), "measurements": count, "runs": runs})
        output.say_written(f"{counted(count, 'measurement')} of {counted(runs, 'run')}", target)
    for option, path in single.items():
        written.append(_export_one(paths[0], option, path, output))
    output.emit({"written": written}, None)


def _export_table(paths: list[Path], target: Path, form: str, every: bool) -> tuple[int, int]:
    """Write a table; returns how many measurements of how many runs."""
    from tierscope.runs.export import table_bytes

    with waiting("exporting"):
        content, count, problems = table_bytes(paths, form)
    if problems and (not every or len(problems) == len(paths)):
        raise UserError(problems[0])  # it was asked for by name, or there is no other
    write_output(target, content, f"--{form}")
    say_left_out(problems)
    return count, len(paths) - len(problems)


def _export_one(run: Path, option: str, target: Path, output: Output) -> dict[str, object]:
    """Write one run's state in the form of an option; return what the JSON says of it."""
    from tierscope.runs.export import prometheus_text
    from tierscope.runs.read import read_run
    from tierscope.runs.trace_events import trace_events
    from tierscope.suites.weights_export import FORMS

    if option == "trace-events":
        content, count = trace_events(run)
        write_output(target, content, "--trace-events")
        output.say_written(counted(count, "repetition"), target)
        return {"file": shown(target), "repetitions": count}
    found = read_run(run)
    if option in EXPORTS:
        what, entry = PEERS[option].module("output").export(found, run, target)
        output.say_written(what, target)
        return dict(entry)
    if option in FORMS:
        refuse_imported(found, run, f"--{option} takes weights that tierscope measured")
    if option == "prometheus":
        write_output(target, prometheus_text(found), "--prometheus")
        count = sum(m.has_figure for m in found.measurements)
        output.say_written(counted(count, "figure"), target)
        return {"file": shown(target), "figures": count}
    write_output(target, FORMS[option](found), f"--{option}")
    output.say_written(option, target)
    return {"file": shown(target), "form": option}
