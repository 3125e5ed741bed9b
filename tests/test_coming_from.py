"""The commands that docs/coming-from-other-tools.md names in its tables exist, with their options.

Those in its code blocks run, as all documents' do.
"""

import re
import shlex
from pathlib import Path

import click
import pytest

from tierscope.cli.app import app
from tierscope.cli.parsing import LazyGroup

PAGE = Path(__file__).parent.parent / "docs/coming-from-other-tools.md"
INLINE = re.compile(r"`tierscope ([^`]+)`")
OWN_PARSERS = ("fio", "gdsio", "nvbandwidth", "hmctl", "hmsdk bwprof", "hmsdk gen_migpol", "mlc")
"""They take another program's words; tests of their own hold them to those."""


def commands() -> list[str]:
    return sorted(set(INLINE.findall(PAGE.read_text())))


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that these words call, and the words behind it."""
    group: LazyGroup = app
    for number, word in enumerate(words):
        (entry,) = [one for one in group.entries if word == one.name]
        command = entry.load()
        if not isinstance(command, LazyGroup) or number + 1 == len(words):
            return command, words[number + 1 :]
        group = command
    raise AssertionError(words)


@pytest.mark.parametrize("text", commands())
def test_a_command_of_the_tables_exists(text: str) -> None:
    command, rest = resolved(shlex.split(text))
    if text.startswith(OWN_PARSERS):
        return
    known = {name for parameter in command.params for name in parameter.opts}
    used = {word.partition("=")[0] for word in rest if word.startswith("-")}
    assert used <= known


def test_the_page_names_every_peer() -> None:
    text = PAGE.read_text()
    for peer in ("MLC", "Mess", "CXL-Bench", "STREAM", "nvbandwidth", "gdsio", "fio", "HMSDK"):
        assert f"\n## {peer}" in text or f"\n## Intel {peer}" in text
    assert len(commands()) > 30
