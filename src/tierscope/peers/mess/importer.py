"""Import Mess's bandwidth-latency curves, in the three forms in which they are published.

- ``memory_curves.json``: ``{"50": [[GB/s, ns], ...]}``, a curve for each share of reads on the bus
  in percent, from the heaviest load to the lightest or the other way.
- CSV of Mess 2.0, in GB/s and ns (it has a column ``latency_smooth``), and of the first Mess
  benchmark, in GB/s and cycles of a clock that it does not name.
- ``bwlat_50.txt``, a file a curve: MB/s and a latency on each line, in ns or in cycles.

A point at which nothing loads the memory is the curve's idle one.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tierscope.model.errors import UserError
from tierscope.peers.importing import UNKNOWN, Found, Source
from tierscope.plans.grammar import as_float

_GB, _MB = 1e9, 1e6
_BANDWIDTH, _LATENCY = "bandwidth_mean", "latency_mean"
"""Columns of every CSV."""
_SHARES = ("read_pct_rounded", "rd_percentage")
"""Columns of a CSV that have the share of reads in percent: of Mess 2.0, of the first one."""
_IN_NS = "latency_smooth"
_NAMED = re.compile(r"bwlat_([0-9]{1,3})\.\w+$")
_PAIR = re.compile(r"\s*[0-9][0-9.eE+-]*[\s,]+[0-9][0-9.eE+-]*\s*")
_CLOCK = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([gm]?)hz", re.IGNORECASE)
_HERTZ = {"g": 1e9, "m": 1e6, "": 1.0}
_MAX = 1e15
"""Larger than any rate in GB/s or MB/s and any time in ns or cycles."""
_HOW = "say --clock 2.1ghz where they are cycles of that clock, or --clock ns"


class _Point(NamedTuple):
    share: int
    """Reads in percent."""
    pause: int
    """Larger values mean a lighter load."""
    bandwidth: float
    """bytes/s"""
    latency: float
    """ns"""


def recognises(source: Source) -> bool:
    """Whether a file has curves in one of Mess's forms."""
    if source.begins_as_json:
        found = source.document
        return isinstance(found, dict) and bool(found) and all(key.isdigit() for key in found)
    lines = [line for line in source.text.splitlines()[:100] if line.strip()]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return False
    return {_BANDWIDTH, _LATENCY} <= _columns(lines[0]) or all(map(_PAIR.fullmatch, lines[:2]))


def _columns(heading: str) -> set[str]:
    try:
        return set(next(csv.reader([heading]), []))
    except csv.Error:
        return set()


def read(sources: Sequence[Source], ends: tuple[str, str] | None, clock: str | None) -> Found:
    """Return the curves of the files, for a path that files never name.

    ``clock`` is that of latencies in cycles. Raises UserError, with file and place.
    """
    ns = _ns_per_unit(clock)
    path = ends or (UNKNOWN, UNKNOWN)
    found = Found("Mess")
    for source in sources:
        source.check("mess")
        issued = False
        if source.text.lstrip().startswith(("{", "[")):
            points = list(_of_json(source))
        elif source.format == "mess" and _BANDWIDTH in source.text:
            issued = _IN_NS not in source.text
            points = list(_of_csv(source, ns))
        else:
            points = list(_of_lines(source, ns))
        if not points:
            source.fail("no points of bandwidth and latency; see docs/import.md for Mess's forms")
        for point in points:
            _add(found, path, point, issued)
    return found


def _ns_per_unit(clock: str | None) -> float | None:
    """Return the ns of a unit of the files' latencies; None where nobody said."""
    if clock is None:
        return None
    if clock == "ns":
        return 1.0
    match = _CLOCK.fullmatch(clock.strip())
    hertz = float(match[1]) * _HERTZ[match[2].lower()] if match else 0.0
    if not 1e6 <= hertz <= 1e11:
        raise UserError(f"--clock: '{clock}' is not a clock such as 2.1ghz or 2100mhz, nor ns")
    return 1e9 / hertz


def _add(found: Found, path: tuple[str, str], point: _Point, issued: bool) -> None:
    idle = point.bandwidth == 0
    what = "issued" if issued else "bus"
    pattern = {
        "load_from": path[0],
        "load_to": path[1],
        "mix": f"{point.share}:{100 - point.share} {what}",
        "inject": None if idle else point.pause,
        "load_threads": 0 if idle else None,
    }
    figures = [] if idle else [("bandwidth", point.bandwidth)]
    latency = ("latency", point.latency)
    found.add("loaded-latency", f"mess.{point.share}", path, pattern, latency, figures)


