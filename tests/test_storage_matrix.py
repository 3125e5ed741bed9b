"""``tierscope storage --matrix``: what it measures, which losses it tells, what it never writes."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests import synthetic

from tierscope.cli.app import app
from tierscope.kinds.io.show import across
from tierscope.kinds.io.spec import IoSpec
from tierscope.machine.storage_paths import far_words, reach
from tierscope.model.endpoint import parse_target
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.evidence import NfsFacts
from tierscope.model.run import Measurement, Run
from tierscope.model.storage import DriveFacts, PathFacts, StorageFacts
from tierscope.model.topology import Block, Gpu, PciDevice, Port, Topology
from tierscope.report.pictures.picture import PictureInput
from tierscope.suites.storage_matrix import (
    Matrix,
    cells_of,
    loss_lines,
    matrix,
    matrix_json,
    readable,
    show_storage_matrix,
)
from tierscope.suites.storage_tour import Given

GIB = 1 << 30
TARGETS = ("dev:/dev/nvme0n1", "dev:/dev/nvme1n1")


def function(address: str, code: int, node: int, parent: str | None = None) -> PciDevice:
    return PciDevice(address=address, parent=parent, root=f"0000:{node}0", class_code=code,
                     bridge=code == 0x0604, node=node, package=node)  # fmt: skip


@pytest.fixture
def served(machine: Topology) -> Topology:
    """Each socket has a switch with a GPU and a drive below it."""
    pci: list[PciDevice] = []
    for node in (0, 1):
        port, up, one, other = (f"0000:{node}0:{slot:02x}.0" for slot in range(4))
        pci += [
            function(port, 0x0604, node),
            function(up, 0x0604, node, port),
            function(one, 0x0604, node, up),
            function(other, 0x0604, node, up),
            function(f"0000:{node}1:00.0", 0x0302, node, one),
            function(f"0000:{node}2:00.0", 0x0108, node, other),
        ]
    found = {
        "pci": pci,
        "gpus": [Gpu(index=n, name="G", address=f"0000:{n}1:00.0") for n in (0, 1)],
        "blocks": [Block(name=f"nvme{n}n1", kind="nvme", address=f"0000:{n}2:00.0",
                         controller=f"nvme{n}") for n in (0, 1)],
    }  # fmt: skip
    packaged = [
        node.model_copy(update={"package": node.number if node.cpus else None})
        for node in machine.nodes
    ]
    return machine.model_copy(update={**found, "nodes": packaged})


def facts(kind: Any, path: str) -> PathFacts:
    return PathFacts(path=path, kind=kind, real=path, device="8:1", page_bytes=4096,
                     free_bytes=100 * GIB)  # fmt: skip


def planned(machine: Topology, *targets: str, kind: str = "block", **given: Any) -> Matrix:
    parsed = [parse_target(target) for target in targets]
    about = [facts(kind, target.path) for target in parsed]
    return matrix(machine, Given(parsed, about, **given), thp=True)


def specs_of(made: Matrix) -> list[IoSpec]:
    return [spec for spec in made.plan.measurements if isinstance(spec, IoSpec)]


def test_every_node_and_gpu_reads_every_target_twice(served: Topology) -> None:
    made = planned(served, *TARGETS)
    cells = {(s.initiator, s.target, s.pattern.block_size) for s in specs_of(made)}
    readers = ("node:0", "node:1", "gpu:0", "gpu:1")
    assert cells == {(i, t, size) for i in readers for t in TARGETS for size in (4096, 1 << 20)}
    assert {s.pattern.operation for s in specs_of(made)} == {"read"}
    assert len({s.id for s in specs_of(made)}) == len(specs_of(made))


@pytest.mark.parametrize("kind", ["directory", "file", "block"])
def test_nothing_of_others_is_ever_written(served: Topology, kind: str) -> None:
    target = "dev:/dev/nvme0n1" if kind == "block" else "file:/data"
    made = planned(served, target, kind=kind)
    assert {spec.pattern.operation for spec in specs_of(made)} == {"read"}
    assert not any(getattr(s.jobs[0].files, "overwrite", False) for s in specs_of(made))


def test_readers_can_be_chosen_and_wrong_ones_are_named(served: Topology) -> None:
    made = planned(served, TARGETS[0], initiator="node:1,gpu:0")
    assert made.initiators == ["node:1", "gpu:0"]
    with pytest.raises(UserError, match="there is no 'gpu:7' to read with"):
        planned(served, TARGETS[0], initiator="gpu:7")


def test_drives_and_arrays_are_what_is_read_without_names(served: Topology) -> None:
    array = Block(name="md0", kind="md", members=["nvme0n1", "nvme1n1"], level="raid0")
    part = Block(name="nvme0n1p1", kind="partition", members=["nvme0n1"])
    known = served.model_copy(update={"blocks": [*served.blocks, array, part]})
    assert readable(known) == ["/dev/nvme0n1", "/dev/nvme1n1", "/dev/md0"]


def drive(number: int) -> DriveFacts:
    return DriveFacts(name=f"nvme{number}n1", kind="nvme", address=f"0000:{number}2:00.0")


def on(*drives: DriveFacts, nfs: NfsFacts | None = None) -> list[StorageFacts]:
    return [StorageFacts(path=facts("directory", "/data"), drives=list(drives), nfs=nfs)]


@pytest.mark.parametrize(
    ("initiator", "number", "level"),
    [
        ("gpu:0", 0, "PIX"), ("gpu:0", 1, "SYS"), ("node:0", 0, "PHB"), ("node:0", 1, "SYS"),
        ("cpus:4-7", 1, "PHB"), ("cpus:none", 1, "?"),
    ],
)  # fmt: skip
def test_levels(served: Topology, initiator: str, number: int, level: str) -> None:
    assert str(reach(served, initiator, on(drive(number)))) == level


def test_of_an_array_the_farthest_member_counts(served: Topology) -> None:
    assert str(reach(served, "gpu:0", on(drive(0), drive(1)))) == "SYS"
    assert str(reach(served, "gpu:0", [])) == "?"
    unknown = DriveFacts(name="vda", kind="virtual")
    assert str(reach(served, "node:0", on(unknown))) == "?"


def nfs(*ports: str) -> NfsFacts:
    return NfsFacts(server="10.0.0.9", interface=ports[0], ports=list(ports))


@pytest.mark.parametrize(
    ("initiator", "ports", "level"),
    [
        ("gpu:0", ["ib0"], "PXB"), ("gpu:1", ["ib0"], "SYS"), ("node:1", ["ib1"], "PHB"),
        ("node:1", ["ib0", "ib1"], "SYS"), ("node:1", ["ib1", "gone"], "?"),
        ("node:0", ["lo"], "?"),
    ],
)  # fmt: skip
def test_a_mount_of_nfs_is_as_near_as_its_nics(
    served: Topology, initiator: str, ports: list[str], level: str
) -> None:
    found = reach(with_nics(served), initiator, on(nfs=nfs(*ports)))
    assert str(found) == level


def test_the_way_to_a_far_nic_is_told(served: Topology) -> None:
    machine, targets = with_nics(served), on(nfs=nfs("ib0"))
    assert far_words(machine, reach(machine, "gpu:1", targets), targets) == "other socket"


def with_nics(served: Topology) -> Topology:
    """A NIC on each socket: that of the first below a switch of its own, behind the GPU's."""
    ports = [
        Port(name=f"ib{n}", interface=f"ib{n}", kind="infiniband", address=f"0000:{n}4:00.0")
        for n in (0, 1)
    ]
    return served.model_copy(update={"pci": [*served.pci, *NICS], "ports": ports})


