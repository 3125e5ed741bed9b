"""A simulator of links, for tests of the solver: machines, and what threads get of them.

It shares nothing with the solver. ``Machine.bandwidth`` follows one round of pages: each page takes
its time on every channel of its way and takes a thread for a while; the channel that is busy
longest sets the round's time. ``served`` lets threads go page by page through queues, event by
event.
"""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

PAGE = 4096.0


@dataclass(frozen=True)
class Channel:
    """What carries data: a link or a memory; bytes/s, None where a direction has no rate."""

    name: str
    read: float | None = None
    write: float | None = None
    both: float | None = None
    lost: float = 0.0
    """Share of the rate that is lost for each waiting thread, down to a half."""

    def seconds(self, writes: float, size: float) -> float:
        """How long the busiest direction works on so many bytes while nobody waits."""
        each = 1 / self.both if self.both else 0.0
        if self.read:
            each = max(each, (1 - writes) / self.read)
        if self.write:
            each = max(each, writes / self.write)
        return each * size

    def slower(self, waiting: float) -> float:
        """The factor of that time while so many threads wait."""
        return 1 / max(0.5, 1 - self.lost * waiting)


@dataclass(frozen=True)
class Machine:
    """Initiators, each with threads, and nodes behind channels."""

    threads: tuple[int, ...]
    ways: dict[tuple[int, int], tuple[Channel, ...]]
    """Of each initiator and node, what the data goes through."""
    seconds: dict[tuple[int, int], float]
    """What a byte takes a thread on the way, apart from waiting."""
    nodes: int
    channels: tuple[Channel, ...] = field(default=())

    def bandwidth(self, weights: list[float], writes: float) -> float:
        """bytes/s of all threads, which all go at one pace; weights may be fractions."""
        demand = [n / sum(self.threads) for n in self.threads]
        load = {channel.name: 0.0 for channel in self.channels}
        held = [0.0] * len(demand)  # thread-seconds of a byte of bandwidth
        for initiator, part in enumerate(demand):
            for node, weight in enumerate(weights):
                size = part * weight / sum(weights)
                for channel in self.ways[initiator, node]:
                    load[channel.name] += size
                held[initiator] += size * self.seconds[initiator, node]
        by_threads = max(busy / n for busy, n in zip(held, self.threads, strict=True))
        busiest = max(self.channels, key=lambda one: one.seconds(writes, load[one.name]))
        busy = busiest.seconds(writes, load[busiest.name])
        if busy <= by_threads or not busiest.lost:
            return 1 / max(busy, by_threads)
        # The threads that hold no page wait at the busiest channel, which slows down by that.
        low, high = 0.0, 1 / busy
        for _ in range(40):
            rate = (low + high) / 2
            waiting = max(0.0, sum(self.threads) - rate * sum(held))
            fits = rate * busy * busiest.slower(waiting) <= 1
            low, high = (rate, high) if fits else (low, rate)
        return low

    def served(self, weights: list[int], writes: float, pages: int, seed: int = 1) -> float:
        """bytes/s of threads of one initiator that take page after page through queues."""
        turn = [node for node, weight in enumerate(weights) for _ in range(weight)]
        rand = random.Random(seed)
        free = {channel.name: 0.0 for channel in self.channels}
        # Each thread has a place in its own round of pages.
        events = [(0.0, thread, rand.randrange(len(turn)), 0, 0.0) for thread in
                  range(self.threads[0])]  # fmt: skip
        heapq.heapify(events)
        done = 0
        warm = pages // 4
        began = 0.0
        while done < pages:
            now, thread, place, stage, since = heapq.heappop(events)
            node = turn[place % len(turn)]
            way = self.ways[0, node]
            if stage == 0:
                since = now
            if stage < len(way):
                service = way[stage].seconds(writes, PAGE)
                start = max(now, free[way[stage].name])
                free[way[stage].name] = start + service
                heapq.heappush(events, (start + service, thread, place, stage + 1, since))
                continue
            own = self.seconds[0, node] * PAGE
            served = sum(channel.seconds(writes, PAGE) for channel in way)
            done += 1
            began = now if done == warm else began
            heapq.heappush(events, (now + max(0.0, own - served), thread, place + 1, 0, 0.0))
        return (pages - warm) * PAGE / (now - began)


