"""``tierscope check``: a run against golden values."""

from pathlib import Path

from tierscope.cli import options
from tierscope.cli.kept import refuse_imported
from tierscope.cli.output import Output
from tierscope.model.errors import ExitCode
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run


@options.command()
@options.run_argument
@options.file_option(
    "--expect", "The rules that figures have to meet", metavar="FILE.yaml", required=True
)
@options.file_option("--junit", "Write JUnit XML too, for CI systems")
@options.json_option
def check(run: str, expect: Path, junit: Path | None, output: Output) -> int:
    """Check a run against golden values: acceptance limits kept in a file.

    RUN is a run file, the name of a run, a tag, or last, which is the default.

    \b
    FILE.yaml:
      rules:
        - "gpu:* <- node: >= 0.85 of limit"
        - "node:0 -> node:0 read: >= 20 GB/s"
        - "every node:0 -> node:* latency: <= 150 ns"

    The best figure of each path has to meet a rule; with 'every', each figure of memory has to. A
    figure of caches counts only where the rule names its size. A rule is not met, either, by a
    figure that was not measured. 'inconclusive' is one that misses by its estimate only: its
    interval reaches the bound, it has none, or other programs disturbed it.

    Exit status: 0 all rules are met, 1 one is not, 2 the file is wrong; a rule that matches nothing
    is a mistake of the file.

    \b
    Examples:
      tierscope check --expect expect.yaml
      tierscope check golden --expect expect.yaml --junit acceptance.xml
    """
    from tierscope.analysis.expect import check, read_rules, refuse_unmatched
    from tierscope.kinds.vocabulary import vocabulary
    from tierscope.report.check import findings_xml, show_findings
    from tierscope.runs.read import read_run

    path = find_run(run)
    output = output.beside({"--junit": junit})
    output.check([path, expect])
    rules = read_rules(expect, vocabulary())
    found = read_run(path)
    refuse_imported(found, path, "golden values hold for figures that tierscope measured")
    findings = check(found, rules)
    refuse_unmatched(found, findings)
    if junit is not None:
        write_output(junit, findings_xml(found, findings), "--junit")
        output.say_written("JUnit XML", junit)
    in_json = {"findings": [finding.model_dump(mode="json") for finding in findings]}
    output.emit(in_json, lambda console: show_findings(console, findings))
    met = all(finding.passed for finding in findings)
    return int(ExitCode.ALL_MEASURED if met else ExitCode.SOMETHING_FAILED)