def _of_json(source: Source) -> Iterator[_Point]:
    document = source.json
    if not isinstance(document, dict):
        source.fail("not an object with a curve for each share of reads")
    for key, curve in document.items():
        share = _share(source, key, f": {key}")
        if not isinstance(curve, list):
            source.fail("not a list of points", f": {key}")
        pairs = [_pair(source, pair, f": {key}[{n}]") for n, pair in enumerate(curve)]
        yield from _in_order(share, pairs, _GB, 1.0)


def _pair(source: Source, pair: object, where: str) -> tuple[float, float]:
    if not isinstance(pair, list) or len(pair) != 2:
        source.fail("not a point [GB/s, ns]", where)
    return _figures(source, pair[0], pair[1], where)


def _figures(source: Source, rate: object, time: object, where: str) -> tuple[float, float]:
    """Return bandwidth and latency as the file has them."""
    for value, name, least in ((rate, "bandwidth", 0.0), (time, "latency", 1e-6)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not least <= value < _MAX:  # type: ignore[operator]
            source.fail(f"'{str(value)[:20]}' is not a {name}", where)
    return float(rate), float(time)  # type: ignore[arg-type]


def _in_order(
    share: int, pairs: list[tuple[float, float]], rate: float, ns: float
) -> Iterator[_Point]:
    """Yield points of a file without pauses; its order gives the order of loads."""
    ascending = len(pairs) > 1 and pairs[-1][0] > pairs[0][0]
    for pause, (bandwidth, latency) in enumerate(reversed(pairs) if ascending else pairs):
        yield _Point(share, pause, bandwidth * rate, latency * ns)


def _share(source: Source, text: str, where: str) -> int:
    share = as_float(text)
    if not 0 <= share <= 100:
        source.fail(f"'{text[:20]}' is not a share of reads in percent", where)
    return round(share)


def _of_csv(source: Source, ns: float | None) -> Iterator[_Point]:
    rows = csv.DictReader(io.StringIO(source.text))
    try:
        names = rows.fieldnames or []
    except csv.Error as error:
        source.fail(f"not CSV: {error}", ":1")
    column = next((name for name in _SHARES if name in names), None)
    if column is None or "pause" not in names:
        source.fail(f"its columns are not Mess's: {', '.join(_SHARES)}, pause", ":1")
    if _IN_NS in names:
        ns = 1.0
    elif ns is None:
        source.fail(f"it does not say in which unit its latencies are; {_HOW}", ":1")
    try:
        for row in rows:
            where = f":{rows.line_num}"
            share = _share(source, row[column] or "", where)
            rate, time = (_number(source, row[name], where) for name in (_BANDWIDTH, _LATENCY))
            pause = _number(source, row["pause"], where)
            bandwidth, latency = _figures(source, rate, time, where)
            yield _Point(share, round(pause), bandwidth * _GB, latency * ns)
    except csv.Error as error:
        source.fail(f"not CSV: {error}", f":{rows.reader.line_num}")


def _of_lines(source: Source, ns: float | None) -> Iterator[_Point]:
    name = _NAMED.search(source.name)
    if name is None:
        source.fail(
            "neither Mess's JSON nor its CSV; a curve of one share of reads is a file with the "
            "name bwlat_50.txt"
        )
    share = _share(source, name[1], "")
    pairs = []
    for number, line in enumerate(source.text.splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        where = f":{number}"
        if len(words) != 2:
            source.fail(f"{len(words)} numbers, not a bandwidth and a latency", where)
        rate, time = (_number(source, word, where) for word in words)
        pairs.append(_figures(source, rate, time, where))
    if pairs and ns is None:
        source.fail(f"it does not say in which unit its latencies are; {_HOW}")
    yield from _in_order(share, pairs, _MB, ns or 1.0)


def _number(source: Source, word: str | None, where: str) -> float:
    value = as_float(word or "")
    if not 0 <= value < _MAX:
        source.fail(f"'{(word or '')[:20]}' is not a number from 0 on", where)
    return value
