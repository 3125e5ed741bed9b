"""From counters of memory bandwidth to bwprof's files, and back."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TextIO

import click

from tierscope.cli.forms import Forms, emit
from tierscope.counters.sampler import Sampler
from tierscope.counters.source import Source
from tierscope.counters.traffic import traffic_source
from tierscope.engine.visits import signals_to
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import Topology
from tierscope.plans.grammar import parse_duration
from tierscope.recipes.hmsdk import bwprof
from tierscope.runs.record import version
from tierscope.topology.discover import discover

_DAY_S = 86400.0
_POLL_S = 0.1


class Asked(NamedTuple):
    """What bwprof is asked for."""

    interval: str
    socket: int | None
    directory: Path
    top: bool
    duration: str | None


class _Watching:
    """Goes on until a signal comes or the time is over."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._end = time.monotonic() + seconds

    def interrupt(self) -> None:
        """End it; called from the signal's handler."""
        self.over = True

    def ticks(self, interval_s: float) -> Iterator[None]:
        """Yield after each interval, and once more where it is ended."""
        due = time.monotonic()
        while not self.over and due < self._end - interval_s / 2:
            due = max(due + interval_s, time.monotonic())
            while not self.over and (left := due - time.monotonic()) > 0:
                time.sleep(min(left, _POLL_S))
            yield


def record(asked: Asked, keep: bool, forms: Forms) -> int:
    """Record until Ctrl-C, or show only; returns the exit status."""
    interval = _seconds("--interval", asked.interval, 3600)
    seconds = _seconds("--duration", asked.duration, _DAY_S) if asked.duration else _DAY_S
    topology = discover()
    sockets = _sockets(asked.socket, topology)
    source = traffic_source(topology)
    with contextlib.closing(Sampler([_counting(source)])) as sampler, contextlib.ExitStack() as on:
        outputs: list[TextIO] = []
        if keep:
            info = _info(topology, source, interval)
            outputs.append(on.enter_context(bwprof.begin(asked.directory, info)))
        if asked.top:
            outputs.append(sys.stderr if forms.printed != "tables" else sys.stdout)
        bwprof.write_rows(outputs, bwprof.header(sockets))
        watching = _Watching(seconds)
        with signals_to(watching):
            for _ in watching.ticks(interval):
                (row,) = sampler.rows()
                bwprof.write_rows(outputs, bwprof.line(datetime.now(), row.values, sockets))
    if keep:
        where = {"directory": str(asked.directory)}
        emit(forms, lambda: json.dumps(where), lambda: click.echo(f"recorded: {asked.directory}"))
    return 0


def _counting(source: Source) -> Source:
    """Return a source that counts by socket; raises UserError that says why there is none."""
    places = {key.part for key in source.read().counts} if source.available else set()
    if not any(place.startswith("socket") and "CPUs" not in place for place in places):
        source.close()
        why = [
            "; ".join(filter(None, (one.reason, one.remedy)))
            for one in source.lacking
            if "resctrl" not in one.what
        ]
        reason = "; ".join(why) or "no socket is counted"
        raise UserError(
            f"memory bandwidth by socket cannot be read: {reason}", ExitCode.NOTHING_MEASURED
        )
    return source


def _seconds(option: str, text: str, most: float) -> float:
    try:
        return parse_duration(text, 0, most)
    except UserError as error:
        raise UserError(f"{option}: {error}") from None


def _sockets(asked: int | None, topology: Topology) -> list[int]:
    known = [package.number for package in topology.packages]
    if asked is None:
        return known
    if asked not in known:
        raise UserError(f"--socket: there is no socket {asked}; there are {known}")
    return [asked]


def _info(topology: Topology, source: Source, interval: float) -> str:
    lines = {
        "program": f"tierscope {version()}",
        "host": topology.host,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpu": topology.cpu_model,
        "kernel": topology.kernel,
        "interval": f"{interval:g} s",
        **{f"lacking {number}": f"{one.what}: {one.reason}"
           for number, one in enumerate(source.lacking, start=1)},
    }  # fmt: skip
    return "".join(f"{name}: {value}\n" for name, value in lines.items())


def show(what: str, directory: Path, forms: Forms) -> int:
    """Print what was recorded: ``dump``, ``report`` or ``info``."""
    if what == "info":
        path = directory / bwprof.INFO
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(
                f"{path} cannot be read: {error.strerror}; record one, or name it with -d"
            ) from None
        emit(forms, lambda: json.dumps({"info": text}), lambda: click.echo(text, nl=False))
        return 0
    rows = bwprof.read_csv(directory)
    if what == "dump":
        emit(
            forms,
            lambda: json.dumps({"rows": rows}),
            lambda: bwprof.write_rows([sys.stdout], *rows),
        )
        return 0
    found = list(bwprof.statistics(rows))
    columns = [{"column": n, "mean": mean, "min": low, "max": high} for n, mean, low, high in found]
    emit(forms, lambda: json.dumps({"columns": columns}), lambda: _report(rows, found))
    return 0


def _report(rows: list[list[str]], found: list[tuple[str, float, float, float]]) -> None:
    from rich.text import Text

    from tierscope.report.console import make_console
    from tierscope.report.style import new_table

    table = new_table()
    for heading in ("MB/s", "mean", "least", "most"):
        table.add_column(heading, justify="left" if heading == "MB/s" else "right")
    for name, *values in found:
        table.add_row(Text(name), *(Text(f"{value:.1f}") for value in values))
    console = make_console()
    console.print(table)
    if len(rows) > 1:
        console.print(Text(f"{len(rows) - 1} lines, {rows[1][0]} to {rows[-1][0]}"))
