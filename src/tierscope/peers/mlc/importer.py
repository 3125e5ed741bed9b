"""Import the text that Intel's Memory Latency Checker prints."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from tierscope.peers.importing import UNKNOWN, Found, Source
from tierscope.peers.mlc_text import (
    BANDWIDTHS,
    CACHES,
    IDLE,
    LATENCIES,
    LOADED,
    MB,
    MIXES,
    Line,
    Section,
    cells,
    figure,
    grid,
    sections_of,
)

_BEGINNINGS = re.compile(
    r"Intel\(R\) Memory Latency Checker|^Measuring \w|^\s*Numa node|^Each iteration took|^Inject\s"
    r"|^ALL Reads|-> ?L2 HIT",
    re.MULTILINE,
)
_VERSION = re.compile(r"Memory Latency Checker - (v\S{1,12})")
_BUFFER = re.compile(r"Using buffer size of ([0-9]{1,7}(?:\.[0-9]{1,3})?) ?MiB(/thread)?")
_LATENCY_NS = re.compile(r"\(\s*([0-9.]+)\s*ns\s*\)")
_MIX = re.compile(r"(.{3,24}?)\s*:\s*([0-9.]+)\s*$")
_POINT = re.compile(r"\s*([0-9]{1,9})\s+([0-9.]+)\s+([0-9.]+)\s*$")
_TRAFFIC = re.compile(r"Using (.{1,60}?) traffic type")
_LOCAL = re.compile(r"Local Socket L2->L2 (HITM?)\s+latency\s+([0-9.]+|-)")
_REMOTE = re.compile(r"Remote Socket L2->L2 (HITM?)\s+latency \(.*homed in (writer|reader) socket")
_ORDER = re.compile(r"for (sequential|random) access")
_CHOSEN = {"-c": r"[0-9]{1,5}", "-j": r"[0-9]{1,4}", "-l": r"[0-9]{1,9}"}
"""Options of idle latency whose values are kept."""
_SYSTEM = ("system", "system")
"""The path of modes that MLC measures for the system as a whole."""
_READ = "100:0"


@dataclass
class _Context:
    """Facts on a section from the lines before it."""

    source: Source
    found: Found
    ends: tuple[str, str] | None
    """The path of figures without one in MLC's text."""
    options: dict[str, str] = field(default_factory=dict)
    size: int | None = None
    """Bytes of the buffer of a latency; None where they are not printed."""
    random: bool = False
    """MLC could not switch prefetchers off, and measures latencies in random order."""


def recognises(source: Source) -> bool:
    """Whether a file is MLC's text, or a part of one."""
    return not source.begins_as_json and bool(_BEGINNINGS.search(source.text))


def read(
    sources: Sequence[Source], ends: tuple[str, str] | None, _clock: str | None = None
) -> Found:
    """Return the measurements of the texts; raises UserError, with file and line, for damaged ones.

    ``ends`` is the path of figures whose nodes MLC does not print.
    """
    found = Found("Intel MLC")
    for source in sources:
        source.check("mlc")
        version = _VERSION.search(source.text)
        found.program = f"Intel MLC {version[1]}" if version else found.program
        before = len(found.measurements)
        lines, sections = sections_of(source.text)
        context = _Context(source, found, ends)
        _note(context, lines)
        for section in sections:
            if add := _SECTIONS.get(section.what):
                add(context, section)
            _note(context, section.lines)  # of the next one, where outputs were put together
        if len(found.measurements) == before:
            source.fail("none of MLC's measurements is in it; see docs/import.md for its modes")
    return found


def _note(context: _Context, lines: Sequence[Line]) -> None:
    """Keep facts on following measurements: options, buffers, prefetchers that stay on."""
    for _, line in lines:
        if _VERSION.search(line):
            context.options, context.size, context.random = {}, None, False
        if line.startswith("Command line parameters:"):
            found = {
                name: re.search(rf"{name} ?({form})\b", line) for name, form in _CHOSEN.items()
            }
            context.options = {name: match[1] for name, match in found.items() if match}
        if (buffer := _BUFFER.search(line)) and not buffer[2]:
            context.size = round(float(buffer[1]) * (1 << 20)) or None
        context.random |= "enabling random access for latency measurements" in line


def _chase(context: _Context, title: str) -> dict[str, Any]:
    order = _ORDER.search(title)
    known = "random" if context.random else order[1] if order else None
    stride = int(context.options["-l"]) if "-l" in context.options else None
    return {"order": known, "stride": stride, "size": context.size}


def _add_latencies(context: _Context, section: Section) -> None:
    matrix = grid(section.lines, context.source.name, "latencies")
    pattern = _chase(context, section.title)
    for cpus, memory, latency in cells(matrix):
        path = (f"node:{cpus}", f"node:{memory}")
        context.found.add("latency", "latency_matrix", path, pattern, ("latency", latency))


