"""Figures that others published of CPUs' memory; ``published.yaml`` has them with their sources."""

import re
from functools import cache
from pathlib import Path

from tierscope.model.base import Model

_FILE = Path(__file__).with_suffix(".yaml")
_NO_WORDS = re.compile(r"\((?:R|TM)\)|\bCPU\b|@.*", re.IGNORECASE)


class Published(Model):
    """A published figure; the file's head says what each key is."""

    cpu: str
    of: str
    figure: str
    what: str
    source: str
    quoted: str


def published_of(cpu_model: str) -> list[Published]:
    """Return what is published of a CPU by its model name; nothing of a name without a model."""
    model = _words(cpu_model)
    return [one for one in all_published() if _within(_words(one.cpu), model)]


@cache
def all_published() -> list[Published]:
    """Return all figures of the file."""
    from ruamel.yaml import YAML

    return [Published.model_validate(one) for one in YAML(typ="safe", pure=True).load(_FILE)]


def _words(name: str) -> list[str]:
    return _NO_WORDS.sub(" ", name).lower().split()


def _within(words: list[str], others: list[str]) -> bool:
    """Whether the words stand one after another among the others."""
    last = len(others) - len(words)
    return any(others[at : at + len(words)] == words for at in range(last + 1))
