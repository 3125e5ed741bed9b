"""The measurer of message: ranks exchange messages, and rank 0 joins their answers.

Measurements of one round are repeated at the same time: the repetition of one of them keeps what
the others' ranks said until their turn comes, which takes no time then. A pair whose rank is lost
is left out, and the others go on."""

import bisect
import itertools
from collections.abc import Generator, Mapping, Sequence
from statistics import fmean
from typing import cast

from tierscope.fleet import transport as mpi
from tierscope.fleet.transport import Message
from tierscope.kinds.message.served import TAGS
from tierscope.kinds.message.spec import (
    MessageEnd,
    MessageEvidence,
    MessagePair,
    Messages,
    MessageSpec,
)
from tierscope.kinds.plan import Spec
from tierscope.model.cause import Cause
from tierscope.model.event import (
    Column,
    Event,
    Evidence,
    Failed,
    Repetition,
    Series,
    Skipped,
    Started,
)
from tierscope.model.evidence import PortCounts

_SLOWEST_BYTES_PER_S = 1e7
"""Of a link that a window is given time for."""
_TAG_BLOCKS = 200
"""Exchanges whose tags differ: what is left of one that failed is taken for no other's."""
_CAUSES = {"silent": Cause.RANK, "mpi": Cause.RANK, "contents": Cause.VERIFICATION}
_FIGURES = {"latency": "latency", "bandwidth": "bandwidth", "both-ways": "bandwidth"}
Said = Mapping[int, Message]
"""Answers of ranks, by rank."""


class Measurer:
    """Repeats the measurements of messages; see ``runs.measurers.Measurer``."""

    def __init__(self) -> None:
        self.interrupted = False
        self._specs: dict[str, MessageSpec] = {}
        self._kept: dict[str, Event] = {}
        """Events of repetitions that ran at the same time as others, by measurement."""
        self._blocks = itertools.cycle(range(1, _TAG_BLOCKS))

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: cast("MessageSpec", spec) for spec in specs}

    def forget(self, name: str) -> None:
        """Do without a measurement from now on."""
        del self._specs[name]
        self._kept.pop(name, None)

    def repetition(
        self,
        name: str,
        seconds: float,
        fresh: bool = False,  # noqa: ARG002 - MPI has no pages of ours
    ) -> Generator[Event, None, None]:
        """Have the ranks of a measurement, and of all others of its round, exchange messages."""
        yield Started(id=name)
        if name not in self._kept:
            self._kept |= self._repetition(self._at_once(self._specs[name]), seconds)
        yield self._kept.pop(name)

    def interrupt(self) -> None:
        """Make no further repetition; the one under way is short, and comes to its end."""
        self.interrupted = True

    def close(self) -> None:
        """Nothing is held: ranks leave when the program ends."""

    def _at_once(self, spec: MessageSpec) -> list[MessageSpec]:
        """Return the measurements that are repeated with one."""
        if not spec.round:
            return [spec]
        return [
            other
            for other in self._specs.values()
            if (other.round, other.pattern) == (spec.round, spec.pattern)
        ]

    def _repetition(self, specs: Sequence[MessageSpec], seconds: float) -> dict[str, Event]:
        ranks = mpi.ranks()
        left = {spec.id: why for spec in specs if (why := _lost(spec, ranks.lost))}
        going = [spec for spec in specs if spec.id not in left]
        said: Said = {}
        if going:
            requests = self._requests(going, seconds)
            patience_s = max(one["patience_s"] for one in requests.values())
            said = ranks.ask("message", requests, seconds + 3 * patience_s)
        found: dict[str, Event] = {name: _failed(name, why) for name, why in left.items()}
        for spec in going:
            found[spec.id] = _event(spec, said, ranks.facts[0].mpi)
        return found

    def _requests(self, specs: Sequence[MessageSpec], seconds: float) -> dict[int, Message]:
        """Return what each rank is asked for."""
        pairs = [pair for spec in specs for pair in spec.pairs]
        pattern, rule = specs[0].pattern, specs[0].sampling
        window = 1 if pattern.operation == "latency" else 2 * pattern.window
        common = {
            "do": "exchange",
            "operation": pattern.operation,
            "size": pattern.size,
            "window": pattern.window,
            "seconds": seconds,
            "sample_s": rule.sample_s,
            "patience_s": specs[0].patience_s + window * pattern.size / _SLOWEST_BYTES_PER_S,
            "tag": TAGS * next(self._blocks),
            "sources": [pair.source.rank for pair in pairs],
        }
        facts = mpi.ranks().facts
        requests = {}
        for pair in pairs:
            for end, partner in _both(pair):
                hosts = [one.host for one in facts[: end.rank]]
                requests[end.rank] = {
                    **common,
                    "source": end is pair.source,
                    "partner": partner.rank,
                    "memory": _memory(pattern.memory, hosts.count(facts[end.rank].host)),
                }
        return requests


