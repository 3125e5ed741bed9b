"""Runs that come with the package, to try what reads runs without measuring any.

The runs in ``example_runs/`` were measured; only the host's name was replaced. The fleet is
simulated from one of them: its hosts' names, products and folder say so.
"""

import lzma
import random
from dataclasses import dataclass
from pathlib import Path

from tierscope.model.errors import UserError
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, Footer, Header, Measurement, Run, is_unreliable
from tierscope.runs.output import replace_file
from tierscope.runs.read import read_run

_PACKED = Path(__file__).parent / "example_runs"
FLEET = "simulated-fleet"
HOSTS = 8
SLOW_HOST = 6
SLOWER = 0.3
"""Share of every rate that the slow host lacks."""
_SPREAD = 0.01
"""Standard deviation between hosts that are alike, as a share."""


@dataclass(frozen=True)
class Example:
    """A measured run."""

    name: str
    about: str
    """Where and how it was measured."""


EXAMPLES = (
    Example(
        "example-vm",
        "'run quick', measured on a virtual machine with 2 CPUs (AMD EPYC), 2026-11-27",
    ),
    Example("example-vm-later", "the same, measured on the same machine four hours later"),
)
ABOUT_FLEET = (
    f"{HOSTS} hosts, simulated from example-vm; simulated-{SLOW_HOST} is {SLOWER:.0%} slower"
)


def write_examples(folder: Path) -> None:
    """Write all examples into a folder; raises UserError where that cannot be."""
    hosts = folder / FLEET / "hosts"
    try:
        hosts.mkdir(parents=True, exist_ok=True)
        for one in EXAMPLES:
            packed = (_PACKED / f"{one.name}.jsonl.xz").read_bytes()
            replace_file(folder / f"{one.name}.jsonl", lzma.decompress(packed))
        measured = read_run(folder / f"{EXAMPLES[0].name}.jsonl")
        for run in _fleet(measured):
            replace_file(hosts / f"{run.header.host}.jsonl", _lines(run))
    except OSError as error:
        raise UserError(f"the examples cannot be written to {folder}: {error.strerror}") from None


def _fleet(measured: Run) -> list[Run]:
    """Hosts that differ from the measured one by chance, and one that is slow."""
    source = random.Random(HOSTS)  # noqa: S311 - no secret
    slow = {SLOW_HOST: 1 - SLOWER}
    return [
        _host(measured, f"simulated-{number}", slow.get(number, 1.0), source)
        for number in range(1, HOSTS + 1)
    ]


def _host(measured: Run, name: str, speed: float, source: random.Random) -> Run:
    header = measured.header
    kept = [
        _scaled(m, speed * (1 + source.gauss(0, _SPREAD)))
        for m in measured.measurements
        if m.ci_low is not None and not m.fits_caches and not is_unreliable(m)
    ]
    ids = {m.id for m in kept}
    planned = [one for one in header.plan["measurements"] if one["id"] in ids]
    topology = header.topology
    assert topology is not None
    simulated = {
        "name": name,
        "host": name,
        "command": ["tierscope", "demo"],
        "machine": {**header.machine, "product": "simulated"},
        "topology": topology.model_copy(update={"host": name, "product": "simulated"}),
        "plan": {**header.plan, "measurements": planned},
    }
    assert measured.footer is not None
    return Run(
        header=header.model_copy(update=simulated),
        measurements=kept,
        footer=measured.footer.model_copy(update={"measured": len(kept)}),
    )


def _scaled(measurement: Measurement, speed: float) -> Measurement:
    """The measurement on a machine that is so many times as fast."""
    factor = _factor(measurement.figures[0], speed)
    return measurement.model_copy(
        update={
            "figures": [_figure(one, _factor(one, speed)) for one in measurement.figures],
            "samples": [factor * value for value in measurement.samples],
            "distributions": None,
            "series": None,
        }
    )


def _factor(figure: Figure, speed: float) -> float:
    better = METRICS[figure.metric].better
    return speed if better == "higher" else 1 / speed if better == "lower" else 1.0


def _figure(figure: Figure, factor: float) -> Figure:
    update = {
        name: value * factor
        for name in ("estimate", "ci_low", "ci_high")
        if (value := getattr(figure, name)) is not None
    }
    return figure.model_copy(update=update)


def _lines(run: Run) -> bytes:
    records: list[Header | Measurement | Footer] = [run.header, *run.measurements]
    records += [run.footer] if run.footer else []
    return "".join(f"{record.model_dump_json()}\n" for record in records).encode()
