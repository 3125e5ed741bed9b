"""``tierscope nvbandwidth``."""

import typer


def nvbandwidth(context: typer.Context) -> None:
    """Run nvbandwidth's test cases, with its options and its output.

    \b
    Examples:
      tierscope nvbandwidth
      tierscope nvbandwidth -t host_to_device_memcpy_ce 4 -b 256
      tierscope nvbandwidth -p device_to_device --json
    """
    from tierscope.cli.nvbandwidth_flow import run

    raise typer.Exit(run(context.args))
