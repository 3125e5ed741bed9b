"""nvbandwidth's test cases as measurements: names, indices, and what fills their matrices."""

import pytest
from gpu_machine import machine

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.gpu import GpuPlace
from tierscope.recipes.nvbandwidth.cases import TESTS
from tierscope.recipes.nvbandwidth.cells import Settings, make_cells, waived

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


def test_names_and_indices_are_nvbandwidths():
    names = [test.name for test in TESTS]
    assert names[:16] == list(V08)
    assert names[16:32] == [name.replace("_ce", "_sm") for name in V08]
    assert names[32:35] == [
        "host_device_latency_sm",
        "device_to_device_latency_sm",
        "device_local_copy",
    ]
    assert sorted(names[35:]) == sorted(NEW)


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
