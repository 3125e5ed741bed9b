"""Measurements of ``tierscope storage --kv-cache``: a model's cache on every path there is.

The prefix of a request is fetched from objects in host memory, CXL memory and files into the pool
that the model computes with, and stored there. What a fetch takes is set against computing the
prefix again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.kinds.kv_cache.show import TIME, VIEW, time_text
from tierscope.kinds.kv_cache.spec import KvCacheSpec
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.machine.settings import thp_available
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.gpu import host_nodes
from tierscope.plans.machine import cpu_nodes
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.figures import size_text
from tierscope.report.style import new_table, note, title
from tierscope.suites.kv_models import KvModel

BLOCK_TOKENS = 16
"""vLLM's block."""
OBJECT_TOKENS = 256
"""LMCache's chunk."""
PREFIXES = (1 << 10, 8 << 10, 32 << 10)
_ROOM_SHARE = 4
"""Without a length asked for, pool and objects together take at most this part of memory."""
_SAMPLING = {"budget": "1.5", "precision": "2%"}
_GPU_METHODS = "kernel,batch,copy-engine"


@dataclass(frozen=True)
class KvAsked:
    """What is asked for."""

    model: KvModel
    directories: tuple[str, ...] = ()
    initiator: str = ""
    """Holder of the pool; empty: the first GPU, else the first node with CPUs."""
    prefixes: tuple[int, ...] = ()
    """Tokens; empty: the usual ones that memory has room for."""
    block_tokens: int = BLOCK_TOKENS
    object_tokens: int = OBJECT_TOKENS
    number_bytes: int = 2
    prefill_rate: float | None = None
    """Tokens/s that the model computes."""


