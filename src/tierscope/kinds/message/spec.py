"""The spec of message: messages between two ranks, or between several pairs of them at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.limit import Limit
from tierscope.model.spec import Cpus, MeasurementSpec, Region

if TYPE_CHECKING:
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

Operation = Literal["latency", "bandwidth", "both-ways"]
OPERATIONS: tuple[str, ...] = Operation.__args__  # type: ignore[attr-defined]
MAX_SIZE = 1 << 30
MAX_WINDOW = 1024


class HostPort(Model):
    """A network port of a host, whose link is up and whose rate is known."""

    name: str
    """eth0, or an RDMA device and port: mlx5_0/1."""
    bits_per_s: Annotated[float, Field(gt=0, le=1e15)]
    """Each way."""


class MessageEnd(Model):
    """One of the two ranks of a pair."""

    host: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\s,>]+$")]
    """The rank's name: its host, and its number where the host has several ranks."""
    rank: Annotated[int, Field(ge=0, le=1 << 24)]
    machine: str = ""
    """The host as its kernel names it; ranks of one host do not use its ports."""
    ports: list[HostPort] = []


class MessagePair(Model):
    """Who sends messages to whom."""

    source: MessageEnd
    destination: MessageEnd

    @property
    def name(self) -> str:
        """As columns name it: ``n1>n2``."""
        return f"{self.source.host}>{self.destination.host}"


class MessagePattern(Model):
    """What is sent."""

    operation: Operation
    """latency: a message and its answer in turn; bandwidth: from source to destination;
    both-ways: from both at the same time."""
    size: Annotated[int, Field(ge=1, le=MAX_SIZE)]
    """Bytes of a message."""
    window: Annotated[int, Field(ge=1, le=MAX_WINDOW)] = 64
    """Messages that are under way at once, of bandwidth."""
    memory: Annotated[str, Field(pattern=r"^(host|gpu|gpu:\d{1,3})$")] = "host"
    """What holds the messages: memory of the hosts; of their GPU of this number; gpu: of a host's
    first GPU on its first rank, of the second one on the second."""


class MessageSpec(MeasurementSpec):
    """Latency or bandwidth of messages."""

    metric: ClassVar[str] = "latency"
    initiators: ClassVar[tuple[EndpointKind, ...]] = ()
    targets: ClassVar[tuple[EndpointKind, ...]] = ()
    recorded: ClassVar[tuple[str, ...]] = ("operation", "size")
    extra_properties: ClassVar[dict[str, type]] = {"pairs": int, "together": str}

    kind: Literal["message"] = "message"
    cpus: Cpus
    """That the first source's launcher bound it to."""
    pairs: Annotated[list[MessagePair], Field(min_length=1, max_length=1 << 16)]
    """Several are one figure, their sum or mean."""
    round: Count = 0
    """Measurements of the same round and pattern are visited at the same time; 0: this one alone.
    """
    at_once: Annotated[int, Field(ge=1, le=1 << 16)] = 1
    """Pairs that exchange messages at the same time, in this and in others of its round."""
    patience_s: Annotated[float, Field(ge=1, le=3600)] = 10.0
    """That a rank gets to answer, beside the time that a window takes on a slow link."""
    pattern: MessagePattern

    @model_validator(mode="after")
    def _check(self) -> "MessageSpec":
        ranks = [end.rank for pair in self.pairs for end in (pair.source, pair.destination)]
        if len(set(ranks)) != len(ranks):
            raise ValueError("a rank has one partner")
        return self

    def headline(self) -> str:
        """A time or a rate."""
        return "latency" if self.pattern.operation == "latency" else "bandwidth"

    def thread_cpus(self) -> list[int]:
        """The first source's."""
        return self.cpus

    def regions(self) -> list[Region]:
        """None that the plan places: MPI takes memory as it finds it."""
        return []

    def identity(self) -> dict[str, Any]:
        """The pattern, how many pairs there are at once; of several as one figure, who they are."""
        found = self.pattern.model_dump(mode="json")
        if self.pattern.operation == "latency":
            del found["window"]
        found["pairs"] = self.at_once
        if len(self.pairs) > 1:
            ends = ((pair.source.host, pair.destination.host) for pair in self.pairs)
            found["together"] = ", ".join(f"host:{one} → host:{other}" for one, other in ends)
        return found

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """False: links are measured, not memory."""
        return False

    def overwrites(self) -> bool:
        """False: there are no regions."""
        return False

    def limit(self, paths: "Paths") -> Limit | None:  # noqa: ARG002
        """What the slower host's ports carry, of all pairs together; None of latency, and where a
        rate is not known."""
        both = self.pattern.operation == "both-ways"
        if self.pattern.operation == "latency":
            return None
        slower = [_slower(pair) for pair in self.pairs]
        inside = any(pair.source.machine == pair.destination.machine for pair in self.pairs)
        if inside or not all(map(_bytes_per_s, slower)):
            return None
        value = sum(map(_bytes_per_s, slower)) * (2 if both else 1)
        first = slower[0]
        rates = " + ".join(f"{port.bits_per_s / 1e9:g}" for port in first.ports)
        ways = " both ways" if both else ""
        several = f", and of {len(slower) - 1} more pairs" if len(slower) > 1 else ""
        return Limit(
            value=value,
            unit="B/s",
            link=f"{' and '.join(port.name for port in first.ports)} of {first.host}{several}",
            formula=f"{rates} Gb/s / 8{ways}{several} = {value / 1e9:.4g} GB/s",
            source="rates of the ports as negotiated (sysfs), before the headers of any packet",
        )


def _slower(pair: MessagePair) -> MessageEnd:
    return min(pair.source, pair.destination, key=_bytes_per_s)


def _bytes_per_s(end: MessageEnd) -> float:
    return sum(port.bits_per_s for port in end.ports) / 8


SPEC = MessageSpec
