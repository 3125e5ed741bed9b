"""Figures that others published of CPUs' memory; ``published.json`` has them with their sources.

To add one, append an item. Give a figure only if its source can be named so that others find it,
and copy it as the source has it. Nothing may be computed, apart from a unit or from a point
chosen of published data, which ``quoted`` then says.
"""

import json
import re
from functools import cache
from pathlib import Path

from tierscope.model.base import Model

_FILE = Path(__file__).with_suffix(".json")
_NO_WORDS = re.compile(r"\((?:R|TM)\)|\bCPU\b|@.*", re.IGNORECASE)


class Published(Model):
    """A published figure."""

    cpu: str
    """Words of the model name in /proc/cpuinfo, without (R) and (TM). The whole words have to
    match, so "AMD EPYC" alone matches nothing else."""
    of: str
    """What was measured: sockets, cores, memory, as far as the source says."""
    figure: str
    """With its unit."""
    what: str
    """What it is of: STREAM Triad, all reads..."""
    source: str
    """Author, title, year."""
    quoted: str
    """Where in the source it is, and what was done to it; not shown."""


def published_of(cpu_model: str) -> list[Published]:
    """Return what is published of a CPU by its model name; nothing of a name without a model."""
    model = _words(cpu_model)
    return [one for one in all_published() if _within(_words(one.cpu), model)]


@cache
def all_published() -> list[Published]:
    """Return all figures of the file."""
    return [Published.model_validate(one) for one in json.loads(_FILE.read_text(encoding="utf-8"))]


def _words(name: str) -> list[str]:
    return _NO_WORDS.sub(" ", name).lower().split()


def _within(words: list[str], others: list[str]) -> bool:
    """Whether the words stand one after another among the others."""
    last = len(others) - len(words)
    return any(others[at : at + len(words)] == words for at in range(last + 1))
