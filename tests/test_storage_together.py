"""Pairs of readers and targets at once: which they are, how they are measured, what is said."""

import io

from rich.console import Console
from tests import synthetic
from tests.test_storage_matrix import TARGETS, measured, planned, served, specs_of

from tierscope.model.endpoint import parse_target
from tierscope.model.run import Run
from tierscope.model.topology import Block, Mount, Topology
from tierscope.suites.storage_matrix import (
    Matrix,
    Together,
    groups_of,
    pairs_of,
    show_together,
    together_json,
)

__all__ = ["served"]
EVERYONE = ["node:0", "node:1", "gpu:0", "gpu:1"]


def pairs(machine: Topology, *targets: str) -> list[list[tuple[str, str]]]:
    return pairs_of(machine, EVERYONE, [parse_target(target) for target in targets])


def test_nodes_read_what_is_near_and_gpus_what_they_are_assigned(served: Topology) -> None:
    assert pairs(served, *TARGETS) == [
        [("node:0", TARGETS[0]), ("node:1", TARGETS[1])],
        [("gpu:0", TARGETS[0]), ("gpu:1", TARGETS[1])],
    ]


def test_one_target_has_no_company(served: Topology) -> None:
    assert pairs(served, TARGETS[0]) == []
    assert planned(served, TARGETS[0]).together == []


def test_an_array_does_not_take_part_beside_its_members(served: Topology) -> None:
    array = Block(name="md0", kind="md", members=["nvme0n1", "nvme1n1"], level="raid0")
    known = served.model_copy(update={"blocks": [*served.blocks, array]})
    first, _ = pairs(known, *TARGETS, "dev:/dev/md0")
    assert [target for _, target in first] == [*TARGETS]


def test_what_is_on_no_drive_is_read_by_the_first_node(served: Topology) -> None:
    mounts = [Mount(path="/shared", type="nfs4", block=None)]
    known = served.model_copy(update={"mounts": mounts})
    (of_nodes,) = pairs(known, TARGETS[1], "file:/shared")
    assert of_nodes == [("node:1", TARGETS[1]), ("node:0", "file:/shared")]


def test_all_pairs_are_one_measurement_with_threads_on_cpus_of_their_own(served: Topology) -> None:
    made = planned(served, *TARGETS)
    specs = {spec.id: spec for spec in specs_of(made)}
    assert [what.id for what in made.together] == [
        "together.large.node.io_uring",
        "together.small.node.io_uring",
        "together.large.gpu.staged-async",
        "together.large.gpu.cufile-batch",
        "together.small.gpu.staged-async",
        "together.small.gpu.cufile-batch",
    ]
    for what in made.together:
        spec = specs[what.id]
        assert [job.name for job in spec.jobs] == [*TARGETS] == list(what.alone)
        assert len(set(spec.thread_cpus())) == 2
        assert all(specs[name].pattern == spec.pattern for name in what.alone.values())
    gpus = [job.buffers.gpu for job in specs["together.large.gpu.cufile-batch"].jobs]
    assert gpus == [0, 1]


def test_pairs_of_one_node_take_its_cpus_in_turn(served: Topology) -> None:
    made = planned(served, *TARGETS, initiator="node:1")
    spec = next(s for s in specs_of(made) if s.id == "together.large.node.io_uring")
    assert [job.cpus for job in spec.jobs] == [[4], [5]]


def run_of(served: Topology, shares: tuple[float, float], noise: float = 0.001) -> Run:
    """Two nodes that read 6 GB/s alone, and these shares of it together."""
    rates = {("node:0", TARGETS[0]): 6e9, ("node:1", TARGETS[1]): 6e9}
    run = measured(served, rates, noise)
    made = synthetic.storage_measurement(
        synthetic.Maker(noise=noise), 6e9 * sum(shares), depth=8, order="sequential",
        block_size=1 << 20, target=TARGETS[0], id="together", threads=2,
    )  # fmt: skip
    parts = [
        synthetic.figure("bandwidth", "B/s", 6e9 * share, target)
        for target, share in zip(TARGETS, shares, strict=True)
    ]
    both = made.model_copy(update={"figures": [*made.figures, *parts]})
    return run.model_copy(update={"measurements": [*run.measurements, both]})


ALONE = {TARGETS[0]: "large.node:0.0.io_uring", TARGETS[1]: "large.node:1.1.io_uring"}
MATRIX = Matrix(plan=None, initiators=EVERYONE, targets=[*TARGETS],  # type: ignore[arg-type]
                together=[Together("together", "large", ALONE)])  # fmt: skip


def printed(run: Run) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_together(console, groups_of(run, MATRIX))
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


def test_what_is_less_than_the_sum_is_told(served: Topology) -> None:
    text = printed(run_of(served, (1.0, 0.5)))
    assert "2 pairs at once reach 9.00 GB/s, 75% of the sum of each alone" in text
    assert "within the intervals" not in text
    (found,) = together_json(groups_of(run_of(served, (1.0, 0.5)), MATRIX))
    assert found["significant_loss"]
    assert [round(pair["share_of_alone"], 1) for pair in found["pairs"]] == [1.0, 0.5]


def test_a_difference_within_the_intervals_is_no_loss(served: Topology) -> None:
    assert "the difference is within the intervals" in printed(run_of(served, (1.0, 0.99), 0.2))


def test_without_a_pair_alone_nothing_is_compared(served: Topology) -> None:
    run = run_of(served, (1.0, 0.5))
    less = run.model_copy(update={"measurements": run.measurements[1:]})
    assert groups_of(less, MATRIX) == []