NICS = [
    function("0000:00:04.0", 0x0604, 0, "0000:00:01.0"),
    function("0000:03:00.0", 0x0604, 0, "0000:00:04.0"),
    function("0000:03:01.0", 0x0604, 0, "0000:03:00.0"),
    function("0000:04:00.0", 0x0207, 0, "0000:03:01.0"),
    function("0000:10:05.0", 0x0604, 1),
    function("0000:14:00.0", 0x0207, 1, "0000:10:05.0"),
]


def measured(served: Topology, rates: dict[tuple[str, str], float], noise: float) -> Run:
    """A run in which each initiator reads the targets at these rates."""
    maker = synthetic.Maker(noise=noise)
    found: list[Measurement] = []
    for (initiator, target), rate in rates.items():
        number = TARGETS.index(target)
        about = StorageFacts(path=facts("block", target[4:]), drives=[drive(number)])
        m = synthetic.storage_measurement(
            maker, rate, depth=8, order="sequential", block_size=1 << 20, target=target,
            id=f"large.{initiator}.{number}.io_uring", evidence=Evidence(storage=[about]),
        )  # fmt: skip
        found.append(m.model_copy(update={"initiator": initiator}))
    return synthetic.run(found, topology=served)


RATES = {
    ("node:0", TARGETS[0]): 6.0e9, ("node:1", TARGETS[0]): 4.68e9,
    ("node:0", TARGETS[1]): 5.9e9, ("node:1", TARGETS[1]): 6.0e9,
    ("gpu:0", TARGETS[0]): 6.5e9, ("gpu:1", TARGETS[0]): 3.9e9,
}  # fmt: skip
MATRIX = Matrix(plan=None, initiators=["node:0", "node:1", "gpu:0", "gpu:1"], targets=[*TARGETS])  # type: ignore[arg-type]


