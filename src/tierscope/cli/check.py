"""``tierscope check``."""

from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli import options


def check(
    expect: Annotated[
        Path, typer.Option(metavar="FILE.yaml", help="The rules that figures have to meet")
    ],
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run file, name, tag or last")
    ] = "last",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit XML too, for CI systems")
    ] = None,
    json: options.Json = False,
) -> None:
    """Hold a run against golden values: acceptance limits kept as a file.

    \b
    FILE.yaml:
      rules:
        - "gpu:* <- node: >= 0.85 of limit"
        - "node:0 -> node:0 read: >= 20 GB/s"
        - "every node:0 -> node:* latency: <= 150 ns"

    The best figure of each path has to meet a rule, or with 'every' each one. A rule that
    matches nothing fails. Exit status: 0 all met, 1 something was not.

    \b
    Examples:
      tierscope check --expect expect.yaml
      tierscope check golden --expect expect.yaml --junit acceptance.xml
    """
    from tierscope.cli.history_flow import check_run

    check_run(run, expect, junit, json)
