"""``tierscope demo``: example runs and an example fleet, and what to try with them."""

import shlex
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.model.errors import shown

_BY_RUN = "select run, max(estimate) / 1e9 from measurements where unit = 'B/s' group by run"
_BY_HOST = "select host, max(estimate) / 1e9 from figures where unit = 'B/s' group by host"
"""Both stand between double quotes."""


@options.command()
@click.argument("folder", metavar="[DIR]", type=options.PATH, required=False)
@options.json_option
def demo(folder: Path | None, output: Output) -> None:
    """Write example runs and an example fleet, and print commands to try with them.

    Nothing is measured. Two runs were measured on a small virtual machine; the hosts of the fleet
    are simulated, and are called so. They go to DIR, by default to the folder 'examples' of the
    data directory, apart from the runs of this machine.

    \b
    Examples:
      tierscope demo
      tierscope demo examples
    """
    from tierscope.machine.data_directory import data_directory
    from tierscope.runs.examples import ABOUT_FLEET, EXAMPLES, FLEET, write_examples

    output.check()
    place = folder or data_directory() / "examples"
    write_examples(place)
    about = {f"{one.name}.jsonl": one.about for one in EXAMPLES} | {f"{FLEET}/": ABOUT_FLEET}
    runs = [place / f"{one.name}.jsonl" for one in EXAMPLES]
    commands = _commands(place, runs, place / FLEET)
    text = [f"Examples in {shown(place)}:"]
    text += [f"  {name}: {what}" for name, what in about.items()]
    text += ["", "Commands to try:", *(f"  {command}" for command in commands)]
    found = {"folder": shown(place), "examples": about, "commands": commands}
    output.emit(found, "\n".join(text))


def _commands(place: Path, runs: list[Path], fleet: Path) -> list[str]:
    """Return command lines as a shell takes them, in the order in which they work."""
    base, new = map(_quoted, runs)
    both, hosts = _quoted(place), _quoted(fleet)
    page, fleet_page = _quoted(place / "example.html"), _quoted(place / f"{fleet.name}.html")
    return [
        f"tierscope show {base}",
        f"tierscope report {base} -o {page}",
        f"tierscope compare {base} {new}",
        f'tierscope query "{_BY_RUN}" --in {both}',
        f"tierscope fleet gather {hosts}",
        f"tierscope fleet check {hosts}",
        f"tierscope fleet report {hosts} -o {fleet_page}",
        f'tierscope query "{_BY_HOST}" --in {hosts}',
    ]


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
