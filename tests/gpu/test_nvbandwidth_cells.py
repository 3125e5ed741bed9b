"""nvbandwidth's test cases as measurements: names, indices, and what fills their matrices."""

import pytest
from gpu_machine import machine
from hypothesis import given
from hypothesis import strategies as st

from tierscope.kinds.gpu_ranks.spec import RankGpu
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.gpu import GpuPlace
from tierscope.peers.nvbandwidth.cases import TESTS
from tierscope.peers.nvbandwidth.cells import Settings, make_cells, waived

V08 = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "all_to_host_memcpy_ce",
    "all_to_host_bidirectional_memcpy_ce",
    "host_to_all_memcpy_ce",
    "host_to_all_bidirectional_memcpy_ce",
    "all_to_one_write_ce",
    "all_to_one_read_ce",
    "one_to_all_write_ce",
    "one_to_all_read_ce",
)
NEW = (
    "device_to_device_memcpy_read_tma",
    "device_to_device_memcpy_write_tma",
    "device_to_device_bidirectional_memcpy_read_tma",
    "device_to_device_bidirectional_memcpy_write_tma",
    "device_local_copy_sm",
    "device_local_read_sm",
    "device_local_write_sm",
    "device_to_device_latency_tma",
    "device_local_copy_tma",
)
MULTINODE_PAIRS = (
    "multinode_device_to_device_memcpy_read_ce",
    "multinode_device_to_device_memcpy_write_ce",
    "multinode_device_to_device_bidirectional_memcpy_read_ce",
    "multinode_device_to_device_bidirectional_memcpy_write_ce",
)
MULTINODE = (
    *MULTINODE_PAIRS,
    *(name.replace("_ce", "_sm") for name in MULTINODE_PAIRS),
    "multinode_device_to_device_all_to_one_write_sm",
    "multinode_device_to_device_all_from_one_read_sm",
    "multinode_device_to_device_broadcast_one_to_all_sm",
    "multinode_device_to_device_broadcast_all_to_all_sm",
    "multinode_bisect_write_ce",
)
BROADCASTS = [name for name in MULTINODE if "broadcast" in name]


def test_names_and_indices_are_nvbandwidths():
    names = [test.name for test in TESTS]
    assert names[:16] == list(V08)
    assert names[16:32] == [name.replace("_ce", "_sm") for name in V08]
    assert names[32:35] == [
        "host_device_latency_sm",
        "device_to_device_latency_sm",
        "device_local_copy",
    ]
    assert names[35:48] == list(MULTINODE)
    assert names[48:] == list(NEW)


def test_on_one_gpu_seventeen_of_thirty_five_are_waived_with_the_reason():
    topology = machine(gpus=1)
    settings = Settings(topology=topology, gpus=topology.gpus)
    reasons = [waived(test, settings) for test in TESTS[:35]]
    assert sum(map(bool, reasons)) == 17
    assert set(filter(None, reasons)) == {"takes 2 GPUs, and there is 1"}


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_cells_fill_their_matrices(gpus):
    topology = machine(gpus=gpus)
    settings = Settings(topology=topology, gpus=topology.gpus)
    specs = []
    for test in TESTS:
        if waived(test, settings):
            continue
        cells = make_cells(test, settings)
        specs += [cell.spec for cell in cells]
        wanted = gpus * (gpus - 1) if test.square else gpus
        assert len(cells) == wanted, test.name
        assert len({(cell.row, cell.column) for cell in cells}) == wanted
    Plan(version=PLAN_VERSION, measurements=specs)  # ids are unique, and every spec is valid


def named(name):
    return next(test for test in TESTS if test.name == name)


def cell(name, row, column, gpus=4):
    topology = machine(gpus=gpus)
    cells = make_cells(named(name), Settings(topology=topology, gpus=topology.gpus))
    return next(entry.spec for entry in cells if (entry.row, entry.column) == (row, column))


def ends(one):
    def index(place):
        return place.gpu if isinstance(place, GpuPlace) else "host"

    return index(one.source), index(one.destination), one.gpu


def test_read_and_write_go_the_way_that_nvbandwidths_rows_and_columns_say():
    assert [ends(t) for t in cell("device_to_device_memcpy_read_ce", 1, 2).transfers] == [(2, 1, 1)]
    assert [ends(t) for t in cell("device_to_device_memcpy_write_ce", 1, 2).transfers] == [
        (1, 2, 1)
    ]


def test_reads_of_the_one_and_all_family_are_reads_the_way_that_nvbandwidths_bytes_go():
    for one in cell("all_to_one_read_sm", 0, 1).transfers:
        source, destination, worker = ends(one)
        assert source == 1
        assert worker == destination
    for one in cell("one_to_all_read_sm", 0, 1).transfers:
        assert ends(one)[1:] == (1, 1)


@pytest.mark.parametrize(("side", "worker"), [("read", 1), ("write", 2)])
def test_both_ways_between_gpus_begin_with_the_way_to_the_row(side, worker):
    spec = cell(f"device_to_device_bidirectional_memcpy_{side}_ce", 1, 2)
    assert ends(spec.transfers[0]) == (2, 1, worker)
    assert ends(spec.transfers[1])[:2] == (1, 2)


