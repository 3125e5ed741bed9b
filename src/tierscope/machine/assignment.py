"""A drive and a NIC of its own for each GPU, so that their streams share the fewest uplinks.

All GPUs are taken to exchange data with their drives and their NICs at the same time: two streams
each. Of all one-to-one assignments the best has the fewest streams through a host bridge, which
switches spare; of those the fewest uplinks that several GPUs' streams cross; then the fewest GPUs
beyond the first of each uplink. Among equals, each GPU in turn takes the nearest devices. The
search is exact: branch and bound over the GPUs, with devices in the same place taken as one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tierscope.machine.affinity import Tree, relation
from tierscope.machine.storage import drives
from tierscope.machine.uplinks import crossed, io_devices
from tierscope.model.affinity import Affinity, Assignment, Device, IoDevice, Level, Stream
from tierscope.model.topology import Topology

_MAX_STEPS = 50_000
"""Partial assignments after which the best one so far is taken, unproven."""

Cost = tuple[int, int, int]
"""Streams through a host bridge, shared uplinks, GPUs beyond the first of each uplink: smaller is
better."""
Option = list[int | None]
"""Classes of the drive and the NIC that a GPU gets; None for none."""
_LEVEL = 64
"""Distance per level of affinity; larger than any number of switches on a path."""


def assign(topology: Topology) -> Assignment:
    """The best assignment of the machine's GPUs, drives and NICs; empty without GPUs."""
    found = io_devices(topology)
    left_out = dict(_unsuitable(topology))
    gpus, drives_, nics = (
        [device for device in found if device.kind == kind and device.name not in left_out]
        for kind in ("gpu", "drive", "nic")
    )
    search = Search(topology, gpus, [drives_, nics])
    chosen = search.run()
    streams: list[list[Stream]] = [[], []]
    for gpu, own in zip(gpus, chosen, strict=True):
        for kind, device in enumerate(own):
            if device is not None:
                streams[kind].append(search.stream(gpu, device))
    every = sorted([*streams[0], *streams[1]], key=lambda s: [g.name for g in gpus].index(s.gpu))
    words = {link.name: link.words for device in found for link in device.uplinks}
    users = {name: [s for s in every if name in s.uplinks] for name in words}
    return Assignment(
        drives=streams[0],
        nics=streams[1],
        shared={
            words[name]: many for name, many in users.items() if len({s.gpu for s in many}) > 1
        },
        proven=search.steps <= _MAX_STEPS,
        left_out=[f"{name}: {why}" for name, why in left_out.items()] if gpus else [],
    )


def _unsuitable(topology: Topology) -> Iterator[tuple[str, str]]:
    """Drives of the root file system, and ports that are down, with the reason."""
    root = next((mount.block for mount in topology.mounts if mount.path == "/"), None)
    for drive in drives(root, topology.blocks) if root else []:
        yield drive.controller or drive.name, "it holds the root file system"
    for port in topology.ports:
        if port.state == "down":
            yield port.rdma or port.name, "its port is down"


@dataclass
class _Class:
    """Devices that no uplink and no distance tells apart."""

    members: list[IoDevice]
    left: int


