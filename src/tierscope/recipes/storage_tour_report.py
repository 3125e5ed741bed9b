"""What ``tierscope storage`` prints: a table and a sentence for each question, then what limits."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from tierscope.kinds.files import table as small_files
from tierscope.kinds.io.remarks import remarks
from tierscope.kinds.io.table import common, common_words, show_rows
from tierscope.kinds.io.words import (
    block_lines,
    cache_lines,
    depth_lines,
    headroom,
    idle,
    in_sentences,
    latency_text,
    thread_lines,
)
from tierscope.model.endpoint import Target
from tierscope.model.run import Measurement, Run
from tierscope.recipes.storage_tour import Shown, Tour
from tierscope.report.evidence import warnings
from tierscope.report.storage_text import targets_text
from tierscope.report.style import note, title
from tierscope.report.warnings import warnings_line

Lines = Callable[[Sequence[Measurement]], list[str]]
_SAID: dict[str, Lines] = {
    "cache": cache_lines,
    "threads": thread_lines,
    "depth": depth_lines,
    "blocks": block_lines,
}
"""What is said below each part's table."""
_OF_FILES = "files"
"""The part that goes to many small files: its table is another, and it says nothing of a drive."""


def show_tour(console: Console, run: Run, tour: Tour) -> None:
    """Print the tables of each target and its conclusions, then warnings."""
    found = {m.id: m for m in run.measurements if m.status == "measured"}
    for target in dict.fromkeys(shown.target for shown in tour.parts):
        parts = [shown for shown in tour.parts if shown.target == target]
        _show_target(console, target, parts, found)
    if text := warnings_line(run):
        console.print()
        console.print(Text(text))


def _show_target(
    console: Console, target: Target, parts: Sequence[Shown], found: dict[str, Measurement]
) -> None:
    everything = [found[name] for name in _ids(parts) if name in found]
    drive_parts = [shown for shown in parts if shown.part.name != _OF_FILES]
    measured = [found[name] for name in _ids(drive_parts) if name in found]
    if not everything:
        return
    told = common(measured)
    title(console, f"{target}")
    where = dict.fromkeys(targets_text(m.evidence) for m in everything if m.evidence)
    console.print(Text("; ".join(filter(None, (*where, common_words(measured))))))
    for name in dict.fromkeys(shown.part.name for shown in parts):
        alike = [shown for shown in parts if shown.part.name == name]
        members = [found[one] for one in _ids(alike) if one in found]
        if not members:
            continue
        console.print()
        console.print(Text(alike[0].part.title, style="bold"))
        if name == _OF_FILES:
            small_files.show_rows(console, members)
            note(console, small_files.CACHES)
            continue
        show_rows(console, members, told)
        lines = _SAID.get(name)
        for line in lines(members) if lines else []:
            note(console, in_sentences([line]), style="")
    console.print()
    for line in _conclusions(measured):
        note(console, line, style="")
    for line in (*remarks(measured), *warnings(everything)):
        note(console, line)


def _ids(parts: Sequence[Shown]) -> list[str]:
    return list(dict.fromkeys(name for shown in parts for name in shown.ids))


def _conclusions(measured: list[Measurement]) -> list[str]:
    """Say what one read costs, and what limits the best."""
    lines = []
    if one := idle(measured):
        tail = latency_text(one, "p99")
        after = f", one in a hundred more than {tail}" if tail else ""
        lines.append(f"One 4 KiB read at a time takes {latency_text(one)}{after}.")
    return [*lines, headroom(measured)]
