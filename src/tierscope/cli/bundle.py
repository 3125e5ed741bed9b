"""``tierscope bundle``: a run packed for a bug report."""

from pathlib import Path

from tierscope.cli import options
from tierscope.cli.output import Output, waiting
from tierscope.model.errors import counted, shown
from tierscope.runs.store import find_run


@options.command()
@options.run_argument
@options.out_option("DIR", "Directory of the archive  [default: where the run file is]")
@options.json_option
def bundle(run: str, out: Path | None, output: Output) -> None:
    """Pack a run for a bug report: what can be read of the run file, the topology, all versions.

    In the copy, names of hosts, users and servers, addresses, serial numbers, UUIDs, and paths and
    words of your own are replaced; the run itself stays as it is. RUN is a run file, damaged or
    not, the name of a run, a tag, or last, which is the default. Nothing is written where a name
    would be left (exit status 4).

    \b
    Examples:
      tierscope bundle
      tierscope bundle 20260105-140307-quick --out .
    """
    from tierscope.runs.bundle import KEPT, bundle

    with waiting("packing the run"):
        packed = bundle(find_run(run), out)
    replaced = ", ".join(f"{number} {sort}" for sort, number in packed.replaced.items())
    text = f"bundle: {packed.path}\nreplaced: {replaced or 'nothing'}\nkept: {'; '.join(KEPT)}"
    if packed.damaged:
        text += f"\ndamaged: {counted(len(packed.damaged), 'line')}, named in bundle.json"
    said = {"replaced": packed.replaced, "kept": KEPT, "damaged": packed.damaged}
    output.emit({"bundle": shown(packed.path), **said}, text)
