"""The spec of message: messages between two ranks, or between several pairs of them at once."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import Field
from typing_extensions import Self

from tierscope.fleet import transport as mpi
from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind, whole_number
from tierscope.model.errors import UserError
from tierscope.model.evidence import OwnEvidence
from tierscope.model.path import Limit
from tierscope.model.property import IN_BYTES, OPERATION, SIZE, Property, declared
from tierscope.model.rules import Check, Prunes, Ruled, Ruling
from tierscope.model.spec import Cpus, MeasurementSpec, Region
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import parsed, sampling, sizes
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of, values_of

if TYPE_CHECKING:
    from tierscope.model.path import Paths


Operation = Literal["latency", "bandwidth", "both-ways"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
"""In the order of the library's numbers."""
_LOOK_S = 60.0
"""Time limit for ranks to name their hosts' ports."""
_DEFAULT_SIZES = {"latency": 8, "bandwidth": 1 << 20, "both-ways": 1 << 20}
_T = TypeVar("_T")
_PAIRS = Option(
    "pairs",
    "LIST",
    "first (rank 0 and the first other host), all (in rounds in which each host has one "
    "partner), bisection (one half of the hosts with the other, at once), or A-B",
    "first",
)
_PATIENCE = Option(
    "patience", "TIME", "Time after which a rank that does not answer is dropped", "10s"
)


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
    """Source and destination of messages."""

    source: MessageEnd
    destination: MessageEnd

    @property
    def name(self) -> str:
        """As columns name it: ``n1>n2``."""
        return f"{self.source.host}>{self.destination.host}"


