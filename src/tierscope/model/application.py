"""Applications: programs with their data, their load and the check of their results."""

from typing import Annotated, Literal

from pydantic import Field

from tierscope.model.base import Model

Word = Annotated[str, Field(max_length=1 << 17)]
Command = Annotated[list[Word], Field(max_length=10_000)]
Commands = Annotated[list[Annotated[Command, Field(min_length=1)]], Field(max_length=100)]
Line = Annotated[str, Field(max_length=4096)]
Text = Annotated[str, Field(max_length=1 << 20)]
Package = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]*(==[A-Za-z0-9.+!]+)?$")]


class Published(Model):
    """A result on slow memory that others have published."""

    text: Line
    """A sentence with the figure."""
    source: Line
    url: Line = ""
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d\d){0,2}$")]


class Steps(Model):
    """Commands around a program, none of them placed."""

    prepare: Commands = []
    """Fill the folder ``{prepared}``, once for a command of tierscope."""
    set_up: Commands = []
    """Before each run."""
    load: Commands = []
    """After the program's start: fill it, and warm it up."""
    check: Commands = []
    """After the client: each exits with a status other than 0 where results are wrong."""
    tear_down: Commands = []
    """After the program's end, also after a failure."""


class About(Model):
    """What is said of an application where its figures are shown."""

    name: Line
    summary: Line = ""
    stands_for: Line = ""
    published: list[Published] = []
    resembles: Literal["", "hash", "btree", "chain"] = ""
    """The operation whose accesses to memory are most like its own: a lookup in a hash index or a
    B+-tree, or a chain of dependent reads. Where there is no slow memory, that is what
    ``whatif`` predicts; empty: none is like it."""
    predicted_by: Line = ""
    """A plan of ours whose measurements predict its figures; empty: nothing predicts them."""


class Application(About, Steps):
    """An application, as its file has it."""

    packages: list[Package] = []
    """Debian packages."""
    python_packages: list[Package] = []
    """Packages of Python, with their versions where these matter: ``faiss-cpu==1.15.1``."""
    path: list[Line] = []
    """Folders beside those of PATH that have its programs; globs."""
    unprivileged: bool = False
    """Its commands run as the user nobody where tierscope is root."""
    size: Annotated[int, Field(ge=1, lt=1 << 63)] = 256 << 20
    """Bytes of its data."""
    minimum_size: Annotated[int, Field(ge=1, lt=1 << 63)] = 1
    parameters: dict[Line, Line] = {}
    """Further values of its commands that users may change, by name."""
    program: Command = []
    """The program that is placed; empty: the user's command."""
    client: Command = []
    """It ends, and its output has the figures; without one, the program itself does."""
    figures: list[Line] = []
    """NAME:UNIT=REGEX, as of ``effect --metric``; the first one is the headline."""
    gc_log: bool = False
    rules: Text = ""
    """Rules of the allocator that place its cold data on the node ``{slow}``."""

    @property
    def about(self) -> About:
        """Return what is said of it."""
        return About(**{name: getattr(self, name) for name in About.model_fields})
