"""The line of progress: what it says, its width, and that a pipe gets none of it."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress as Bar

from tierscope.kinds.plan import Spec
from tierscope.model.event import Column, Evidence, Progress, Repetition, Series, Started
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.progress import _Display, _Line

PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
SMALL = ["bandwidth", "--op", "read,copy", "--threads", "1", "--size", "1m"]


def specs(machine: Topology, kind: str, **options: str) -> list[Spec]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return list(expand([Request(kind=kind, options=named)], machine, thp=True).measurements)


def repetition(spec: Spec, *values: float | None) -> Repetition:
    samples = len(values)
    series = Series(
        name="windows",
        starts=[float(number) for number in range(samples)],
        durations=[0.1] * samples,
        lost=[0.0] * samples,
        columns=[Column(metric=spec.headline(), values=[*values])],
    )
    return Repetition(
        id=spec.id, seconds=1.0, fresh=True, interrupted=False, series=[series], evidence=Evidence()
    )


def shown(bar: Bar) -> str:
    """Return the line as the terminal gets it, of the width that it has."""
    console = bar.console
    with console.capture() as capture:
        console.print(bar.get_renderable())
    return capture.get().rstrip("\n")


def made(planned: list[Spec], width: int = 80) -> tuple[Bar, _Display]:
    console = Console(file=io.StringIO(), width=width)
    bar = Bar(_Line(console), console=console)
    return bar, _Display(bar, planned, lambda _: 2.0)


def test_the_figure_that_was_finished_last_stays_until_the_next_one(machine: Topology) -> None:
    planned = specs(machine, "bandwidth", op="read,copy", threads="2", size="64m")
    read, copy = planned
    bar, display = made(planned)
    assert shown(bar).rstrip() == "0 of 2 · starting"
    display.watch(Started(id=read.id))
    assert "0 of 2 · read by 2 threads" in shown(bar)
    display.watch(Progress(id=read.id, elapsed_s=0.5, samples=2, latest=17e9))
    assert "read by 2 threads 17.0 GB/s" in shown(bar)
    display.watch(repetition(read, 18e9, None, 18.2e9, 19e9))
    assert shown(bar).startswith("1 of 2 · ")
    assert shown(bar).rstrip().endswith(" · read by 2 threads 18.2 GB/s")
    display.watch(Started(id=copy.id))
    display.watch(Progress(id=copy.id, elapsed_s=0.5, samples=2, latest=5e9))
    assert shown(bar).rstrip().endswith(" · read by 2 threads 18.2 GB/s")
    display.watch(repetition(copy, 9e9))
    assert shown(bar).startswith("2 of 2, repeating")
    assert shown(bar).rstrip().endswith(" · copy by 2 threads 9.00 GB/s")


@pytest.mark.parametrize("width", [10, 20, 40, 80])
def test_the_line_never_exceeds_the_terminal(machine: Topology, width: int) -> None:
    planned = specs(machine, "latency", to="node:*", size="64k..1g")
    bar, display = made(planned, width)
    for spec in planned:
        display.watch(repetition(spec, 95.1))
        assert len(shown(bar)) <= width
        assert "\n" not in shown(bar)
        assert width < 80 or shown(bar).rstrip().endswith("95.1 ns")


def test_a_point_that_is_added_later_is_named_by_its_id(machine: Topology) -> None:
    first, added = specs(machine, "latency", to="node:0", size="64k,128k")
    bar, display = made([first])
    display.watch(Started(id=added.id))
    display.watch(repetition(added, 95.1))
    assert shown(bar).startswith("1 of 2 · ")
    assert shown(bar).rstrip().endswith(f"{added.id} 95.1 ns")


def test_paths_are_named_where_there_are_several(machine: Topology) -> None:
    planned = specs(machine, "latency", to="node:0,node:1", size="64k", pages="base")
    bar, display = made(planned)
    display.watch(repetition(planned[1], 95.1))
    latest = "node:0 → node:1, random latency over 64 KiB of base pages 95.1 ns"
    assert shown(bar).rstrip().endswith(latest)


def test_a_pipe_gets_no_progress_and_a_terminal_does(fake_engine: object, tmp_path: Path) -> None:
    command = [*PROGRAM, *SMALL, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    main, side = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=side) as process:
        os.close(side)
        written = b""
        while chunk := _read(main):
            written += chunk
        assert process.wait() == 0
    os.close(main)
    assert re.search(r"2 of 2, repeating.*(read|copy) by 1 thread [0-9.]+ GB/s", written.decode())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nothing is left of the terminal's other side
        return b""
