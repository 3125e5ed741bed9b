"""The table ``together``: combined figures of hosts that share storage, a row a figure.

The repetitions of each measurement go to a file of their own while run files are read. They are
read back measurement by measurement, first to find the time that all hosts spent together, then to
add up what they moved in it. So memory does not depend on the number of hosts."""

import contextlib
import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from tierscope.analysis.concurrent import AtOnce, HostRepetition, Key, windows
from tierscope.analysis.estimate import Estimate
from tierscope.analysis.warm_up import warm_up
from tierscope.fleet.tables import TOGETHER, open_fleet, records
from tierscope.kinds.registry import KINDS
from tierscope.model.event import Repetition
from tierscope.model.fleet import ClockOffset, FleetIndex
from tierscope.model.metric import METRICS
from tierscope.model.outlier import TogetherFigure
from tierscope.model.run import Measurement, Run
from tierscope.runs.read import Contents, read_contents, run_of

_ADDED_UP = ("B/s", "1/s")
_MOST_STORES = 8
"""Maximum number of stores that are named."""


class _Clock:
    """Converts times of a host to rank 0's clock."""

    def __init__(self, run: Run, after: ClockOffset | None, zero: float) -> None:
        assert run.header.fleet is not None
        assert run.header.fleet.clock is not None
        before = run.header.fleet.clock
        after = after or before
        # Seconds since 1970 would have no more than a quarter of a microsecond of resolution.
        self.began = _moment(run.header.started) - zero
        finished = self.began
        with contextlib.suppress(ValueError):  # of a footer of others' making
            finished = _moment(run.footer.finished) - zero if run.footer else finished
        self._ends = (self.began, max(finished, self.began + 1))
        self._offsets = (before.offset_ns / 1e9, after.offset_ns / 1e9)
        self.error_s = max(_half(before), _half(after))

    def of_rank_0(self, moment: float) -> float:
        """Return a moment of this host by rank 0's clock; between both estimates it drifts
        evenly."""
        (begin, end), (first, last) = self._ends, self._offsets
        share = min(1.0, max(0.0, (moment - begin) / (end - begin)))
        return moment - first - share * (last - first)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _half(clock: ClockOffset) -> float:
    return (clock.high_ns - clock.low_ns) / 2e9


class RepetitionsAtOnce:
    """Repetitions of hosts that measured in step, in temporary files."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._of: dict[str, tuple[Path, Measurement]] = {}
        """File and first record of each measurement, by id."""
        self._stores: dict[str, set[str]] = {}
        self._zero: float | None = None
        """Start of the first run, which is time 0."""

    def add(self, name: str, run: Run, contents: Contents, after: ClockOffset | None) -> None:
        """Keep the repetitions of a run file of this name; raises UserError where one is damaged.

        ``after``: the host's clock once its run had ended, as far as it is known.
        """
        part = run.header.fleet
        if part is None or part.order != "together" or part.alone or part.clock is None:
            return
        if self._zero is None:
            self._zero = _moment(run.header.started)
        clock = _Clock(run, after, self._zero)
        for one in run.measurements:
            kind = KINDS.get(one.kind)
            if kind is None or not kind.spec.adds_up or one.id not in contents.repetitions:
                continue
            records = [record.repetition for record in contents.repetitions_of(one.id)]
            lines = [
                _line(run.header.host, name, number, repetition, clock)
                for number, repetition in enumerate(records)
                if repetition.at_s is not None and repetition.series[0].starts
            ]
            path = self._place / f"repetitions-{len(self._of)}.jsonl.gz"
            path, _ = self._of.setdefault(one.id, (path, one))
            with gzip.open(path, "at", compresslevel=1) as file:
                file.writelines(f"{line}\n" for line in lines)
            stores = self._stores.setdefault(one.id, set())
            if len(stores) < _MOST_STORES:
                stores |= set(_stores(one))

    def rows(self, counts: Callable[[str], bool]) -> Iterator[TogetherFigure]:
        """Yield the table's rows, of the run files that count."""
        for name, (path, measurement) in self._of.items():
            found = windows(
                (line["host"], line["error_s"], _repetition(line)) for line in _lines(path, counts)
            )
            if found.hosts < 2 or not found.by_number:
                continue
            sums = AtOnce(found)
            error_s = 0.0
            for host, lines in groupby(_lines(path, counts), lambda line: str(line["host"])):
                members = list(lines)
                error_s = max(error_s, *(line["error_s"] for line in members))
                sums.add(host, map(_repetition, members))
            common = {
                "kind": measurement.kind,
                "id": name,
                "initiator": measurement.initiator,
                "target": measurement.target,
                "pattern": measurement.pattern,
                "clocks_ns": error_s * 1e9,
                "stores": sorted(self._stores[name]),
                "hosts": found.hosts,
                "repetitions": len(found.by_number),
                "left_out": found.left_out,
                "seconds": found.seconds,
                "common": found.share,
            }
            yield from _figures(sums, (measurement.metric or "", ""), common)


