"""A machine file: which nodes, which devices, which kernel; read strictly, checked whole.

The standard library alone: this runs before the project's environment exists.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeVar, get_args, get_type_hints

FOLDER = Path(__file__).resolve().parent / "machines"
UNITS = {"M": 1 << 20, "G": 1 << 30}

T = TypeVar("T")


class MachineError(Exception):
    """What is wrong with a machine file, where, and what is allowed; one line."""


def size(value: object) -> int:
    """Bytes of a text such as "512M" (mebibytes) or "1G" (gibibytes)."""
    match = re.fullmatch(r"([1-9]\d*)([MG])", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError('takes a size such as "512M" or "1G"')
    return int(match[1]) * UNITS[match[2]]


def sizes(value: object) -> list[int]:
    """Bytes of each of a list of sizes."""
    if not isinstance(value, list):
        raise ValueError('takes a list of sizes such as ["1G", "512M"]')
    return [size(entry) for entry in value]


def number(value: object) -> int:
    """A whole number from 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("takes a whole number from 0")
    return value


def flag(value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError("takes true or false")
    return value


def text(value: object) -> str:
    """A text of at least one character."""
    if not isinstance(value, str) or not value:
        raise ValueError("takes a text")
    return value


def rows(value: object) -> list[list[int]]:
    """A list of lists of whole numbers."""
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise ValueError("takes a list with one list of numbers a node")
    return [[number(entry) for entry in row] for row in value]


def one(kind: type[T]) -> Callable[[object], T]:
    """A reader of one table of this kind."""
    return lambda value: read(kind, value)


def many(kind: type[T]) -> Callable[[object], list[T]]:
    """A reader of a list of tables of this kind."""

    def convert(value: object) -> list[T]:
        if not isinstance(value, list):
            raise ValueError("takes a list of tables")
        items = []
        for index, item in enumerate(value):
            try:
                items.append(read(kind, item))
            except ValueError as error:
                raise ValueError(f"[{index}] {error}") from None
        return items

    return convert


def read(kind: type[T], table: object) -> T:
    """Make a dataclass of a TOML table; an unknown, missing or wrong key is a ValueError."""
    if not isinstance(table, dict):
        raise ValueError("takes a table")
    # The second part of each key's annotation is what reads it.
    converters = {
        name: get_args(hint)[1] for name, hint in get_type_hints(kind, include_extras=True).items()
    }
    values = {}
    for name, value in table.items():
        if name not in converters:
            raise ValueError(f"{name}: unknown key; allowed: {', '.join(converters)}")
        try:
            values[name] = converters[name](value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    try:
        return kind(**values)
    except TypeError as error:  # names the keys that have no default and are not there
        raise ValueError(f"missing keys: {str(error).partition(': ')[2]}") from None


@dataclass(frozen=True)
class Node:
    """A NUMA node; its number is its place in the list."""

    memory: Annotated[int, size] = 0
    """Bytes; 0 makes a node without memory."""
    socket: Annotated[int | None, number] = None
    """The CPU socket that is local to it; none makes a CPU-less node."""
    near: Annotated[int | None, number] = None
    """A CPU-less node's nearest node with CPUs."""
    offline_memory: Annotated[bool, flag] = False
    """Its memory is a DIMM in a slot that the kernel has not onlined; the last node only."""
    accelerator: Annotated[bool, flag] = False
    """An ACPI generic initiator, as an accelerator's node is before its driver adds memory."""


@dataclass(frozen=True)
class FirmwarePath:
    """What firmware (HMAT) says of one path, from a node's CPUs to a node's memory."""

    source: Annotated[int, number]
    target: Annotated[int, number]
    ns: Annotated[int, number]
    """Latency."""
    mb_s: Annotated[int, number]
    """Bandwidth, 10^6 bytes/s."""


@dataclass(frozen=True)
class SideCache:
    """A memory-side cache in front of a node's memory, as firmware (HMAT) says; nothing caches."""

    node: Annotated[int, number]
    memory: Annotated[int, size]


@dataclass(frozen=True)
class Cxl:
    """A CXL type-3 device with volatile memory, which the guest onlines as the next node."""

    memory: Annotated[int, size]
    port: Annotated[int, number]
    """Node that stands for the path to the device (ACPI generic port); it stays offline."""


@dataclass(frozen=True)
class Pmem:
    """An NVDIMM: in the guest an ext4 file system with DAX at /mnt/pmem, or memory of its node
    where the kernel's arguments have testbed.nvdimm=memory."""

    memory: Annotated[int, size]
    node: Annotated[int, number]
    file: Annotated[str, text] = ""
    """This machine's file with its contents, which the next boot finds; without one they go."""


@dataclass(frozen=True)
class Machine:
    """A virtual machine."""

    summary: Annotated[str, text]
    kernel: Annotated[str, text]
    """Version that testbed/setup fetched."""
    nodes: Annotated[list[Node], many(Node)]
    cores: Annotated[int, number] = 2
    """CPUs a socket."""
    distances: Annotated[list[list[int]], rows] = field(default_factory=list)
    """SLIT, a row a node."""
    paths: Annotated[list[FirmwarePath], many(FirmwarePath)] = field(default_factory=list)
    """HMAT."""
    side_caches: Annotated[list[SideCache], many(SideCache)] = field(default_factory=list)
    cxl: Annotated[Cxl | None, one(Cxl)] = None
    pmem: Annotated[Pmem | None, one(Pmem)] = None
    nvme: Annotated[list[int], sizes] = field(default_factory=list)
    """Bytes of each empty NVMe drive; their serial numbers are testbed0, testbed1, ..."""
    kernel_arguments: Annotated[str, text] = ""


def names() -> list[str]:
    """The machines there are."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Machine:
    """Read machines/NAME.toml; raise MachineError."""
    path = FOLDER / f"{name}.toml"
    if name not in names():
        raise MachineError(f"no machine {name}; there are: {', '.join(names())}")
    return parse(path.read_text(), f"testbed/machines/{path.name}")


def with_nvdimm(machine: Machine, file: str) -> Machine:
    """The machine with its NVDIMM's contents in a file; raise MachineError where it has none."""
    if machine.pmem is None:
        raise MachineError(f"--nvdimm {file}: the machine has no NVDIMM; name one with [pmem]")
    folder = Path(file).resolve().parent
    if not folder.is_dir():
        raise MachineError(f"--nvdimm {file}: there is no directory {folder}")
    return replace(machine, pmem=replace(machine.pmem, file=str(Path(file).resolve())))


def parse(source: str, where: str) -> Machine:
    """Make a machine of TOML; raise MachineError, whose text begins with ``where``."""
    try:
        machine = read(Machine, tomllib.loads(source))
        check(machine)
    except ValueError as error:  # TOMLDecodeError is one too
        raise MachineError(f"{where}: {error}") from None
    return machine


def check(machine: Machine) -> None:
    """Refuse with a ValueError what reads well but makes no machine."""
    nodes = machine.nodes
    with_cpus = [index for index, node in enumerate(nodes) if node.socket is not None]
    sockets = [node.socket for node in nodes if node.socket is not None]
    if sockets != list(range(len(sockets))) or not sockets:
        raise ValueError("nodes: sockets are numbered 0, 1, 2, ... in the order of the nodes")
    if machine.cores < 1:
        raise ValueError("cores: takes at least 1")
    _check_nodes(nodes, with_cpus)
    if machine.distances and (
        len(machine.distances) != len(nodes)
        or any(len(row) != len(nodes) for row in machine.distances)
    ):
        raise ValueError(f"distances: takes {len(nodes)} rows of {len(nodes)} numbers")
    _check_paths(machine, with_cpus)
    if machine.cxl and (machine.cxl.port >= len(nodes) or nodes[machine.cxl.port] != Node()):
        raise ValueError("cxl port: takes a node without memory, CPUs or anything else")
    if machine.pmem and machine.pmem.node >= len(nodes):
        raise ValueError(f"pmem node: there is no node {machine.pmem.node}")


def _check_nodes(nodes: Sequence[Node], with_cpus: Sequence[int]) -> None:
    for index, node in enumerate(nodes):
        if node.socket is not None and (node.near is not None or node.accelerator):
            raise ValueError(f"nodes[{index}] socket: not together with near or accelerator")
        if node.near is not None and node.near not in with_cpus:
            raise ValueError(f"nodes[{index}] near: node {node.near} has no CPUs")
        if node.offline_memory and (not node.memory or index != len(nodes) - 1):
            raise ValueError(f"nodes[{index}] offline_memory: only the last node, and with memory")


def _check_paths(machine: Machine, with_cpus: Sequence[int]) -> None:
    for index, path in enumerate(machine.paths):
        if path.source not in with_cpus:
            raise ValueError(f"paths[{index}] source: node {path.source} has no CPUs")
        if path.target >= len(machine.nodes):
            raise ValueError(f"paths[{index}] target: there is no node {path.target}")
    targets = {path.target for path in machine.paths}
    for index, cache in enumerate(machine.side_caches):
        if cache.node not in targets:
            raise ValueError(f"side_caches[{index}] node: no path leads to node {cache.node}")
