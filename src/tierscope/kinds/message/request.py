"""Requests for message."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.kinds.message.rounds import all_rounds, bisection, named_pair
from tierscope.kinds.message.spec import (
    MAX_SIZE,
    MAX_WINDOW,
    OPERATIONS,
    HostPort,
    MessageEnd,
    MessagePair,
    MessagePattern,
    MessageSpec,
)
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.mpi import ranks as mpi
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, choices, identity, sampling
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

_LOOK_S = 60.0
"""That ranks get to say which ports their hosts have."""
_DEFAULT_SIZES = {"latency": 8, "bandwidth": 1 << 20, "both-ways": 1 << 20}
_DEFAULT_OPERATIONS = ["latency", "bandwidth"]
_WORDS = ("first", "all", "bisection")
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
    operations = choices(request, "operation", OPERATIONS) or _DEFAULT_OPERATIONS
    sizes = checked(request, "size", _sizes, request.options.get("size"))
    window = checked(request, "window", _window, request.options.get("window", "64"))
    memory = checked(request, "memory", _memory, request.options.get("memory", "host"))
    rule = sampling(request)
    ends, cpus = _ends()
    figures = checked(request, "pairs", _figures, request.options.get("pairs", "first"), ends)
    for figure, operation in itertools.product(figures, operations):
        for size in sizes or [_DEFAULT_SIZES[operation]]:
            pattern = MessagePattern.model_validate(
                {"operation": operation, "size": size, "window": window, "memory": memory}
            )
            yield _spec(request, figure, cpus, rule, pattern)


def _spec(
    request: Request,
    figure: _Figure,
    cpus: dict[int, list[int]],
    rule: dict[str, float],
    pattern: MessagePattern,
) -> MessageSpec:
    size = grammar.format_size(pattern.size)
    held = [] if pattern.memory == "host" else [pattern.memory]
    parts = [request.name or "message", pattern.operation, figure.label, size, *held]
    fields: dict[str, Any] = {
        "id": identity(parts),
        "initiator": f"host:{','.join(source.host for source, _ in figure.pairs)}",
        "target": f"host:{','.join(destination.host for _, destination in figure.pairs)}",
        "sampling": rule,
        "cpus": cpus[figure.pairs[0][0].rank],
        "pairs": [MessagePair(source=source, destination=to) for source, to in figure.pairs],
        "round": figure.round,
        "at_once": figure.at_once,
        "patience_s": checked(
            request,
            "patience",
            grammar.parse_duration,
            request.options.get("patience", "10s"),
            1 - 1e-9,
            3600,
        ),
        "pattern": pattern,
    }
    return MessageSpec.model_validate(fields)


def _ends() -> tuple[list[MessageEnd], dict[int, list[int]]]:
    """Return all ranks with their hosts' ports, and the CPUs that each is bound to."""
    ranks = mpi.ranks()
    if len(ranks.facts) < 2:
        raise UserError("messages take two ranks, and this is the only one: mpirun -n 2 or more")
    every = [one.rank for one in ranks.facts]
    ranks.ask("message", {rank: {"do": "look"} for rank in every})
    looked = ranks.answers(every, _LOOK_S)
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


def _sizes(text: str | None) -> list[int]:
    found = grammar.expand_sizes(text) if text else []
    wrong = [size for size in found if not 1 <= size <= MAX_SIZE]
    if wrong:
        raise UserError(f"a message of {wrong[0]} bytes; from 1 to {MAX_SIZE} are allowed")
    return found


def _window(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_WINDOW:
        raise UserError(f"'{text}' is not a number of messages from 1 to {MAX_WINDOW}")
    return int(text)


def _memory(text: str) -> str:
    name, colon, number = text.partition(":")
    if text in ("host", "gpu") or (name == "gpu" and colon and number.isdecimal()):
        return text
    raise UserError(f"'{text}' is not host, gpu or gpu:N")


REQUEST = RequestForm(
    options=(
        Option(
            "pairs",
            "LIST",
            "first (rank 0 and the first other host), all (in rounds in which each host has one "
            "partner), bisection (one half of the hosts with the other, at once), or A-B",
            "first",
        ),
        Option("operation", "LIST", ", ".join(OPERATIONS), "latency,bandwidth"),
        options.SIZE.but(
            help="Bytes of a message, as in 8..1m*8", default="8 of latency, 1m of bandwidth"
        ),
        Option("window", "COUNT", "Messages that are under way at once, of bandwidth", "64"),
        Option(
            "memory",
            "WHERE",
            "Messages lie in host memory, on gpu:N of each host, or on gpu (the first one of a "
            "host's first rank, and so on), which takes an MPI that sends from GPUs",
            "host",
        ),
        Option("patience", "TIME", "That a rank gets to answer until it is given up", "10s"),
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
