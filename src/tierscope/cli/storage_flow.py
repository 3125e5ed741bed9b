"""From the options of ``tierscope storage`` and ``run --storage`` to measurements."""

import json
import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console

from tierscope.cli.flow import carry_out
from tierscope.cli.options import Output
from tierscope.cli.run_flow import time_limit_seconds
from tierscope.engine.leftovers import clean
from tierscope.engine.paths import known_path
from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.model.run import Run
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.fit import check_memory, fit_time
from tierscope.plans.grammar import parse_size
from tierscope.plans.rated import read_rated, with_ratings
from tierscope.recipes.storage_tour import Given, Tour, tour
from tierscope.report.figures import size_text
from tierscope.topology.discover import discover
from tierscope.topology.settings import thp_available


@dataclass(frozen=True)
class Asked:
    """The options of ``tierscope storage`` as they were given."""

    paths: tuple[str, ...]
    initiator: str = ""
    size: str | None = None
    overwrite: bool = False
    keep: bool = False
    rated: Path | None = None
    time_limit: str | None = None


def measure_storage(asked: Asked, output: Output) -> int:
    """Measure the tour of each path and print what it says."""
    from tierscope.recipes.storage_tour_report import show_tour
    from tierscope.report.run import show_end, show_missing

    topology = machine_of(asked)
    made = storage_tour(topology, asked)
    if asked.time_limit is not None:
        made = replace(made, plan=fit_time(made.plan, time_limit_seconds(asked.time_limit)))
    check_memory(made.plan, topology)

    def show(console: Console, run: Run, path: Path) -> None:
        show_tour(console, run, made)
        show_missing(console, run)
        show_end(console, run, path)

    return carry_out("storage", made.plan, topology, output, show=show)


def clean_storage(paths: Sequence[str], as_json: bool) -> int:
    """Remove what earlier runs left in these directories, as far as it is proven to be ours."""
    cleaned = [clean(os.path.abspath(path)) for path in dict.fromkeys(paths)]  # noqa: PTH100  no stat
    if as_json:
        click.echo(json.dumps([one.model_dump(mode="json") for one in cleaned]))
        return 0
    for one in cleaned:
        if not one.files:
            click.echo(f"{one.directory}: nothing is left of earlier runs")
        for file in one.files:
            why = f": {file.reason}" if file.reason else ""
            what = size_text(file.bytes)
            if file.files is not None:
                what = f"{counted(file.files, 'file')}, {what}"
            click.echo(f"{one.directory}/{file.name}: {file.state}, {what}{why}")
    return 0


def storage_tour(topology: Topology, asked: Asked, main_only: bool = False) -> Tour:
    """Return the tour of the paths that were given; raises UserError where one cannot be used."""
    found = [found_path(path) for path in dict.fromkeys(asked.paths)]
    return tour(topology, given_of(asked, found), thp_available(), main_only)


def machine_of(asked: Asked) -> Topology:
    """Return this machine with what data sheets promise of its drives."""
    drives = () if asked.rated is None else read_rated(asked.rated)
    return with_ratings(discover(), drives)


def given_of(asked: Asked, found: Sequence[tuple[Target, PathFacts]]) -> Given:
    """Return what recipes are given: the options, and what each path is."""
    return Given(
        targets=[target for target, _ in found],
        facts=[facts for _, facts in found],
        initiator=asked.initiator,
        size=None if asked.size is None else _size_given(asked.size),
        overwrite=asked.overwrite,
        keep=asked.keep,
    )


def found_path(given: str) -> tuple[Target, PathFacts]:
    """Return what a path is, as a child sees it: tierscope itself never touches it."""
    path = os.path.abspath(given.removeprefix("file:").removeprefix("dev:"))  # noqa: PTH100  no stat
    facts = known_path(path)
    if facts.kind == "missing":
        raise UserError(f"{given}: no such file or directory; name one that is there")
    if facts.kind == "other":
        raise UserError(f"{given}: neither a directory, a file nor a block device")
    if facts.open_error:
        raise UserError(f"{given} cannot be read: {facts.open_error}", ExitCode.NOTHING_MEASURED)
    kind = EndpointKind.DEV if facts.kind == "block" else EndpointKind.FILE
    return Target(kind=kind, path=path), facts


def _size_given(text: str) -> int:
    """Return the bytes that --size names."""
    try:
        return parse_size(text)
    except UserError as error:
        raise UserError(f"--size: {error}") from None
