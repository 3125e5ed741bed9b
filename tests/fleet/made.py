"""A fleet's run files, made: hosts that are alike, and some that are not."""

import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

from tests import synthetic

from tierscope.model.fleet import ClockOffset, FleetHost, FleetIndex
from tierscope.model.run import Measurement, Run

NOISE = 0.01
ENVIRONMENT = {"kernel": "Linux 6.12.0", "governor": "performance", "thp": "madvise"}
RATES = {("node:0", "node:0"): 250e9, ("node:0", "node:1"): 120e9, ("node:1", "node:1"): 250e9,
         ("node:1", "node:0"): 120e9}  # fmt: skip
PATTERN = {"order": "sequential", "access_size": 64, "size": 1 << 30, "pages": "thp",
           "isa": "auto", "threads": 16}  # fmt: skip
OPERATIONS = ("read", "copy")


def name_of(number: int) -> str:
    return f"node{number:05}"


def measurements(
    source: random.Random, slower: float = 0.0, between: float = 0.0, noise: float = NOISE,
    figures: int = 8,
) -> list[Measurement]:  # fmt: skip
    """One host's figures, each the median of 20 samples that scatter by ``noise``; more than eight
    have more threads."""
    maker = synthetic.Maker(source.getrandbits(32), noise, n=20)
    ways = list(product(RATES.items(), OPERATIONS))
    found = []
    for number in range(figures):
        more, way = divmod(number, len(ways))
        ((initiator, target), rate), operation = ways[way]
        pattern = {"operation": operation, **PATTERN, "threads": PATTERN["threads"] + more}
        value = rate * (1 - slower) * (1 + source.gauss(0, between))
        found.append(maker.make("bandwidth", initiator, target, pattern, value))
    return found


def run_of(number: int, members: Iterable[Measurement], **changes: Any) -> Run:
    finished = changes.pop("finished", True)
    environment = {**ENVIRONMENT, **changes.pop("environment", {})}
    return synthetic.run(
        list(members), finished=finished, host=name_of(number), environment=environment, **changes
    )


def write(folder: Path, made: Run) -> Path:
    place = folder / "hosts"
    place.mkdir(parents=True, exist_ok=True)
    path: Path = synthetic.write(made, place / f"{made.header.host}.jsonl")
    return path


def fleet(
    folder: Path, hosts: int, slow: Iterable[int] = (), by: float = 0.1, figures: int = 8
) -> Path:
    """Write a fleet's run files; ``slow`` hosts lack a share of every rate."""
    source = random.Random(hosts)
    few = set(slow)
    for number in range(hosts):
        made = measurements(source, by if number in few else 0.0, figures=figures)
        write(folder, run_of(number, made))
    return folder


def index(folder: Path, hosts: int) -> None:
    """Write the ``fleet.json`` of such a fleet, all of it measured."""
    clock = ClockOffset(
        offset_ns=-3123, low_ns=-91_231, high_ns=31_233, round_trip_ns=12_222, round_trips=64
    )
    found = []
    for number in range(hosts):
        name, rack = name_of(number), number // 40
        found.append(
            FleetHost(
                host=name, rank=number, state="measured", run=f"hosts/{name}.jsonl", clock=clock,
                clock_after=clock, rack=f"rack{rack}", switch=f"leaf{rack}",
            )
        )  # fmt: skip
    whole = FleetIndex(started="2026-01-05T14:00:00+00:00", plan="quick", hosts=found)
    (folder / "fleet.json").write_text(whole.model_dump_json(indent=1) + "\n")