@dataclass
class Search:
    """Branch and bound over the GPUs; ``others`` are the drives and the NICs."""

    topology: Topology
    gpus: Sequence[IoDevice]
    others: Sequence[Sequence[IoDevice]]
    steps: int = 0
    _classes: list[list[_Class]] = field(default_factory=list)
    _pairs: dict[tuple[str, str], tuple[int, list[int]]] = field(default_factory=dict)
    """Distance and uplinks (numbers) of a GPU and a device."""
    _above: dict[str, set[int]] = field(default_factory=dict)
    """Numbers of the uplinks above each device."""
    _port: dict[str, str] = field(default_factory=dict)
    """The root port above each device, or itself."""
    _loads: list[int] = field(default_factory=list)
    """GPUs whose streams cross each uplink so far."""
    _through: int = 0
    """Streams through a host bridge so far."""
    _seen: set[tuple[int, ...]] = field(default_factory=set)
    """Search state: GPUs, streams and devices left, whichever GPU took the others."""
    _best: Cost | None = None
    _chosen: list[Option] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tree = Tree(self.topology.pci)

    def run(self) -> list[list[IoDevice | None]]:
        """Return each GPU's drive and NIC."""
        every = [device for many in self.others for device in many]
        names = dict.fromkeys(link.name for d in (*self.gpus, *every) for link in d.uplinks)
        numbers = {name: number for number, name in enumerate(names)}
        self._loads = [0] * len(numbers)
        self._above = {d.name: {numbers[u.name] for u in d.uplinks} for d in (*self.gpus, *every)}
        for device in (*self.gpus, *every):
            above = self._tree.bridges(device.address)
            self._port[device.name] = above[-1].address if above else device.address
        for gpu in self.gpus:
            for device in every:
                near = self.affinity(gpu, device)
                links = [numbers[link.name] for link in crossed(gpu, device)]
                self._pairs[gpu.name, device.name] = (_distance(near), links)
        self._classes = [self._alike(many) for many in self.others]
        self._most = [min(len(self.gpus), len(many)) for many in self.others]
        self._free = [len(many) for many in self.others]
        self._inside = [self._counts(many) for many in self.others]
        self._below = [self._counts(self.gpus[at:]) for at in range(len(self.gpus) + 1)]
        self._descend([], self._most)
        return self._named()

    def _counts(self, devices: Sequence[IoDevice]) -> list[int]:
        """How many of these are below each uplink."""
        above = [self._above[device.name] for device in devices]
        return [sum(link in one for one in above) for link in range(len(self._loads))]

    def affinity(self, gpu: IoDevice, device: IoDevice) -> Affinity:
        """How the two reach each other over PCIe."""
        kinds = {"gpu": "gpu", "drive": "nvme", "nic": "nic"}
        first, second = (
            Device.model_validate({"name": d.name, "kind": kinds[d.kind], "addresses": [d.address],
                                   "node": d.node})
            for d in (gpu, device)
        )  # fmt: skip
        return relation(self.topology, self._tree, first, second, nvlink=False)

    def stream(self, gpu: IoDevice, device: IoDevice) -> Stream:
        """Return the stream between a GPU and its own device."""
        return Stream(
            gpu=gpu.name,
            device=device.name,
            affinity=self.affinity(gpu, device),
            uplinks=[link.name for link in crossed(gpu, device)],
        )

    def _alike(self, many: Sequence[IoDevice]) -> list[_Class]:
        groups: dict[str, list[IoDevice]] = {}
        for device in many:
            key = [self._pairs[gpu.name, device.name] for gpu in self.gpus]
            groups.setdefault(f"{sorted(self._above[device.name])} {key}", []).append(device)
        return [_Class(members, len(members)) for members in groups.values()]

    def _descend(self, taken: list[Option], missing: list[int]) -> None:
        """Give the next GPU what it may get, the best first."""
        if len(taken) == len(self.gpus):
            self._best, self._chosen = self._bound(len(taken), missing), taken
            return
        left_now = [one.left for classes in self._classes for one in classes]
        state = (len(taken), self._through, *left_now, *self._loads)
        if state in self._seen:
            return
        self._seen.add(state)
        gpu = self.gpus[len(taken)]
        options: list[tuple[tuple[Cost, int, int, int], Option, list[int]]] = []
        for option in self._options(gpu, len(self.gpus) - len(taken), missing):
            self.steps += 1
            if self.steps > _MAX_STEPS and self._best is not None:
                return
            far = self._take(gpu, option, 1)
            left = [n - (at is not None) for n, at in zip(missing, option, strict=True)]
            rank = (self._bound(len(taken) + 1, left), option.count(None), far, len(options))
            options.append((rank, option, left))
            self._take(gpu, option, -1)
        for (bound, *_), option, left in sorted(options, key=lambda entry: entry[0]):
            if self._best is not None and bound >= self._best:
                return
            self._take(gpu, option, 1)
            self._descend([*taken, option], left)
            self._take(gpu, option, -1)

    def _options(self, gpu: IoDevice, gpus_left: int, missing: list[int]) -> Iterator[Option]:
        """Classes of a drive and a NIC for a GPU.

        A GPU that gets one of what there is less of gets the other, too. It goes without where
        enough GPUs are left for what is still to be given.
        """
        lists: list[Option] = []
        for classes, more in zip(self._classes, missing, strict=True):
            free = [at for at, one in enumerate(classes) if one.left] if more else []
            near = sorted(free, key=lambda at, c=classes: self._pair(gpu, c[at])[0])  # type: ignore[misc]
            lists.append([*near, None] if more < gpus_left else [*near])
        scarce = min(range(len(missing)), key=lambda kind: self._most[kind])
        for first in lists[0]:
            for second in lists[1]:
                option = [first, second]
                if option[scarce] is None or option[1 - scarce] is not None:
                    yield option

    def _pair(self, gpu: IoDevice, one: _Class) -> tuple[int, list[int]]:
        return self._pairs[gpu.name, one.members[0].name]

    def _take(self, gpu: IoDevice, option: Option, sign: int) -> int:
        """Add a GPU's streams, or remove them; returns their distance."""
        distance, used = 0, set[int]()
        for kind, (classes, at) in enumerate(zip(self._classes, option, strict=True)):
            if at is not None:
                far, links = self._pair(gpu, classes[at])
                distance += far
                self._through += sign * (far >= Level.PHB.rank * _LEVEL)
                classes[at].left -= sign
                self._free[kind] -= sign
                used.update(links)
                for link in self._above[classes[at].members[0].name]:
                    self._inside[kind][link] -= sign
        for link in used:
            self._loads[link] += sign
        return distance

    def _bound(self, taken: int, missing: list[int]) -> Cost:
        """The least that an assignment can cost that begins like this for so many GPUs.

        Of ``missing`` pairs no more can be made on one side of an uplink than there are GPUs and
        devices on that side; the others cross it, each with another GPU.
        """
        further, through = [0] * len(self._loads), self._through
        rest, below = self.gpus[taken:], self._below[taken]
        for kind, more in enumerate(missing):
            if not more:
                continue
            total, inside = self._free[kind], self._inside[kind]
            for link, most in enumerate(further):
                within = min(below[link], inside[link])
                beside = min(len(rest) - below[link], total - inside[link])
                further[link] = max(most, more - within - beside)
            through += self._must_go_through(rest, self._classes[kind], more)
        loads = [now + more for now, more in zip(self._loads, further, strict=True)]
        crowded = [load for load in loads if load > 1]
        return through, len(crowded), sum(crowded) - len(crowded)

    def _must_go_through(
        self, gpus: Sequence[IoDevice], classes: Sequence[_Class], more: int
    ) -> int:
        """Of so many pairs, those that cannot be made below one root port."""
        free: dict[str, int] = {}
        for one in classes:
            port = self._port[one.members[0].name]
            free[port] = free.get(port, 0) + one.left
        ports = [self._port[gpu.name] for gpu in gpus]
        return max(0, more - sum(min(ports.count(port), many) for port, many in free.items()))

    def _named(self) -> list[list[IoDevice | None]]:
        """Give the members of each class in the order of the GPUs that got one."""
        used: dict[tuple[int, int], int] = {}
        found: list[list[IoDevice | None]] = []
        for option in self._chosen:
            row: list[IoDevice | None] = []
            for kind, at in enumerate(option):
                if at is None:
                    row.append(None)
                    continue
                position = used.get((kind, at), 0)
                used[kind, at] = position + 1
                row.append(self._classes[kind][at].members[position])
            found.append(row)
        return found


def _distance(near: Affinity) -> int:
    """Levels first, then the switches crossed."""
    return near.level.rank * _LEVEL + min(near.switches, _LEVEL - 1)