@dataclass(frozen=True)
class KvTour:
    """The measurements, and what they are of."""

    plan: Plan
    asked: KvAsked
    copies: frozenset[str] = frozenset()
    """Ids of the copies of one large piece, which the transfers of a GPU are set against."""

    def transfers(self, run: Run) -> list[Measurement]:
        """Return the transfers among a run's measurements."""
        return [m for m in run.measurements if m.id not in self.copies]

    def tokens_of(self, m: Measurement) -> int:
        """Return the tokens that a transfer moves."""
        model = self.asked.model
        pieces = m.pattern["pieces"] * m.pattern["objects"]
        return int(pieces // model.pieces_of_block * self.asked.block_tokens)


def kv_tour(topology: Topology, asked: KvAsked) -> KvTour:
    """Return the measurements; raises UserError where they cannot be made."""
    piece = asked.model.piece_bytes(asked.block_tokens, asked.number_bytes)
    if piece % 16:
        raise UserError(
            f"--block-tokens: {asked.block_tokens} tokens make pieces of {piece} bytes; a piece "
            "has to be a multiple of 16 bytes, so ask for more tokens"
        )
    specs = expand(list(_requests(topology, asked, piece)), topology, thp_available()).measurements
    if not topology.gpus and not asked.initiator:
        specs = [*specs, _without_gpu(specs)]
    large = {"large": bool(asked.prefixes)}
    copies = list(_plain_copies(topology, asked))
    plain = expand(copies, topology, thp_available()).measurements if copies else []
    transfers = [one.model_copy(update=large) for one in specs]
    plan = Plan(version=PLAN_VERSION, measurements=[*plain, *transfers])
    return KvTour(plan, asked, frozenset(one.id for one in plain))


def _pool(topology: Topology, asked: KvAsked) -> str:
    """Return the endpoint that holds the pool."""
    if asked.initiator:
        return asked.initiator
    gpus = topology.gpus
    return f"gpu:{gpus[0].index}" if gpus else f"node:{cpu_nodes(topology)[0].number}"


def _plain_copies(topology: Topology, asked: KvAsked) -> Iterator[Request]:
    """Yield copies of one large piece in both directions, which a GPU's figures are set against."""
    pool = _pool(topology, asked)
    if not pool.startswith("gpu:"):
        return
    nodes = ",".join(f"node:{number}" for number in host_nodes(topology))
    for ends in ({"from": nodes, "to": pool}, {"from": pool, "to": nodes}):
        yield Request(kind="gpu-copy", options=ends)


def _requests(topology: Topology, asked: KvAsked, piece: int) -> Iterator[Request]:
    """Yield a request for each length of a prefix and each way; stores of the longest only."""
    pool = _pool(topology, asked)
    on_gpu = pool.startswith("gpu:")
    nodes = [f"node:{number}" for number in host_nodes(topology)]
    targets = ",".join([*nodes, *(f"file:{path}" for path in asked.directories)])
    lengths = _lengths(topology, asked)
    for tokens in lengths:
        of_object = min(tokens, asked.object_tokens)
        shared = {
            "from": pool,
            "piece": str(piece),
            "pieces": str(of_object // asked.block_tokens * asked.model.pieces_of_block),
            "objects": str(tokens // of_object),
            "op": "fetch,store" if tokens == max(lengths) else "fetch",
            **_SAMPLING,
        }
        of_gpu = {"method": _GPU_METHODS} if on_gpu else {}
        yield Request(kind="kv-cache", options={**shared, "to": ",".join(nodes), **of_gpu})
        if asked.directories:
            backends = {"backend": "io_uring,cufile"} if on_gpu else {}
            files = targets.removeprefix(",".join(nodes) + ",")
            yield Request(kind="kv-cache", options={**shared, "to": files, **backends})


def _lengths(topology: Topology, asked: KvAsked) -> tuple[int, ...]:
    """Return the lengths asked for, else those that memory has room for, the shortest at least."""
    for tokens in asked.prefixes:
        unit = asked.object_tokens if tokens >= asked.object_tokens else asked.block_tokens
        if tokens % unit:
            raise UserError(
                f"--prefix: {tokens} tokens are not a multiple of {unit}, the tokens of "
                f"{'an object' if unit == asked.object_tokens else 'a block'}"
            )
    if asked.prefixes:
        return asked.prefixes
    free = [node.free_bytes for node in topology.nodes if node.free_bytes is not None and node.cpus]
    gpu = [one.memory_bytes for one in topology.gpus if one.memory_bytes]
    left = [*free, *gpu, *([topology.memory_left_bytes] if topology.memory_left_bytes else [])]
    room = min(left, default=1 << 62) // _ROOM_SHARE
    token = asked.model.token_bytes(asked.number_bytes)
    unit = max(asked.object_tokens, asked.block_tokens)
    usual = [-(-tokens // unit) * unit for tokens in PREFIXES]
    fitting = [tokens for tokens in usual if 2 * tokens * token <= room]
    return tuple(dict.fromkeys(fitting or [unit]))


def _without_gpu(specs: Sequence[Any]) -> KvCacheSpec:
    """Return a path of a GPU that is not there, so that results say why it was not measured."""
    first = next(one for one in specs if one.directory is None)
    fields = first.model_dump()
    pattern = {**fields["pattern"], "method": "kernel"}
    pool = {"memory": "device", "gpu": 0}
    named = {"id": "kv-cache.gpu0", "initiator": "gpu:0", "pool": pool, "pattern": pattern}
    return KvCacheSpec.model_validate({**fields, **named})


# What it says


@dataclass(frozen=True)
class BreakEven:
    """From which length on fetching takes less time than computing again."""

    pool: str
    objects: str
    by: str
    rate: float
    """Tokens/s of a prefill that takes as long as the longest prefix measured."""
    tokens: int | None = None
    """At the rate given; 0: from the first token on, None: never, or no rate was given."""


def _by(m: Measurement) -> str:
    """Return how pieces move, and what reads or writes objects in a file."""
    backend = m.pattern.get("backend")
    return f"{backend}, {m.pattern['method']}" if backend else str(m.pattern["method"])


def seconds_of(m: Measurement) -> float | None:
    """Return the time until the last piece is in its place."""
    found = figures.figure_of(m, TIME)
    return None if found is None else found * 1e-9


def break_evens(run: Run, tour: KvTour) -> list[BreakEven]:
    """Return a row for each way of fetching that was measured."""
    ways: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for m in tour.transfers(run):
        seconds = seconds_of(m)
        if seconds and m.pattern["operation"] == "fetch":
            ways.setdefault((m.initiator, m.target, _by(m)), []).append(
                (tour.tokens_of(m), seconds)
            )
    return [
        BreakEven(*way, *_crossing(sorted(points), tour.asked.prefill_rate))
        for way, points in ways.items()
    ]


def _crossing(
    points: Sequence[tuple[int, float]], prefill_rate: float | None
) -> tuple[float, int | None]:
    """Return the rate that breaks even at the longest prefix, and the length that breaks even at
    the rate given: a fetch takes ``fixed`` seconds and ``each`` second a token, by the shortest and
    the longest prefix measured."""
    (few, first), (many, last) = points[0], points[-1]
    rate = many / last
    if prefill_rate is None:
        return rate, None
    each = max(0.0, (last - first) / (many - few)) if many > few else last / many
    fixed = max(0.0, last - many * each)
    gain = 1 / prefill_rate - each
    return rate, None if gain <= 0 else int(fixed / gain)


def kv_json(run: Run, tour: KvTour) -> dict[str, Any]:
    """Return what the run's JSON has beside its results."""
    asked = tour.asked
    return {
        "kv_cache": {
            "model": asked.model.name,
            "token_bytes": asked.model.token_bytes(asked.number_bytes),
            "piece_bytes": asked.model.piece_bytes(asked.block_tokens, asked.number_bytes),
            "prefill_rate": asked.prefill_rate,
            "transfers": [
                {
                    "id": m.id,
                    "tokens": tour.tokens_of(m),
                    "seconds": seconds_of(m),
                    "status": m.status,
                }
                for m in tour.transfers(run)
            ],
            "break_even": [
                {
                    "pool": one.pool,
                    "objects": one.objects,
                    "by": one.by,
                    "prefill_rate": one.rate,
                    "tokens": one.tokens,
                }
                for one in break_evens(run, tour)
            ],
        }
    }


def show_kv(console: Console, run: Run, tour: KvTour) -> None:
    """Print the table, what breaks even, and what evidence says."""
    asked = tour.asked
    piece = asked.model.piece_bytes(asked.block_tokens, asked.number_bytes)
    title(
        console,
        f"Cache of {asked.model.name}: {size_text(asked.model.token_bytes(asked.number_bytes))} a "
        f"token, pieces of {size_text(piece)}",
    )
    _show_table(console, run, tour)
    measured = [m for m in tour.transfers(run) if m.status == "measured"]
    for line in [*_of_plain_copies(run, tour), *_compared(run, tour), *VIEW.notes(measured, run)]:
        console.print(Text(line))
    note(
        console,
        "time to data: from the call until the last piece is in the pool, without the search for "
        "the prefix and without opening files",
    )


def _show_table(console: Console, run: Run, tour: KvTour) -> None:
    headings = ("pool", "objects", "by", "", "tokens", "GB/s", "of limit", "time to data",
                "breaks even, tokens/s")  # fmt: skip
    table = new_table(*headings, words=("pool", "objects", "by", ""))
    for m in tour.transfers(run):
        tokens, seconds = tour.tokens_of(m), seconds_of(m)
        ok = m.status == "measured"
        table.add_row(
            m.initiator,
            m.target,
            _by(m),
            str(m.pattern["operation"]),
            f"{tokens:,}".replace(",", " "),
            figures.with_interval(m, 1e9) if ok else m.status,
            figures.of_limit(m) if ok else "",
            time_text(m),
            figures.significant(tokens / seconds, 3)
            if seconds and m.pattern["operation"] == "fetch"
            else "",
        )
    console.print(table)


def _rate_text(rate: float) -> str:
    return f"{figures.significant(rate, 3)} tokens/s"


def _of_plain_copies(run: Run, tour: KvTour) -> Iterator[str]:
    """Set the ways of the longest prefix against a copy of one large piece, and each other."""
    for plain in run.measurements:
        if plain.id not in tour.copies or not plain.estimate:
            continue
        fetched = plain.target.startswith("gpu:")
        ends = (plain.target, plain.initiator) if fetched else (plain.initiator, plain.target)
        ways = [
            m
            for m in tour.transfers(run)
            if m.estimate
            and (m.initiator, m.target) == ends
            and (m.pattern["operation"] == "fetch") == fetched
        ]
        longest = max((tour.tokens_of(m) for m in ways), default=0)
        said = [
            f"{_by(m)} {figures.text(m, 1e9, 'GB/s')} ({m.estimate / plain.estimate:.0%})"
            for m in sorted(ways, key=lambda m: -(m.estimate or 0.0))
            if tour.tokens_of(m) == longest and m.estimate
        ]
        if said:
            yield (
                f"{plain.initiator} to {plain.target}, {longest} tokens: {', '.join(said)} of a "
                f"plain copy's {figures.text(plain, 1e9, 'GB/s')}."
            )


def _compared(run: Run, tour: KvTour) -> Iterator[str]:
    """Say which fetches beat computing again."""
    rows = break_evens(run, tour)
    rate = tour.asked.prefill_rate
    if not rows:
        return
    if rate is None:
        best = max(rows, key=lambda row: row.rate)
        yield (
            f"Fetching beats computing again where the prefill is slower than the rate at which it "
            f"breaks even: {_rate_text(best.rate)} from {best.objects} by {best.by}. With "
            "--prefill-rate the length of the prefix is given from which on it does."
        )
        return
    for row in rows:
        way = f"{row.objects} by {row.by}"
        if row.tokens is None:
            yield f"{way}: computing {_rate_text(rate)} beats fetching at any length measured."
        elif row.tokens < tour.asked.block_tokens:
            yield f"{way}: fetching beats computing {_rate_text(rate)} from the first block on."
        else:
            yield f"{way}: fetching beats computing {_rate_text(rate)} from {row.tokens} tokens on."