def best(
    machine: Machine, writes: float, seed: int, known: Sequence[float] = ()
) -> tuple[float, list[float]]:
    """The most bandwidth that a search over shares finds, and where: restarts, then small moves.

    ``known`` are shares that it searches around, too.
    """
    rand = random.Random(seed)
    nodes = range(machine.nodes)
    alone = [machine.bandwidth([float(n == one) for n in nodes], writes) for one in nodes]
    starts = [[1.0] * machine.nodes, alone]
    starts += [[float(n == one) for n in nodes] for one in nodes]
    starts += [[rand.expovariate(1.0) * alone[n] for n in nodes] for _ in range(24)]
    ranked = sorted(starts, key=lambda one: -machine.bandwidth(one, writes))[:2]
    begin = [*ranked, list(known)] if known else ranked
    return max(_climb(machine, writes, start, rand) for start in begin)


def _climb(
    machine: Machine, writes: float, start: list[float], rand: random.Random
) -> tuple[float, list[float]]:
    """Random moves in all directions, smaller as they fail: ridges have no axis."""
    at = [share / sum(start) for share in start]
    value, step, failed = machine.bandwidth(at, writes), 0.3, 0
    while step > 1e-3:
        moved = [max(0.0, share + step * rand.gauss(0, 1) / machine.nodes) for share in at]
        found = machine.bandwidth(moved, writes) if sum(moved) > 0 else 0.0
        if found > value:
            at, value, failed = [share / sum(moved) for share in moved], found, 0
            continue
        failed += 1
        if failed > 4 * machine.nodes:
            step, failed = step / 2, 0
    return value, at


def random_machine(rand: random.Random) -> tuple[Machine, float]:
    """A machine of 2 to 8 nodes on one or two sockets, and a share of writes.

    DRAM of each socket, its directions in turn; CXL and other nodes behind links of two directions,
    some behind a switch that two share; an interconnect of sockets; threads that may be too few.
    """
    nodes = rand.randint(2, 8)
    sockets = rand.randint(1, 2) if nodes > 2 else 1
    channels: list[Channel] = []

    def add(channel: Channel) -> Channel:
        channels.append(channel)
        return channel

    across = [add(Channel(f"upi{way}", both=rand.uniform(30e9, 120e9))) for way in range(2)]
    switch = add(Channel("switch", rand.uniform(20e9, 60e9), rand.uniform(20e9, 60e9)))
    own: list[tuple[Channel, ...]] = []
    home = []
    for node in range(nodes):
        if node < sockets:
            own.append((add(Channel(f"dram{node}", both=rand.uniform(100e9, 400e9))),))
            home.append(node)
            continue
        link = add(Channel(f"link{node}", rand.uniform(15e9, 60e9), rand.uniform(15e9, 60e9)))
        lost = rand.choice([0.0, 0.0, rand.uniform(0.002, 0.02)])
        media = add(Channel(f"media{node}", both=rand.uniform(15e9, 80e9), lost=lost))
        own.append((switch, link, media) if rand.random() < 0.4 else (link, media))
        home.append(rand.randrange(sockets))
    initiators = rand.randint(1, sockets)
    ways, seconds = {}, {}
    for initiator in range(initiators):
        for node in range(nodes):
            far = home[node] != initiator
            ways[initiator, node] = (*((across[initiator],) if far else ()), *own[node])
            fastest = 20e9 if node < sockets else 8e9
            seconds[initiator, node] = rand.uniform(1.0, 1.6) * (1.6 if far else 1.0) / fastest
    threads = tuple([rand.choice([4, 16, 32, 64, 128])] * initiators)
    machine = Machine(threads, ways, seconds, nodes, tuple(channels))
    return machine, rand.choice([0.0, 0.0, 0.25, 1 / 3, 0.5, 1.0])
