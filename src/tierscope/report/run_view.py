"""How a run is shown as a whole, where it is another study or benchmark than tierscope's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console

    from tierscope.report.pictures.picture import Picture
    from tierscope.report.view import Summary


@dataclass(frozen=True)
class OwnSection:
    """A section of a page that stands in place of a run's pictures and tiers."""

    id: str
    title: str
    body: "Markup"


MakeSection = Callable[[str], OwnSection]
"""Draws a section, whose ids begin with a prefix."""


@dataclass(frozen=True)
class Beside:
    """What a run is shown beside, and with all that other runs have: published figures of the same
    measurements."""

    title: str
    """Heads its section of a page."""
    method: str
    summary: "Summary"
    pictures: "Callable[[], Iterator[Picture]]"
    json: dict[str, Any]
    """What the run's JSON has of it, beside ``run`` and ``results``."""


@dataclass(frozen=True)
class RunView:
    """How one run is shown in the terminal, in JSON and on a page."""

    show: Callable[["Console", Path], None]
    """Prints it to a console; the path is the run file's."""
    json: Callable[[], dict[str, Any]] = dict
    """Returns what its JSON has beside ``run`` and ``results``."""
    section: MakeSection | None = None
    """None: a page has its pictures and tiers as those of other runs."""
    pictures: "Callable[[], Iterator[Picture]] | None" = None
    """None: those of other runs."""