def test_latency_is_chased_as_nvbandwidth_does():
    spec = cell("host_device_latency_sm", 0, 0)
    assert spec.pattern.order == "linear"
    assert spec.every_sm
    assert (spec.pattern.size, spec.pattern.stride) == (2 << 20, 128)


def test_host_tests_report_one_gpu_and_let_the_others_contend():
    spec = cell("host_to_all_bidirectional_memcpy_ce", 0, 2)
    assert [ends(t)[:2] for t in spec.transfers if t.reported] == [("host", 2)]
    assert len(spec.transfers) == 8


def over_ranks(count, **more):
    """Settings with so many ranks, of hosts that have two GPUs each."""
    topology = machine(gpus=2)
    ranks = [
        RankGpu(
            rank=rank, host=f"node{rank // 2}", gpu=rank % 2, name="GPU", uuid=f"{rank}", cpus=[0]
        )
        for rank in range(count)
    ]
    return Settings(topology=topology, gpus=topology.gpus, ranks=ranks, **more)


def ways(spec):
    """Source, destination and the rank that copies, of what counts; then of what does not."""
    found = {True: [], False: []}
    for one in spec.transfers:
        found[one.reported].append((one.source, one.destination, one.rank))
    return found[True], found[False]


def rank_cells(name, count=4, **more):
    cells = make_cells(named(f"multinode_{name}"), over_ranks(count, **more))
    return {(entry.row, entry.column): entry.spec for entry in cells}


@pytest.mark.parametrize("count", [2, 4])
def test_multinode_cells_fill_their_matrices(count):
    settings = over_ranks(count)
    specs = []
    for name in MULTINODE:
        test = named(name)
        assert bool(waived(test, settings)) == (name in BROADCASTS)
        cells = [] if name in BROADCASTS else make_cells(test, settings)
        specs += [entry.spec for entry in cells]
        wanted = count * (count - 1) if test.square else 1 if test.row_a_transfer else count
        assert len({(entry.row, entry.column) for entry in cells}) == (
            0 if name in BROADCASTS else wanted
        )
    Plan(version=PLAN_VERSION, measurements=specs)


def test_without_ranks_multinode_test_cases_are_waived_with_the_reason():
    for name in MULTINODE:
        said = waived(named(name), over_ranks(0))
        assert ("multicast" if name in BROADCASTS else "several MPI ranks") in said
    said = waived(named(MULTINODE[0]), over_ranks(0, no_ranks="rank 1 has no GPU"))
    assert said == "rank 1 has no GPU"


def test_the_row_s_rank_reads_from_the_column_s_or_writes_to_it():
    reads = rank_cells("device_to_device_memcpy_read_ce")
    assert ways(reads[1, 2]) == ([(2, 1, 1)], [])
    writes = rank_cells("device_to_device_memcpy_write_sm")
    assert ways(writes[1, 2]) == ([(1, 2, 1)], [])


def test_both_ways_copy_engines_count_the_row_s_copy_and_kernels_both():
    by_engine = rank_cells("device_to_device_bidirectional_memcpy_read_ce")[1, 2]
    assert ways(by_engine) == ([(2, 1, 1)], [(1, 2, 2)])
    by_kernel = rank_cells("device_to_device_bidirectional_memcpy_write_sm")[1, 2]
    assert ways(by_kernel) == ([(1, 2, 1), (2, 1, 2)], [])


def test_one_rank_and_all_others():
    to_one = rank_cells("device_to_device_all_to_one_write_sm", 3)
    assert ways(to_one[0, 1]) == ([(0, 1, 0), (2, 1, 2)], [])
    from_one = rank_cells("device_to_device_all_from_one_read_sm", 3)
    assert ways(from_one[0, 1]) == ([(1, 0, 0), (1, 2, 2)], [])


def test_the_bisection_has_every_rank_write_to_its_partner_in_the_other_half():
    (spec,) = rank_cells("bisect_write_ce").values()
    assert ways(spec) == ([(0, 2, 0), (1, 3, 1), (2, 0, 2), (3, 1, 3)], [])
    assert spec.transfers[0].name == "gpu:0@node0 -> gpu:0@node1"


def test_some_pairs_of_ranks_are_drawn_always_the_same():
    name = "device_to_device_memcpy_read_ce"
    drawn = rank_cells(name, target_pairs=3)
    assert len(drawn) == 3
    assert list(rank_cells(name, target_pairs=3)) == list(drawn)
    assert set(drawn) < set(rank_cells(name))
    assert len(rank_cells(name, target_pairs=99)) == 12
    assert rank_cells(name, target_pairs=0) == {}


@given(count=st.integers(2, 9), target=st.integers(0, 72))
def test_drawn_pairs_have_every_rank_once_there_are_as_many_as_ranks(count, target):
    drawn = list(rank_cells("device_to_device_memcpy_write_sm", count, target_pairs=target))
    assert len(set(drawn)) == min(target, count * (count - 1))
    covered = {rank for pair in drawn for rank in pair}
    assert len(covered) == count or target < count