def _add_bandwidths(context: _Context, section: Section) -> None:
    matrix = grid(section.lines, context.source.name, "bandwidths")
    traffic = _traffic(section)
    pattern = {"operation": "read" if traffic == _READ else traffic, "order": "sequential"}
    for cpus, memory, rate in cells(matrix):
        path = (f"node:{cpus}", f"node:{memory}")
        figure = ("bandwidth", rate * MB)
        context.found.add("bandwidth", "bandwidth_matrix", path, pattern, figure)


def _traffic(section: Section) -> str | None:
    """Return the mix of a section; None where it names none."""
    matches = (_TRAFFIC.search(line) for _, line in section.lines)
    said = next((match[1] for match in matches if match), None)
    return _READ if said in ("Read-only", "Read only") else said


def _add_mixes(context: _Context, section: Section) -> None:
    peak = "Peak" in section.title
    name = "peak_injection" if peak else "max_bandwidth" if section.title else "bandwidth"
    for number, line in section.lines:
        match = _MIX.match(line.strip())
        if not match or not re.match(r"ALL Reads|[0-9]+:[0-9]+ Reads-Writes|Stream", match[1]):
            continue
        rate = figure(match[2], f"{context.source.name}:{number}", "bandwidths")
        words = match[1].removesuffix(" Reads-Writes")
        mix = _READ if words == "ALL Reads" else f"{words} bus" if ":" in words else words
        pattern = {"mix": mix, "order": "sequential", "mode": name.replace("_", " ")}
        if rate:
            path = context.ends or _SYSTEM
            context.found.add("traffic", name, path, pattern, ("bandwidth", rate * MB))


def _add_loaded(context: _Context, section: Section) -> None:
    path = context.ends or _SYSTEM
    mix = _traffic(section)
    for number, line in section.lines:
        match = _POINT.match(line)
        if not match:
            continue
        where = f"{context.source.name}:{number}"
        latency = figure(match[2], where, "latencies")
        rate = figure(match[3], where, "bandwidths") * MB
        pattern = {
            "load_from": path[0],
            "load_to": path[1],
            "mix": mix or UNKNOWN,
            "inject": int(match[1]),
        }
        if latency:
            figures = [("bandwidth", rate)] if rate else []
            found = ("latency", latency)
            context.found.add("loaded-latency", "loaded_latency", path, pattern, found, figures)


def _add_idle(context: _Context, section: Section) -> None:
    number, line = section.lines[0]
    match = _LATENCY_NS.search(line)
    if match is None:
        context.source.fail("no latency in ns behind 'Each iteration took'", f":{number}")
    latency = figure(match[1], f"{context.source.name}:{number}", "latencies")
    chosen = context.options
    path = (
        f"cpus:{chosen['-c']}" if "-c" in chosen else UNKNOWN,
        f"node:{chosen['-j']}" if "-j" in chosen else UNKNOWN,
    )
    if latency:
        pattern = _chase(context, section.title)
        named = context.ends or path
        context.found.add("latency", "idle_latency", named, pattern, ("latency", latency))


def _add_caches(context: _Context, section: Section) -> None:
    """Latencies from core to core: in a socket, then from socket to socket by the lines' home."""
    name = context.source.name
    for place, (number, line) in enumerate(section.lines):
        if match := _LOCAL.match(line.strip()):
            latency = figure(match[2], f"{name}:{number}", "latencies")
            path = ("a socket", UNKNOWN)
            if latency:
                _add_core(context, path, match[1], "the same socket", latency)
        if match := _REMOTE.match(line.strip()):
            lines = list(takewhile(lambda one: "L2->L2" not in one[1], section.lines[place + 1 :]))
            matrix = grid(lines, name, "latencies", "Writer Numa Node")
            for writer, reader, latency in cells(matrix):
                path = (f"node:{reader}", f"node:{writer if match[2] == 'writer' else reader}")
                _add_core(context, path, match[1], f"node:{writer}", latency)


def _add_core(
    context: _Context, path: tuple[str, str], hit: str, writer: str, latency: float
) -> None:
    """Add a latency of lines that another core holds; ``path`` is their reader and their home."""
    pattern = {"state": "modified" if hit == "HITM" else "clean", "writer_at": writer}
    context.found.add("core-latency", "c2c", path, pattern, ("latency", latency))


_SECTIONS: dict[str, Callable[[_Context, Section], None]] = {
    LATENCIES: _add_latencies,
    BANDWIDTHS: _add_bandwidths,
    MIXES: _add_mixes,
    LOADED: _add_loaded,
    IDLE: _add_idle,
    CACHES: _add_caches,
}
