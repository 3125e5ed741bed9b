"""``tierscope check``."""

from pathlib import Path

from tierscope.cli import options


@options.command()
@options.run_argument
@options.file_option(
    "--expect", "The rules that figures have to meet", metavar="FILE.yaml", required=True
)
@options.file_option("--junit", "Write JUnit XML too, for CI systems")
@options.json_option
def check(run: str, expect: Path, junit: Path | None, json: str | None) -> int:
    """Check a run against golden values: acceptance limits kept in a file.

    RUN is a run file, the name of a run, a tag, or last, which is the default.

    \b
    FILE.yaml:
      rules:
        - "gpu:* <- node: >= 0.85 of limit"
        - "node:0 -> node:0 read: >= 20 GB/s"
        - "every node:0 -> node:* latency: <= 150 ns"

    The best figure of each path has to meet a rule; with 'every', each figure of memory has to. A
    figure of caches counts only where the rule names its size. A rule that matches nothing fails.
    Exit status: 0 all rules are met, 1 one is not.

    \b
    Examples:
      tierscope check --expect expect.yaml
      tierscope check golden --expect expect.yaml --junit acceptance.xml
    """
    from tierscope.cli.history_flow import check_run

    return check_run(run, expect, junit, options.Forms(json))
