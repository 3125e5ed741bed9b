"""Each GPU with a drive and a NIC of its own: the search against all assignments there are."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.assignment import assign
from tierscope.machine.uplinks import crossed, io_devices
from tierscope.model.affinity import Assignment, IoDevice, Level
from tierscope.model.topology import Block, Gpu, Node, NodeKind, Package, PciDevice, Port, Topology

GUIDE_NICS = {"mlx5_0": "0000:0c:00.0", "mlx5_1": "0000:12:00.0"}


def grown(seed: int, kinds: dict[str, int], packages: int = 2) -> Topology:
    """A machine whose devices hang off random switches below random root ports."""
    chance = random.Random(seed)
    pci: list[PciDevice] = []

    def add(parent: str | None, package: int, code: int, bridge: bool) -> str:
        number = len(pci)
        address = f"0000:{number >> 5:02x}:{number & 31:02x}.0"
        pci.append(
            PciDevice(address=address, parent=parent, root=f"0000:{package}0", class_code=code,
                      bridge=bridge, node=package, package=package)
        )  # fmt: skip
        return address

    ports = [(add(None, at, 0x0604, True), at) for at in range(packages) for _ in range(2)]
    for _ in range(chance.randrange(5)):
        above, package = chance.choice(ports)
        upstream = add(above, package, 0x0604, True)
        ports += [(add(upstream, package, 0x0604, True), package) for _ in range(3)]
        ports = [(port, at) for port, at in ports if port != above]
    found = {
        kind: [
            add(*chance.choice(ports), code, False)
            for _ in range(kinds[kind])
        ]
        for kind, code in (("gpu", 0x0302), ("drive", 0x0108), ("nic", 0x0207))
    }  # fmt: skip
    return Topology(
        host="grown",
        source="test",
        cpu_model="",
        architecture="",
        packages=[Package(number=at, cpus=[at], cores=1) for at in range(packages)],
        cpus=list(range(packages)),
        siblings=[[at] for at in range(packages)],
        nodes=[
            Node(
                number=at,
                kind=NodeKind.DRAM,
                inferred_from="",
                cpus=[at],
                total_bytes=1,
                package=at,
            )
            for at in range(packages)
        ],
        caches=[],
        base_page_bytes=4096,
        pci=pci,
        gpus=[Gpu(index=at, name="", address=where) for at, where in enumerate(found["gpu"])],
        blocks=[
            Block(name=f"nvme{at}n1", kind="nvme", address=where, controller=f"nvme{at}")
            for at, where in enumerate(found["drive"])
        ],
        ports=[
            Port(name=f"mlx5_{at}/1", kind="infiniband", rdma=f"mlx5_{at}", address=where)
            for at, where in enumerate(found["nic"])
        ],
    )


def cost(assignment: Assignment) -> tuple[int, int, int]:
    streams = [*assignment.drives, *assignment.nics]
    users: dict[str, set[str]] = {}
    for stream in streams:
        for name in stream.uplinks:
            users.setdefault(name, set()).add(stream.gpu)
    through = sum(stream.affinity.level.rank >= Level.PHB.rank for stream in streams)
    return through, *crowding(users)


def crowding(users: dict[str, set[str]]) -> tuple[int, int]:
    crowded = [len(gpus) for gpus in users.values() if len(gpus) > 1]
    return len(crowded), sum(crowded) - len(crowded)


def least_cost(topology: Topology) -> tuple[int, int, int]:
    """The best of all one-to-one assignments, each of them tried."""
    found = io_devices(topology)
    gpus, drives, nics = (
        [device for device in found if device.kind == kind] for kind in ("gpu", "drive", "nic")
    )
    roots = {device.address: device for device in topology.pci}

    def port(address: str) -> str:
        while (parent := roots[address].parent) is not None:
            address = parent
        return address

    def ways(others: list[IoDevice]) -> list[tuple[IoDevice | None, ...]]:
        pairs = min(len(gpus), len(others))
        padded = [*range(len(others)), *[-1] * (len(gpus) - pairs)]
        return [
            tuple(None if at < 0 else others[at] for at in way)
            for way in set(itertools.permutations(padded, len(gpus)))
            if sum(at >= 0 for at in way) == pairs
        ]

    best = (99, 99, 99)
    for first in ways(drives):
        for second in ways(nics):
            both = list(zip(first, second, strict=True))
            scarce = 0 if len(drives) <= len(nics) else 1
            if any(pair[scarce] is not None and pair[1 - scarce] is None for pair in both):
                continue
            users: dict[str, set[str]] = {}
            through = 0
            for gpu, pair in zip(gpus, both, strict=True):
                for device in filter(None, pair):
                    through += port(gpu.address) != port(device.address)
                    for link in crossed(gpu, device):
                        users.setdefault(link.name, set()).add(gpu.name)
            best = min(best, (through, *crowding(users)))
    return best


@given(st.integers(0, 10**9), st.integers(1, 4), st.integers(0, 4), st.integers(0, 3))
def test_no_assignment_is_better(seed: int, gpus: int, drives: int, nics: int) -> None:
    topology = grown(seed, {"gpu": gpus, "drive": drives, "nic": nics})
    found = assign(topology)
    assert found.proven
    assert cost(found) == least_cost(topology)
    assert (len(found.drives), len(found.nics)) == (min(gpus, drives), min(gpus, nics))


@given(st.integers(0, 10**9))
def test_each_device_is_given_once_and_always_the_same(seed: int) -> None:
    topology = grown(seed, {"gpu": 6, "drive": 4, "nic": 7})
    found = assign(topology)
    assert found == assign(topology)
    for streams in (found.drives, found.nics):
        assert len({stream.device for stream in streams}) == len(streams)
        assert len({stream.gpu for stream in streams}) == len(streams)
    assert {stream.gpu for stream in found.drives} <= {stream.gpu for stream in found.nics}
