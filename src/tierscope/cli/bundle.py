"""``tierscope bundle``."""

from pathlib import Path

from tierscope.cli import options


@options.command()
@options.run_argument
@options.out_option("DIR", "Directory of the archive  [default: where the run file is]")
@options.json_option
def bundle(run: str, out: Path | None, json: str | None) -> None:
    """Pack a run for a bug report: the run file, the topology and all versions.

    In the copy, host and user names, UUIDs, MAC addresses and serial numbers are replaced; the run
    itself stays as it is. RUN is a run file, the name of a run, a tag, or last, which is the
    default.

    \b
    Examples:
      tierscope bundle
      tierscope bundle 20260105-140307-quick --out .
    """
    from tierscope.cli.show_flow import bundle_run

    bundle_run(run, out, options.Forms(json))
