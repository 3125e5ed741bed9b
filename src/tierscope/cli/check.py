"""``tierscope check``: a run against golden values, and golden values from runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.kept import refuse_imported
from tierscope.cli.measure import progress_of
from tierscope.cli.output import Output
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run, runs_directory

if TYPE_CHECKING:
    from tierscope.analysis.expect import Finding
    from tierscope.model.run import Run


@options.command()
@options.runs_argument()
@options.file_option("--expect", "The rules that figures have to meet", metavar="FILE.yaml")
@click.option(
    "--again",
    metavar="TIME",
    help="Measure again what is inconclusive, for at most this time; 0s: never  [default: the "
    "file's key 'again', or 0s]",
)
@click.option("--learn", is_flag=True, help="Write rules that these runs meet, for --expect")
@options.out_option("FILE.yaml", "With --learn: where the rules go  [default: stdout]")
@options.file_option("--junit", "Write JUnit XML too, for CI systems")
@options.json_option
def check(
    runs: tuple[str, ...],
    expect: Path | None,
    again: str | None,
    learn: bool,
    out: Path | None,
    junit: Path | None,
    output: Output,
) -> int:
    """Check a run against golden values: acceptance limits kept in a file.

    RUN is a run file, the name of a run, a tag, or last, which is the default; --learn takes
    several.

    \b
    FILE.yaml:
      again: 30s
      rules:
        - "gpu:* <- node: >= 0.85 of limit"
        - "node:0 -> node:0 read: >= 20 GB/s"
        - "every node:0 -> node:* latency: <= 150 ns"

    The best figure of each path has to meet a rule; with 'every', each figure of memory has to. A
    figure of caches counts only where the rule names its size. A rule is met where all of the
    figure's interval meets the bound, and missed where none of it does. It is inconclusive where
    the bound lies within the interval, where there is none, and where other programs disturbed the
    figure.

    Exit status: 0 all rules are met, 1 one is missed, 2 the file is wrong; a rule that matches
    nothing is a mistake of the file, 3 none is missed, but one is inconclusive or not measured, 4
    the command failed, as for want of space: nothing is said about the machine.

    \b
    Examples:
      tierscope check --expect expect.yaml
      tierscope check golden --expect expect.yaml --junit acceptance.xml
      tierscope check --expect expect.yaml --again 1min
      tierscope check --learn monday tuesday last -o expect.yaml
    """
    if learn == (expect is not None):
        raise UserError("give either --expect FILE.yaml, or --learn to make such a file")
    if learn:
        if again is not None or junit is not None or output.json is not None:
            raise UserError(
                "--learn writes rules only; --again, --junit and --json go with --expect"
            )
        return _learn(runs or ("last",), out)
    if out is not None:
        raise UserError("-o, --out goes with --learn")
    if len(runs) > 1:
        raise UserError(f"one run is checked at a time, not {len(runs)}; --learn takes several")
    assert expect is not None
    return _check(find_run(runs[0] if runs else "last"), expect, again, junit, output)


def _check(path: Path, expect: Path, again: str | None, junit: Path | None, output: Output) -> int:
    from tierscope.analysis.expect import check as check_run
    from tierscope.analysis.expect import read_expectation, refuse_unmatched
    from tierscope.kinds.vocabulary import vocabulary
    from tierscope.report.check import findings_xml, show_findings
    from tierscope.runs.read import read_run

    output = output.beside({"--junit": junit})
    output.check([path, expect])
    expectation = read_expectation(expect, vocabulary())
    seconds = expectation.again_s if again is None else _seconds(again)
    found = read_run(path)
    refuse_imported(found, path, "golden values hold for figures that tierscope measured")
    findings = check_run(found, expectation.rules)
    refuse_unmatched(found, findings)
    if seconds and any(one.verdict == "inconclusive" for one in findings):
        found = _measured_again(path, found, findings, seconds)
        findings = check_run(found, expectation.rules)
    in_json = {"findings": [finding.model_dump(mode="json") for finding in findings]}
    output.emit(in_json, lambda console: show_findings(console, findings))
    if junit is not None:
        write_output(junit, findings_xml(found, findings), "--junit")
        output.say_written("JUnit XML", junit)
    verdicts = {finding.verdict for finding in findings}
    if "missed" in verdicts:
        return int(ExitCode.SOMETHING_FAILED)
    return int(ExitCode.ALL_MEASURED if verdicts <= {"met"} else ExitCode.NOTHING_MEASURED)


def _seconds(again: str) -> float:
    from tierscope.plans.grammar import parse_duration

    with options.blaming("--again"):
        return parse_duration(again, -1e-9, 86400)


def _measured_again(path: Path, run: "Run", findings: "Sequence[Finding]", seconds: float) -> "Run":
    """Measure what is inconclusive again, on the same machine; return the run with new figures."""
    from tierscope.kinds.plan import PLAN_VERSION, Plan
    from tierscope.machine.discover import discover
    from tierscope.plans.fit import fit_time
    from tierscope.runs.measure import measure
    from tierscope.runs.resume import check_machine, specs_of

    doubtful = {one.id for one in findings if one.verdict == "inconclusive"}
    topology = discover()
    check_machine(path, run.header, topology, "measure again")
    planned = run.header.plan.get("measurements", [])
    specs = [spec for spec in specs_of(planned, str(path)) if spec.id in doubtful]
    if not specs:
        return run
    share = seconds / len(specs)
    longer = [
        spec.model_copy(update={"sampling": spec.sampling.model_copy(update={"budget_s": share})})
        for spec in specs
    ]
    plan = fit_time(Plan(version=PLAN_VERSION, measurements=longer), seconds, strictly=False)
    click.echo(f"measuring {counted(len(specs), 'inconclusive figure')} again", err=True)
    with progress_of(plan.measurements) as watch:
        made = measure(plan, "check", topology, sys.argv, runs_directory() / "again", watch)
    click.echo(f"run: {made.path}", err=True)
    figures = {m.id: m for m in made.run.measurements if m.has_figure}
    return run.model_copy(update={"measurements": [figures.get(m.id, m) for m in run.measurements]})


def _learn(names: Sequence[str], out: Path | None) -> int:
    from tierscope.analysis.learn import as_file, learn
    from tierscope.kinds.views import VIEWS
    from tierscope.kinds.vocabulary import vocabulary
    from tierscope.runs.output import check_outputs
    from tierscope.runs.read import read_run

    paths = [find_run(name) for name in names]
    if out is not None:
        check_outputs({"--out": out}, paths)
    runs = [read_run(path) for path in paths]
    for run, path in zip(runs, paths, strict=True):
        refuse_imported(run, path, "golden values are learned from what tierscope measured")
    kinds = [kind for kind, view in VIEWS.items() if view.represents_path]
    learned = learn(runs, kinds, vocabulary())
    if not any(one.rule for one in learned):
        raise UserError(
            "these runs have no undisturbed figure of memory with an interval to learn from",
            ExitCode.NOTHING_MEASURED,
        )
    text = as_file(learned, runs)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_output(out, text, "--out")
        click.echo(f"{counted(sum(bool(one.rule) for one in learned), 'rule')}: {out}")
    return 0