def test_losses_are_told_with_what_is_between(served: Topology) -> None:
    assert loss_lines(cells_of(measured(served, RATES, 0.001), MATRIX)) == [
        "node:1 reads nvme0n1 at 78% of what node:0 reaches (large reads): other socket",
        "gpu:1 reads nvme0n1 at 60% of what gpu:0 reaches (large reads): other socket",
    ]


def test_what_intervals_do_not_tell_apart_is_no_loss(served: Topology) -> None:
    assert loss_lines(cells_of(measured(served, RATES, 0.6), MATRIX)) == []


def test_a_loss_of_what_is_as_near_is_not_blamed_on_the_way(served: Topology) -> None:
    rates = {("node:0", TARGETS[1]): 3e9, ("node:1", TARGETS[1]): 2e9}
    (line,) = loss_lines(cells_of(measured(served, rates, 0.001), MATRIX))
    assert line.endswith("although it is as near (PHB)")


def test_nodes_of_one_socket_are_not_called_another(served: Topology) -> None:
    nodes = [n.model_copy(update={"package": 0 if n.cpus else None}) for n in served.nodes]
    one = served.model_copy(update={"nodes": nodes})
    lines = loss_lines(cells_of(measured(one, RATES, 0.001), MATRIX))
    assert lines[0].endswith("another NUMA node of its socket")


def test_tables_have_the_level_beside_each_figure_in_100_columns(served: Topology) -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_storage_matrix(console, measured(served, RATES, 0.001), MATRIX, ["left out: why"])
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Large reads: sequential, 1 MiB, depth 8, GB/s" in text
    assert "PHB" in text
    assert "PIX" in text
    assert "left out: why" in text
    assert max(map(len, text.splitlines())) <= 100


def test_json_has_level_and_share_of_each_cell(served: Topology) -> None:
    cells = matrix_json(cells_of(measured(served, RATES, 0.001), MATRIX))
    (far,) = [c for c in cells if (c["initiator"], c["target"]) == ("gpu:1", TARGETS[0])]
    assert (far["affinity"]["label"], far["significant_loss"]) == ("SYS", True)
    assert far["share_of_best"] == pytest.approx(0.6, rel=0.01)


def test_the_picture_shows_figures_and_levels(served: Topology) -> None:
    run = measured(served, RATES, 0.001)
    (picture,) = across(PictureInput("io", "Storage", run.measurements, run))
    assert picture.title == "Bandwidth from initiator to target: sequential read, 1 MiB, depth 8"
    texts = json.dumps(picture.spec)
    assert "PIX" in texts
    assert "SYS" in texts


def call(*words: str) -> Any:
    return CliRunner().invoke(app, ["storage", "--matrix", *words], standalone_mode=False)


def test_a_directory_and_a_file_are_measured(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_bytes(bytes(range(256)) * (4 << 12))
    before = file.read_bytes()
    done = call(str(folder), str(file), "--size", "1m", "--time-limit", "2s", "--json")
    assert done.exception is None, done.output
    found = json.loads(done.output)
    assert {cell["target"] for cell in found["matrix"]} == {f"file:{folder}", f"file:{file}"}
    assert {cell["reads"] for cell in found["matrix"]} == {"large", "small"}
    assert list(folder.iterdir()) == []
    assert file.read_bytes() == before


def test_without_paths_and_matrix_the_command_says_what_it_takes() -> None:
    done = CliRunner().invoke(app, ["storage"])
    assert done.exit_code == 2
    assert "or give --matrix" in done.output


def test_overwrite_is_refused_since_nothing_is_written(tmp_path: Path) -> None:
    done = call(str(tmp_path), "--overwrite")
    assert isinstance(done.exception, UserError)
    assert "--matrix only reads" in str(done.exception)