class MessagePattern(Ruled):
    """Messages: operation, size, window and memory."""

    operation: Annotated[Operation, OPERATION.but(flag="operation", default="latency,bandwidth")]
    """latency: a message and its answer in turn; bandwidth: from source to destination;
    both-ways: from both at the same time."""
    size: Annotated[
        int,
        IN_BYTES,
        Field(ge=1, le=1 << 30),
        SIZE.but(
            help="Bytes of a message, as in 8..1m*8", default_help="8 of latency, 1m of bandwidth"
        ),
    ]
    window: Annotated[
        int,
        Field(ge=1, le=1024),
        Property("Messages in flight, of bandwidth", single=True, id="w{}"),
    ] = 64
    memory: Annotated[
        str,
        Field(pattern=r"^(host|gpu|gpu:\d{1,3})$"),
        Property(
            "Messages lie in host memory, on gpu:N of each host, or on gpu (the first one of a "
            "host's first rank, and so on), which takes an MPI that sends from GPUs",
            metavar="WHERE",
            single=True,
            words="{} memory",
        ),
    ] = "host"
    """Memory of the messages: the hosts'; their GPU's of this number; gpu: that of a host's
    first GPU on its first rank, of the second one on the second."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("window", unless={"operation": ("bandwidth", "both-ways")}),
    )


class Messages(Model):
    """Messages of all ranks, and the library and ports that carried them."""

    mpi: str
    """The MPI library, as it calls itself."""
    count: Count
    """Messages of all pairs, in all samples."""
    bytes: Count
    """Bytes of their contents."""
    wire_bytes: Count | None = None
    """Bytes that network ports of all hosts of the measurement sent meanwhile, for everybody; less
    than ``bytes`` where messages took another way, such as shared memory. None where no port can
    be read."""


class MessageEvidence(OwnEvidence):
    """Keys of evidence of messages."""

    messages: Messages | None = None

    def followed_by(self, after: Self) -> Self:
        """Add up messages and bytes; the sum with what is not known is not known."""
        one, other = self.messages, after.messages
        if one is None or other is None:
            return super().followed_by(after)
        known = one.wire_bytes is not None and other.wire_bytes is not None
        update = {
            "count": one.count + other.count,
            "bytes": one.bytes + other.bytes,
            "wire_bytes": (one.wire_bytes or 0) + (other.wire_bytes or 0) if known else None,
        }
        return self.model_copy(update={"messages": other.model_copy(update=update)})


class MessageSpec(MeasurementSpec):
    """Latency or bandwidth of messages."""

    metric: ClassVar[str] = "latency"
    own_evidence: ClassVar[type[OwnEvidence]] = MessageEvidence
    initiators: ClassVar[tuple[EndpointKind, ...]] = ()
    targets: ClassVar[tuple[EndpointKind, ...]] = ()
    recorded: ClassVar[tuple[str, ...]] = ("operation", "size")
    extra_properties: ClassVar[dict[str, type]] = {"pairs": int, "together": str}

    kind: Literal["message"] = "message"
    cpus: Cpus
    """CPUs that the first source is bound to by its launcher."""
    pairs: Annotated[list[MessagePair], Field(min_length=1, max_length=1 << 16)]
    """Several are one figure, their sum or mean."""
    round: Count = 0
    """Measurements of the same round and pattern are repeated at the same time; 0: this one alone.
    """
    at_once: Annotated[int, Field(ge=1, le=1 << 16)] = 1
    """Pairs that exchange messages at the same time, in this and in others of its round."""
    patience_s: Annotated[float, Field(ge=1, le=3600)] = 10.0
    """Time limit for a rank's answer, beyond the time of a window on a slow link."""
    pattern: MessagePattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pairs",
            "name a rank twice; it has one partner",
            lambda spec: len({end.rank for end in spec.ends}) == len(spec.ends),
        ),
    )

    @property
    def ends(self) -> list[MessageEnd]:
        """Sources and destinations of all pairs."""
        return [end for pair in self.pairs for end in (pair.source, pair.destination)]

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
        found = self.pattern.as_recorded()
        found["pairs"] = self.at_once
        if len(self.pairs) > 1:
            ends = ((pair.source.host, pair.destination.host) for pair in self.pairs)
            found["together"] = ", ".join(f"host:{one} → host:{other}" for one, other in ends)
        return found

    def overwrites(self) -> bool:
        """False: there are no regions."""
        return False

    def limit(self, paths: "Paths") -> Limit | None:  # noqa: ARG002
        """The rate of the slower host's ports, of all pairs together; None of latency, and where a
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


def all_rounds(members: Sequence[_T]) -> list[list[tuple[_T, _T]]]:
    """Return rounds in which each member meets each other one once, and one at a time.

    The circle method: the first one stays, the others move on by one place each round. Of an odd
    number one rests in each round.
    """
    circle: list[_T | None] = [*members, *([None] if len(members) % 2 else [])]
    rounds = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        facing = zip(circle[:half], reversed(circle[half:]), strict=True)
        pairs = [(a, b) for a, b in facing if a is not None and b is not None]
        rounds.append([(a, b) if members.index(a) < members.index(b) else (b, a) for a, b in pairs])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return [sorted(pairs, key=lambda pair: members.index(pair[0])) for pairs in rounds]


def bisection(members: Sequence[_T]) -> list[tuple[_T, _T]]:
    """Return the pairs of the first half with the second; of an odd number the last one rests."""
    half = len(members) // 2
    return list(zip(members[:half], members[half : 2 * half], strict=True))


def named_pair(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the two names of ``A-B``, each a name or its number in ``names``.

    Names may have hyphens in them, so every one is tried as what separates the two. Raises
    UserError.
    """

    def known(word: str) -> str | None:
        if word in names:
            return word
        number = whole_number(word)
        return names[number] if number is not None and number < len(names) else None

    found = []
    for at, sign in enumerate(text):
        one, other = known(text[:at]), known(text[at + 1 :])
        if sign == "-" and one and other:
            found.append((one, other))
    if len(found) != 1:
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        why = "can be read in several ways" if found else "names no two ranks"
        raise UserError(
            f"'{text}' {why}; write first, all, bisection, or A-B of these names or their numbers "
            f"from 0 on: {listed}"
        )
    if found[0][0] == found[0][1]:
        raise UserError(f"'{text}' is one rank; name two")
    return found[0]


Pairs = list[tuple[MessageEnd, MessageEnd]]


@dataclass(frozen=True)
class _Figure:
    """Pairs of which there is one figure for each operation and size."""

    label: str
    """In ids."""
    pairs: Pairs
    round: int = 0
    at_once: int = 1


