"""``tierscope bundle``: a run packed for a bug report."""

from pathlib import Path

from tierscope.cli import options
from tierscope.cli.output import Output, waiting
from tierscope.model.errors import shown
from tierscope.runs.store import find_run


@options.command()
@options.run_argument
@options.out_option("DIR", "Directory of the archive  [default: where the run file is]")
@options.json_option
def bundle(run: str, out: Path | None, output: Output) -> None:
    """Pack a run for a bug report: the run file, the topology and all versions.

    In the copy, host and user names, UUIDs, MAC addresses and serial numbers are replaced; the run
    itself stays as it is. RUN is a run file, the name of a run, a tag, or last, which is the
    default.

    \b
    Examples:
      tierscope bundle
      tierscope bundle 20260105-140307-quick --out .
    """
    from tierscope.runs.bundle import bundle

    with waiting("packing the run"):
        path = bundle(find_run(run), out)
    output.emit({"bundle": shown(path)}, f"bundle: {path}")
