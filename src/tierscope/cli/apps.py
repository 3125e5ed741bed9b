"""``tierscope apps``: real applications with their memory on each tier."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.commands import apps_entries
from tierscope.cli.output import Output
from tierscope.cli.parsing import LazyGroup
from tierscope.model.errors import ExitCode, UserError, shown
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.model.application import Application


_INSTALL = Path(__file__).with_name("install_packages.sh")


@click.group(cls=LazyGroup, entries=apps_entries(), context_settings=options.SETTINGS)
def apps() -> None:
    """Run real applications with their memory on each tier: by how much do they slow down?

    \b
    Examples:
      tierscope apps list
      tierscope apps install redis memcached postgres
      tierscope apps run redis,memcached,postgres
      tierscope apps report last
    """


def _complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from tierscope.kinds.effect.application import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def _names_argument(function: options.Function) -> options.Function:
    return click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=_complete)(
        function
    )


@options.command("list")
@_names_argument
@options.json_option
def list_apps(names: tuple[str, ...], output: Output) -> None:
    """List the applications: what each runs, what it stands for, and what it lacks here.

    NAME shows one with all that its file has: data, parameters, figures, published results.

    \b
    Examples:
      tierscope apps list
      tierscope apps list redis
      tierscope apps list ./mine.yaml --json
    """
    from tierscope.kinds.effect.application import application, missing, shipped

    chosen = (application(name) for name in names or shipped())
    found = [(app, missing(app)) for app in chosen]
    said = [{**app.model_dump(mode="json"), "missing": lacks} for app, lacks in found]

    def show(console: "Console") -> None:
        from tierscope.report.applications import show_applications, show_whole

        for app, lacks in found if names else []:
            show_whole(console, app, lacks)
        if not names:
            show_applications(console, found)

    output.emit({"applications": said}, show)


@options.command()
@_names_argument
@options.dry_run_option
@options.json_option
def install(names: tuple[str, ...], output: Output) -> None:
    """Install what applications need: packages of Debian by apt, those of Python by pip.

    Packages of Debian need root or sudo, and no service is started. Packages of Python go where
    this one is installed. Without NAME, those of all applications are installed. What is missing is
    said first; --dry-run does no more.

    \b
    Examples:
      tierscope apps install redis memcached
      tierscope apps install --dry-run
    """
    from tierscope.kinds.effect.application import application, missing, shipped

    chosen = [application(name) for name in names or shipped()]
    debian, python = _lacking(chosen)
    said = {"debian": debian, "python": python}
    lines = [f"{package}: {', '.join(apps)}" for what in said.values()
             for package, apps in what.items()]  # fmt: skip
    output.check()
    output.emit(said, "\n".join(lines or ["nothing is missing"]))
    if output.dry_run:
        return
    if debian:
        _install_debian([*debian])
    if python:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _call([*pip, *python])
    if left := [f"{app.name}: {', '.join(lacks)}" for app in chosen if (lacks := missing(app))]:
        raise UserError(f"still missing: {'; '.join(left)}", ExitCode.NOTHING_MEASURED)


@options.command()
@options.run_argument
@click.option(
    "--prices",
    metavar="FILE",
    type=options.PATH,
    help="File of prices of the tiers, as of 'tierscope cost': what an operation's memory costs",
)
@options.out_option("FILE", "Also write a page (HTML) with all figures and pictures")
@options.json_option
def report(run: str, prices: Path | None, out: Path | None, output: Output) -> None:
    """Show what placements do to applications: slowdown, fast memory freed, cost.

    RUN is a run file, the name of a run, a tag, or last, which is the default. The cost of an
    operation is the price of the memory that the application uses, for as long as the operation
    takes, against the first placement.

    \b
    Examples:
      tierscope apps report
      tierscope apps report last --prices prices.yaml
      tierscope apps report last --out applications.html
    """
    from tierscope.plans.prices import read_prices
    from tierscope.report.summary import show_summaries
    from tierscope.runs.read import read_run
    from tierscope.suites.apps_beside import beside

    path = find_run(run)
    output = output.beside({"--out": out})
    output.check([path, *([prices] if prices else [])])
    measured = read_run(path)
    found = beside(measured, read_prices(prices) if prices else None)
    if found is None:
        raise UserError(f"{shown(path)} has no applications; 'tierscope apps run' measures them",
                        ExitCode.NOTHING_MEASURED)  # fmt: skip
    if out is not None:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.html.page import render_report

        name = shown(path.stem)
        page = render_report([(name, measured)], VIEWS, {}, [], {name: found})
        write_output(out, page, "--out")
        output.say_written("report", out)
    output.emit(found.json, lambda console: show_summaries(console, [found.summary]))


def _lacking(chosen: "list[Application]") -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the packages that are not installed, of Debian and of Python, each with the
    applications that need it."""
    from tierscope.kinds.effect.application import missing_python_packages

    debian: dict[str, list[str]] = {}
    python: dict[str, list[str]] = {}
    for app in chosen:
        for package in app.packages:
            if not _is_installed(package):
                debian.setdefault(package, []).append(app.name)
        for package in missing_python_packages(app.python_packages):
            python.setdefault(package, []).append(app.name)
    return debian, python


def _is_installed(package: str) -> bool:
    if shutil.which("dpkg-query") is None:
        return False
    asked = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(asked, capture_output=True, text=True).stdout == "installed"


def _install_debian(packages: list[str]) -> None:
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise UserError(f"this system has no apt-get; install what these packages of Debian have, "
                        f"by its own means: {names}", ExitCode.NOTHING_MEASURED)  # fmt: skip
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    if as_root and shutil.which("sudo") is None:
        raise UserError(f"packages need root, and there is no sudo; as root: apt-get install "
                        f"{names}", ExitCode.NOTHING_MEASURED)  # fmt: skip
    _call([*as_root, "sh", str(_INSTALL), *packages])


def _call(command: list[str]) -> None:
    """Run an installer; raises UserError with its last line where it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        why = lines[-1] if lines else f"exit status {done.returncode}"
        raise UserError(f"packages are not installed: {why}", ExitCode.NOTHING_MEASURED)