def _both(pair: MessagePair) -> list[tuple[MessageEnd, MessageEnd]]:
    return [(pair.source, pair.destination), (pair.destination, pair.source)]


def _memory(asked: str, place: int) -> str:
    """Return what a rank's messages lie in; ``place``: its number among those of its host."""
    return f"gpu:{place}" if asked == "gpu" else asked


def _lost(spec: MessageSpec, lost: Mapping[int, str]) -> str:
    """Say which rank of a measurement was lost before; empty where none was."""
    return next((lost[end.rank] for end in spec.ends if end.rank in lost), "")


def _failed(name: str, why: str, cause: Cause = Cause.RANK) -> Failed:
    return Failed(id=name, cause=cause, reason=why)


def _event(spec: MessageSpec, said: Said, library: str) -> Event:
    """Return what ranks said as a repetition, or why there is none."""
    for pair in spec.pairs:
        for end, _ in _both(pair):
            answer = said[end.rank]
            if "failed" in answer:
                why = f"{pair.name}: {answer['failed']}"
                if "cannot" in answer:
                    return Skipped(id=spec.id, cause=Cause.TOOL, reason=why)
                return _failed(spec.id, why, _CAUSES.get(answer.get("code", ""), Cause.RANK))
    samples = [said[pair.source.rank] for pair in spec.pairs]
    series = _series(spec, samples)
    if series is None:
        return _failed(spec.id, "the pairs have no sample in common; give them a longer --budget")
    return Repetition(
        id=spec.id,
        seconds=series.starts[-1] + series.durations[-1] - series.starts[0],
        fresh=False,
        interrupted=False,
        series=[series],
        evidence=_evidence(spec, said, library),
    )


def _series(spec: MessageSpec, samples: Sequence[Message]) -> Series | None:
    """Return the samples of a pair; of several, samples that they have in common.

    Each source has its own samples. They are divided at the same moments, about as far apart as the
    longest sample is, while all pairs were under way. A pair's value between two moments is the
    mean of its samples, weighted by the time that each has there. The headline is the sum of rates,
    or the mean of times; None where the pairs were never under way together."""
    metric = _FIGURES[spec.pattern.operation]
    if len(samples) == 1:
        (one,) = samples
        column = Column(metric=metric, values=one["values"])
        return Series(
            name="messages", starts=one["starts"], durations=one["durations"], columns=[column]
        )
    begin = max(one["starts"][0] for one in samples)
    end = min(one["starts"][-1] + one["durations"][-1] for one in samples)
    longest = max(duration for one in samples for duration in one["durations"])
    if end <= begin:
        return None
    count = max(1, int((end - begin) / longest))
    length = (end - begin) / count
    starts = [begin + number * length for number in range(count)]
    parts = [
        Column(
            metric=metric,
            part=pair.name,
            values=[_mean(one, start, start + length) for start in starts],
        )
        for pair, one in zip(spec.pairs, samples, strict=True)
    ]
    together = sum if metric == "bandwidth" else fmean
    every = zip(*(part.values for part in parts), strict=True)
    values = [
        None if None in found else together(v for v in found if v is not None) for found in every
    ]
    headline = Column(metric=metric, values=values)
    return Series(
        name="messages", starts=starts, durations=[length] * count, columns=[headline, *parts]
    )


def _mean(samples: Message, start: float, end: float) -> float | None:
    """Return the mean of a pair's samples between two moments; None where it had none."""
    first = max(0, bisect.bisect_right(samples["starts"], start) - 1)
    shares = [
        (min(end, at + duration) - max(start, at), value)
        for at, duration, value in itertools.islice(
            zip(samples["starts"], samples["durations"], samples["values"], strict=True),
            first,
            None,
        )
        if at < end
    ]
    shares = [(share, value) for share, value in shares if share > 0]
    whole = sum(share for share, _ in shares)
    return sum(share * value for share, value in shares) / whole if whole else None


def _evidence(spec: MessageSpec, said: Said, library: str) -> Evidence:
    messages = sum(said[end.rank]["messages"] for end in spec.ends)
    first_of = {end.machine: end for end in reversed(spec.ends)}
    ports = [
        PortCounts.model_validate({**port, "name": f"{end.machine} {port['name']}"})
        for end in first_of.values()
        for port in said[end.rank]["ports"]
    ]
    carried = Messages(
        mpi=library,
        count=messages,
        bytes=messages * spec.pattern.size,
        wire_bytes=sum(port.sent_bytes for port in ports),
    )
    evidence = Evidence(
        verified="the last message of each sample, byte by byte", ports=ports or None
    )
    return evidence.with_own(MessageEvidence(messages=carried))