def together_of(folder: Path, index: FleetIndex) -> list[TogetherFigure]:
    """Return the combined figures of a fleet's hosts; raises UserError for a damaged run file."""
    with tempfile.TemporaryDirectory(prefix="tierscope-") as place:
        found = RepetitionsAtOnce(Path(place))
        for host in index.hosts:
            path = folder / host.run
            if path.is_file():
                contents = read_contents(path)
                found.add(host.run, run_of(contents), contents, host.clock_after)
        return [*found.rows(lambda _: True)]


def together_in(place: str) -> list[TogetherFigure]:
    """Return the table of a gathered fleet, whose figures are in the plan's order."""
    return [
        TogetherFigure.model_validate({**row, "pattern": json.loads(row["pattern"])})
        for row in records(open_fleet(place), f"FROM {TOGETHER}")
    ]


def _stores(measurement: Measurement) -> Iterator[str]:
    for facts in (measurement.evidence.storage if measurement.evidence else None) or ():
        if facts.path.mount is not None:
            yield f"{facts.path.mount.type} {facts.path.mount.source}"


def _line(host: str, run: str, number: int, repetition: Repetition, clock: _Clock) -> str:
    """Return a repetition, its times by rank 0's clock."""
    assert repetition.at_s is not None
    series = repetition.series[0]
    zero = clock.of_rank_0(clock.began + repetition.at_s)
    starts = [zero + start for start in series.starts]
    cold = warm_up([series], 0.0).samples  # which no precision changes
    return json.dumps(
        {
            "host": host,
            "run": run,
            "error_s": clock.error_s,
            "number": number,
            "warm": starts[min(cold, len(starts) - 1)],
            "starts": starts,
            "durations": series.durations,
            "rates": [
                [column.metric, column.part, column.values]
                for column in series.columns
                if METRICS[column.metric].unit in _ADDED_UP
            ],
            "histograms": [
                [one.metric, one.part, one.samples] for one in series.distributions or ()
            ],
        }
    )


def _lines(path: Path, counts: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        for text in file:
            line: dict[str, Any] = json.loads(text)
            if counts(line["run"]):
                yield line


def _repetition(line: Mapping[str, Any]) -> HostRepetition:
    return HostRepetition(
        number=line["number"],
        warm=line["warm"],
        starts=line["starts"],
        durations=line["durations"],
        rates={(metric, part): values for metric, part, values in line["rates"]},
        histograms={(metric, part): rows for metric, part, rows in line["histograms"]},
    )


def _figures(sums: AtOnce, headline: Key, common: dict[str, Any]) -> Iterator[TogetherFigure]:
    """Yield a row for each figure, the headline first; all rows have ``common``."""
    for key, one in sorted(sums.sums().items(), key=lambda item: item[0] != headline):
        rates = {
            "mean": one.mean,
            "fairness": one.fairness,
            **dict(zip(("slowest", "slowest_host"), one.slowest, strict=True)),
            **dict(zip(("fastest", "fastest_host"), one.fastest, strict=True)),
        }
        yield _figure(*key, one.estimate, {**common, **rates, "headline": key == headline})
    for (metric, part), found in sums.percentiles().items():
        for name, estimate in found.items():
            yield _figure(f"{metric}_{name}", part, estimate, common)


def _figure(metric: str, part: str, estimate: Estimate, more: dict[str, Any]) -> TogetherFigure:
    fields = {
        "metric": metric,
        "part": part,
        "unit": METRICS[metric].unit,
        "estimate": estimate.value,
        "ci_low": estimate.low,
        "ci_high": estimate.high,
        "no_interval": estimate.no_interval,
    }
    return TogetherFigure.model_validate({**fields, **more})
