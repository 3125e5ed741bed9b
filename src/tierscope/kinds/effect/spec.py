"""The spec of effect: a program that is run under one placement, again and again."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.spec import Cpus, MeasurementSpec, Region

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

Word = Annotated[str, Field(max_length=1 << 17)]
Words = Annotated[list[Word], Field(min_length=1, max_length=10_000)]
Text = Annotated[str, Field(max_length=1 << 20)]
Node = Annotated[int, Field(ge=0, le=1023)]
_RUN_TIME = "run_time"


class Settings(Model):
    """What a program runs under; what is absent stays as tierscope itself has it."""

    mode: (
        Literal["local", "bind", "preferred", "preferred-many", "interleave", "weighted"] | None
    ) = None
    nodes: Annotated[list[Node], Field(max_length=1024)] = []
    weights: Annotated[list[Annotated[int, Field(ge=1, le=255)]], Field(max_length=1024)] = []
    balancing: bool = False
    cpus: Cpus | None = None
    thp: Literal["never", "madvise", "always"] | None = None
    """Transparent huge pages of the program and of what it starts: none, where they ask for them by
    madvise, or wherever they fit."""
    tier: Annotated[str, Field(max_length=4096)] = ""
    """A preset of ``tierscope tier``, or the path of a file of rules, by which pages move while the
    program runs; empty: none."""
    pairs: Annotated[list[Annotated[str, Field(max_length=20)]], Field(max_length=512)] = []
    """The fast and slow nodes of a preset: 0:2."""
    environment: dict[str, Word] = {}


class Reported(Model):
    """A number that the program prints, or its client."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    metric: str
    """Its metric, of those whose names begin with ``reported``."""
    factor: Annotated[float, Field(gt=0, le=1e18)] = 1.0
    """What the number is multiplied by to be in the metric's unit."""
    pattern: Text
    """Regular expression whose first group is the number; its last match counts."""

    @model_validator(mode="after")
    def _check(self) -> "Reported":
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise ValueError(f"{self.name}: the regular expression is wrong: {error}") from None
        if groups < 1:
            raise ValueError(f"{self.name}: put the number in brackets, as in 'rate: ([0-9.]+)'")
        return self


class EffectPattern(Model):
    """What is run, and under what."""

    command: Text
    """As a shell would take it."""
    placement: Text
    """Its name."""


class EffectSpec(MeasurementSpec):
    """The time that a program takes, and what it reports."""

    metric: ClassVar[str] = _RUN_TIME
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.CPUS)
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    recorded: ClassVar[tuple[str, ...]] = ("command", "placement")

    kind: Literal["effect"] = "effect"
    cpus: Cpus
    """Those that it may run on."""
    program: Words
    client: Annotated[list[Word], Field(max_length=10_000)] = []
    """A program that uses it and ends; none: it ends by itself. The client is not placed."""
    package: Annotated[str, Field(max_length=100)] = ""
    """What to install where the program is missing."""
    directory: Text
    """Where it runs."""
    settings: Settings
    reported: Annotated[list[Reported], Field(max_length=100)] = []
    gc_log: bool = False
    """It is a JVM, whose garbage collector's log is asked for."""
    count: Annotated[int, Field(ge=1, le=100_000)] = 10
    """Runs."""
    timeout_s: Annotated[float, Field(gt=0, le=86400 * 7)] = 600.0
    save: Text = ""
    """Directory for its output; empty: output is not kept."""
    pattern: EffectPattern

    def headline(self) -> str:
        """The run's time, or of a program with a client the first number that is reported."""
        return self.reported[0].metric if self.client and self.reported else _RUN_TIME

    def rounds(self) -> int:
        """Its runs."""
        return self.count

    def thread_cpus(self) -> list[int]:
        """The CPUs that it may run on."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None: the program's memory is its own."""
        return []

    def identity(self) -> dict[str, Any]:
        """The command and the placement's name."""
        return self.pattern.model_dump(mode="json")

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: nobody knows what a program goes over, and all of it is meant."""
        return False

    def limit(self, paths: "Paths") -> "Limit | None":  # noqa: ARG002
        """None: no link bounds a program's time."""
        return None


SPEC = EffectSpec