def expand(request: Request, _topology: Topology, _thp: bool) -> Iterator[MessageSpec]:
    """Yield a measurement for each set of pairs, operation and size."""
    given = sizes(request, "size")
    operation = declared(MessagePattern)["operation"]
    axes = [
        {"operation": [one], "size": given or [_DEFAULT_SIZES[one]]}
        for one in values_of(request, operation)
    ]
    patterns = [values for each in axes for values in combinations(request, MessagePattern, each)]
    patience_s = parsed(request, _PATIENCE, grammar.parse_duration, 1 - 1e-9, 3600)
    ends, cpus = _ends()
    figures = parsed(request, _PAIRS, _figures, ends)
    for figure, values in itertools.product(figures, patterns):
        fields: dict[str, Any] = {
            "initiator": f"host:{','.join(source.host for source, _ in figure.pairs)}",
            "target": f"host:{','.join(destination.host for _, destination in figure.pairs)}",
            "sampling": sampling(request),
            "cpus": cpus[figure.pairs[0][0].rank],
            "pairs": [MessagePair(source=source, destination=to) for source, to in figure.pairs],
            "round": figure.round,
            "at_once": figure.at_once,
            "patience_s": patience_s,
            "pattern": values,
        }
        parts = [values["operation"], figure.label]
        parts += id_parts(MessagePattern, values, "operation")
        yield spec_of(request, MessageSpec, fields, parts)


def _ends() -> tuple[list[MessageEnd], dict[int, list[int]]]:
    """Return all ranks with their hosts' ports, and the CPUs that each is bound to."""
    ranks = mpi.ranks()
    if len(ranks.facts) < 2:
        raise UserError("messages take two ranks, and this is the only one: mpirun -n 2 or more")
    every = [one.rank for one in ranks.facts]
    looked = ranks.ask("message", {rank: {"do": "look"} for rank in every}, _LOOK_S)
    ends = [
        MessageEnd(
            host=one.name,
            rank=one.rank,
            machine=one.host,
            ports=[HostPort.model_validate(port) for port in looked[one.rank].get("ports", [])],
        )
        for one in ranks.facts
    ]
    return ends, {one.rank: one.cpus for one in ranks.facts}


def _figures(text: str, ends: Sequence[MessageEnd]) -> list[_Figure]:
    """Return what has a figure of its own, by the words of --pairs."""
    by_name = {end.host: end for end in ends}
    found: list[_Figure] = []
    for word in grammar.split_words(text):
        if word == "first":
            away = [end for end in ends[1:] if end.machine != ends[0].machine]
            found.append(_of_pair(ends[0], (away or ends[1:])[0]))
        elif word == "all":
            for number, pairs in enumerate(all_rounds(ends), 1):
                found += [_of_pair(one, other, number, len(pairs)) for one, other in pairs]
        elif word == "bisection":
            pairs = bisection(ends)
            found.append(_Figure("bisection", pairs, at_once=len(pairs)))
        else:
            one, other = named_pair(word, list(by_name))
            found.append(_of_pair(by_name[one], by_name[other]))
    return list({figure.label: figure for figure in found}.values())


def _of_pair(one: MessageEnd, other: MessageEnd, number: int = 0, at_once: int = 1) -> _Figure:
    alone = at_once == 1
    label = f"{one.host}-{other.host}" if alone else f"{one.host}-{other.host}-r{number}"
    return _Figure(label, [(one, other)], 0 if alone else number, at_once)


REQUEST = RequestForm(
    options=(
        _PAIRS,
        *options_of(MessagePattern),
        _PATIENCE,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
Ranks that a launcher of MPI programs started, one on each host, exchange messages:

  mpirun --map-by ppr:1:node tierscope message --pairs all
  srun --ntasks-per-node=1 tierscope message

Rank 0 has the plan and the run; the others answer it. Latency is half the round trip of a message;
bandwidth is that of messages of which a window is under way at once. Both are as the OSU
micro-benchmarks define them. The last message of each sample is compared with what was sent.""",
    examples=(
        "message",
        "message --pairs all --operation bandwidth --size 1m",
        "message --pairs bisection --operation bandwidth,both-ways",
        "message --size 8..1m*8 --json",
    ),
)
