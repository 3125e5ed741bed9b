"""Memory bandwidth from the engine's counters: by socket and device, whole or not at all."""

from tierscope.engine.traffic import CounterSource, TrafficCount, TrafficProcess
from tierscope.machine.counters import Count, Key, lacking_of, rates, reading_of, summed
from tierscope.model.topology import Topology

IMC = "memory controllers"


def count(counter: str, cpu: int, size: float, at: float, source: str = IMC) -> TrafficCount:
    return TrafficCount(source=source, counter=counter, cpu=cpu, bytes=size, seconds=at)


def counts(scale: float, at: float) -> list[TrafficCount]:
    return [
        count("uncore_imc_0/cas_count_read", 0, 10 * scale, at),
        count("uncore_imc_1/cas_count_read", 0, 20 * scale, at + 0.5),
        count("uncore_imc_0/cas_count_write", 0, 5 * scale, at),
        count("uncore_imc_0/cas_count_read", 4, 40 * scale, at),
        count("cxl_pmu_mem1.0/s2m_drs_memdata", 4, 3 * scale, at, "CXL devices"),
        count("cxl_pmu_mem1.0/m2s_rwd_memwr", 4, 2 * scale, at, "CXL devices"),
        count("/mon_L3_01/mbm_total_bytes", 4, 50 * scale, at, "resctrl"),
        count("/batch/mon_L3_01/mbm_total_bytes", 4, 6 * scale, at, "resctrl"),
        count("/mon_L3_01/mbm_local_bytes", 4, 30 * scale, at, "resctrl"),
    ]


def test_rates_are_summed_by_socket_device_and_caches(machine: Topology) -> None:
    before, after = (reading_of(counts(scale, at), machine) for scale, at in ((0, 0), (2, 2)))
    assert summed(rates(before, after), list(after.counts)) == {
        ("read_throughput", "socket 0"): 30,
        ("write_throughput", "socket 0"): 5,
        ("read_throughput", "socket 1"): 40,
        ("read_throughput", "socket 1 mem1"): 3,
        ("write_throughput", "socket 1 mem1"): 2,
        ("throughput", "socket 1 CPUs"): 56,
        ("throughput", "socket 1 CPUs local"): 30,
    }


def test_a_sum_without_one_of_its_counters_is_no_sum(machine: Topology) -> None:
    before, after = (reading_of(counts(scale, at), machine) for scale, at in ((0, 0), (2, 2)))
    del before.counts[Key("read_throughput", "socket 0\tuncore_imc_1/cas_count_read")]
    found = summed(rates(before, after), list(after.counts))
    assert ("read_throughput", "socket 0") not in found
    assert found["read_throughput", "socket 1"] == 40


def test_a_counter_that_is_near_no_known_cpu_counts_for_the_machine(machine: Topology) -> None:
    found = reading_of([count("arm_cmn_0/hnf_read", -1, 1, 1)], machine)
    assert list(found.counts.values()) == [Count(1, 1)]
    assert [key.part.partition("\t")[0] for key in found.counts] == ["machine"]


def test_what_cannot_be_read_says_why() -> None:
    source = CounterSource(
        name="resctrl", available=False, detail="", reason="resctrl is not mounted", remedy="mount"
    )
    (lacking,) = lacking_of([source, source.model_copy(update={"available": True})])
    assert lacking.what == "memory bandwidth by resctrl"
    assert (lacking.reason, lacking.remedy) == ("resctrl is not mounted", "mount")


def test_the_engine_answers_line_by_line() -> None:
    process = TrafficProcess()
    try:
        assert {one.name for one in process.sources} == {IMC, "CXL devices", "resctrl"}
        assert all(one.available or one.reason for one in process.sources)
        known = {one.name for one in process.sources if one.available}
        assert {one.source for one in process.counts()} <= known
        assert {one.source for one in process.counts()} <= known
    finally:
        process.close()
