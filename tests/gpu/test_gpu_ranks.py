"""Copies among MPI ranks' GPUs: which GPU a rank has, its repetitions, what is made of all of
them."""

from collections.abc import Iterator
from typing import Any

import pytest
from gpu_machine import machine, repetition_of

from tierscope.fleet.transport import RankFacts, World
from tierscope.kinds.gpu_ranks import measurer, served, spec
from tierscope.kinds.gpu_ranks.measurer import Measurer, joined
from tierscope.kinds.gpu_ranks.spec import (
    KIND,
    REQUEST,
    GpuRanksSpec,
    RankGpu,
    rank_gpus,
    rank_transfer,
    ranks_spec,
)
from tierscope.machine.paths import MachinePaths
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import Event, Exchange, Failed, Repetition, Skipped, Started
from tierscope.plans.request import Request

Message = dict[str, Any]


def every(hosts: str = "aa") -> list[RankGpu]:
    """A GPU for each letter, which names its host."""
    return [
        RankGpu(
            rank=rank, host=host, gpu=hosts[:rank].count(host), name="GPU", uuid=f"{rank}", cpus=[0]
        )
        for rank, host in enumerate(hosts)
    ]


def spec_of(hosts: str = "aa") -> GpuRanksSpec:
    found = every(hosts)
    return ranks_spec("r", found, [rank_transfer(found, 0, 1, "ce", writes=False)])


# What each rank has


class FakeRanks:
    """Stands in for MPI's ranks, and answers what a test wants."""

    def __init__(self, answers: dict[int, Message], hosts: str = "aa") -> None:
        self.facts = [
            RankFacts(rank=rank, host=host, name=host, cpus=[0], mpi="")
            for rank, host in enumerate(hosts)
        ]
        self.asked: list[dict[int, Message]] = []
        self._answers = answers

    def ask(self, kind: str, requests: dict[int, Message], *_: object) -> dict[int, Message]:
        assert kind == KIND
        self.asked.append(requests)
        return {rank: self._answers[rank] for rank in requests}


def has(gpu: int, uuid: str) -> Message:
    return {"gpu": gpu, "name": "GPU", "uuid": uuid, "cpus": [0]}


def launched(monkeypatch: pytest.MonkeyPatch, found: FakeRanks) -> FakeRanks:
    monkeypatch.setattr(spec, "launched_rank", lambda: 0)
    monkeypatch.setattr("tierscope.fleet.transport.ranks", lambda: found)
    monkeypatch.setattr(measurer, "ranks", lambda: found)
    return found


def test_ranks_are_numbered_within_their_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {0: has(0, "x"), 1: has(0, "y"), 2: has(1, "z")}
    found = launched(monkeypatch, FakeRanks(answers, hosts="aba"))
    assert [(one.rank, one.host, one.gpu) for one in rank_gpus()] == [
        (0, "a", 0), (1, "b", 0), (2, "a", 1),
    ]  # fmt: skip
    (asked,) = found.asked
    assert [request["number"] for request in asked.values()] == [0, 0, 1]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({0: has(0, "x"), 1: has(0, "x")}, "ranks 0 and 1 have the same GPU, x"),
        ({0: has(0, "x"), 1: {"failed": "no driver"}}, r"rank 1 \(a\): no driver"),
        ({0: has(0, "x")}, "there is one"),
    ],
)
def test_ranks_without_a_gpu_each_are_refused(
    monkeypatch: pytest.MonkeyPatch, answers: dict[int, Message], said: str
) -> None:
    launched(monkeypatch, FakeRanks(answers, hosts="a" * len(answers)))
    with pytest.raises(UserError, match=said):
        rank_gpus()


def test_without_a_launcher_it_is_said_how_to_start_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "launched_rank", lambda: None)
    with pytest.raises(UserError, match="mpirun -n 2 tierscope"):
        rank_gpus()


# Requests


def expanded(monkeypatch: pytest.MonkeyPatch, hosts: str, **options: str) -> list[GpuRanksSpec]:
    monkeypatch.setattr("tierscope.kinds.gpu_ranks.spec.rank_gpus", lambda: every(hosts))
    return list(REQUEST.expand(Request(kind=KIND, options=options), machine(), False))


def test_all_ordered_pairs_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = expanded(monkeypatch, "aab")
    pairs = [(spec.transfers[0].source, spec.transfers[0].destination) for spec in specs]
    assert pairs == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert {spec.transfers[0].rank - spec.transfers[0].destination for spec in specs} == {0}
    assert (specs[1].initiator, specs[1].target) == ("gpu:0@a", "gpu:0@b")


def test_chosen_pairs_both_ways_written(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"pairs": "0-1", "side": "write", "both-ways": "yes", "size": "1m"}
    (spec,) = expanded(monkeypatch, "aa", **options)
    assert [(one.source, one.destination, one.rank) for one in spec.transfers] == [
        (0, 1, 0), (1, 0, 1),
    ]  # fmt: skip
    assert (spec.initiator, spec.target, spec.pattern.size) == ("gpu:0", "gpu:1", 1 << 20)


@pytest.mark.parametrize("pairs", ["0-0", "0-2", "x", "0", "-1-0"])
def test_what_is_no_pair_is_refused(monkeypatch: pytest.MonkeyPatch, pairs: str) -> None:
    with pytest.raises(UserError, match="is not a pair of two ranks from 0 to 1"):
        expanded(monkeypatch, "aa", pairs=pairs)


def test_links_of_one_host_limit_and_those_of_others_are_unknown() -> None:
    paths = MachinePaths(machine(gpus=2))
    limit = spec_of("aa").limit(paths)
    assert limit is not None
    assert limit.value > 0
    assert spec_of("ab").limit(paths) is None


# A rank's repetitions


class FakeEngine:
    """Says one thing to the others, and ends as it is told."""

    def __init__(self, ended: Event) -> None:
        self.specs: list[GpuRanksSpec] = []
        self.told: list[Message] = []
        self.forgotten: list[str] = []
        self._ended = ended

    def plan(self, specs: list[GpuRanksSpec]) -> None:
        self.specs += specs

    def repetition(self, name: str, _seconds: float, _fresh: bool) -> Iterator[Event]:
        yield Started(id=name)
        yield Exchange(id=name, said={"size": 1})
        yield self._ended

    def tell(self, answer: Message) -> None:
        self.told.append(answer)

    def forget(self, name: str) -> None:
        self.forgotten.append(name)


class FakeRelay:
    """Answers an exchange as the class is told."""

    answer: Message
    ends: list[str]

    def __init__(self, *_: object) -> None:
        pass

    def exchange(self, said: Message) -> Message:
        assert said == {"size": 1}
        return self.answer

    def end(self, why: str) -> None:
        self.ends.append(why)


def made_repetition(
    monkeypatch: pytest.MonkeyPatch, ended: Event, answer: Message
) -> tuple[Message, FakeEngine]:
    monkeypatch.setattr(FakeRelay, "answer", answer, raising=False)
    monkeypatch.setattr(FakeRelay, "ends", [], raising=False)
    monkeypatch.setattr(served, "Relay", FakeRelay)
    engine = FakeEngine(ended)
    world = World(None, None, 1, 2, {KIND: served._Rank(machine(), engine, [3])})  # type: ignore[arg-type]
    spec = spec_of()
    request = {
        "do": "repetition",
        "repetition": 1,
        "spec": spec.model_dump_json(),
        "seconds": 0.1,
        "fresh": False,
    }
    reply = served.serve(request, world)
    assert served.serve(request, world) == reply
    assert len(engine.specs) == 1, "planned once"
    assert served.serve({"do": "forget", "name": spec.id}, world) == {}
    assert engine.forgotten == [spec.id]
    return reply, engine


def test_a_rank_carries_its_engine_s_exchange_and_returns_its_repetition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = {"exchanged": [{"size": 1}, {"size": 1}]}
    reply, engine = made_repetition(monkeypatch, repetition_of(spec_of(), 1e9), answer)
    assert engine.told == [answer, answer]
    (spec,) = engine.specs
    assert (spec.rank, spec.cpus) == (1, [3])
    assert '"event":"repetition"' in reply["event"]
    assert not reply["lost"]
    assert FakeRelay.ends == ["its engine ended its repetition"] * 2


def test_a_rank_whose_engine_fails_says_why_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Failed(id="r", cause=Cause.GPU, reason="out of memory")
    reply, _ = made_repetition(monkeypatch, failed, {"lost": "rank 0: gone"})
    assert "out of memory" in reply["event"]
    assert reply["lost"]
    assert FakeRelay.ends == ["out of memory"] * 2


@pytest.mark.parametrize(("count", "number", "index"), [(1, 3, 0), (4, 3, 3)])
def test_a_rank_has_the_gpu_of_its_number_or_the_only_one_it_sees(
    count: int, number: int, index: int
) -> None:
    assert served._own_gpu(machine(gpus=count).gpus, number).index == index


def test_more_ranks_than_gpus_are_refused() -> None:
    with pytest.raises(UserError, match="rank 3 of its host, which has 2 GPUs"):
        served._own_gpu(machine(gpus=2).gpus, 2)


# All ranks' repetitions as one


def said(event: Event, lost: bool = False) -> Message:
    return {"event": event.model_dump_json(exclude_none=True), "lost": lost}


def test_the_leader_s_repetition_counts_with_the_gpus_of_all() -> None:
    spec = spec_of("ab")
    assert spec.leader() == 1
    one = joined(spec, {0: said(repetition_of(spec, 1e9)), 1: said(repetition_of(spec, 2e9))})
    assert isinstance(one, Repetition)
    assert one.series[0].columns[0].values[1] == 2e9
    assert one.evidence.gpus is not None
    assert len(one.evidence.gpus) == 2


def test_who_went_wrong_by_itself_is_named_and_not_who_was_told() -> None:
    spec = spec_of("ab")
    told = Failed(id="r", cause=Cause.RANK, reason="rank 1: out of memory")
    wrong = Failed(id="r", cause=Cause.GPU, reason="out of memory")
    one = joined(spec, {0: said(told, lost=True), 1: said(wrong)})
    assert one == wrong.model_copy(update={"reason": "rank 1 (b): out of memory"})


def test_what_cannot_be_had_is_skipped() -> None:
    spec = spec_of()
    skipped = Skipped(id="r", cause=Cause.GPU, reason="no fabric")
    one = joined(spec, {0: said(skipped), 1: said(skipped)})
    assert isinstance(one, Skipped)
    assert one.reason == "rank 0 (a): no fabric"


def test_a_lost_rank_fails_the_measurement_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = spec_of("aa")
    answers = {0: said(repetition_of(spec, 1e9)), 1: {"failed": "rank 1 gave no answer within 5 s"}}
    found = launched(monkeypatch, FakeRanks(answers))
    measuring = Measurer()
    measuring.plan([spec])
    started, ended = measuring.repetition(spec.id, 0.1)
    assert isinstance(started, Started)
    assert isinstance(ended, Failed)
    assert ended.cause is Cause.RANK
    assert "rank 1 gave no answer" in ended.reason
    assert {rank: asked["repetition"] for rank, asked in found.asked[0].items()} == {0: 1, 1: 1}
