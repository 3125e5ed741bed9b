"""Persistent memory as a target: grammar, plans, what is said; nothing that exists is touched."""

import hashlib
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from synthetic import node
from tierscope.engine.process import find_engine
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.kinds.registry import KINDS
from tierscope.machine.checks import link_findings
from tierscope.machine.cxl import read_namespaces
from tierscope.machine.files import Files
from tierscope.model.endpoint import parse_target
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.persistent import Namespace, PersistentEvidence
from tierscope.model.topology import Mount, Topology
from tierscope.plans.request import Request
from tierscope.report.evidence import mapped_text

TAKING = ["bandwidth", "latency", "loaded-latency", "traffic", "atomics"]


def planned(topology: Topology, kind: str, **options: str) -> list[Any]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    form = KINDS[kind].request
    return list(form.expand(Request(kind=kind, options=named), topology, True))


@pytest.mark.parametrize("text", ["pmem:/mnt/pmem", "pmem:node:2", "dax:/dev/dax0.0"])
def test_a_target_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_target(text)) == text
    assert str(parse_target("pmem:node2")) == "pmem:node:2"


@pytest.mark.parametrize("text", ["pmem:node:", "pmem:node:0,1", "pmem:mnt", "pmem:gpu:0"])
def test_what_is_neither_a_directory_nor_a_node_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"pmem:/mnt/pmem \(a directory\), pmem:node:0"):
        parse_target(text)


@pytest.mark.parametrize("kind", TAKING)
def test_each_kind_of_cpu_measurement_takes_it(machine: Topology, kind: str) -> None:
    (spec, *_) = planned(machine, kind, to="pmem:node:2")
    assert spec.placement.persistent is not None
    assert spec.placement.persistent.bound
    assert spec.placement.nodes[0].node == 2
    assert spec.pattern.pages == "base"
    assert spec.identity()["backing"] == "file"
    assert spec.files() == ["/dev/shm"]
    (plain, *_) = planned(machine, kind, to="node:2")
    assert "backing" not in plain.identity()


def test_mapping_measures_memory_of_nodes_only(machine: Topology) -> None:
    with pytest.raises(UserError, match="--to: 'pmem:/x' is a directory on persistent memory"):
        planned(machine, "mapping", to="pmem:/x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "node:0", "backing": "pool"}, "--backing: goes with pmem: and dax: targets"),
        ({"to": "pmem:/x", "policy": "bind"}, "--policy: goes with nodes, not with pmem:/x"),
        ({"to": "pmem:/x", "pages": "2m"}, "--pages: files and devices"),
        ({"to": "pmem:node:7"}, "--to: endpoint 'pmem:node:7': there is no node 7"),
        ({"to": "dax:/dev/dax0.0"}, "--to: measuring dax:/dev/dax0.0 overwrites it"),
        ({"to": "pmem:/x", "destroy-data": "x"}, "--destroy-data: goes with dax: targets"),
        ({"to": "pmem:/x", "backed-by": "hope"}, "--backed-by: "),
        ({"to": "pmem:/x", "backing": "pool-objects"}, "--backing: "),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(
    machine: Topology, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, "bandwidth", **options)
    assert message in str(refused.value)


def test_backings_are_measured_one_after_the_other(machine: Topology) -> None:
    specs = planned(machine, "bandwidth", to="pmem:/x", op="copy", backing="file,pool,pool-objects")
    assert [spec.placement.persistent.backing for spec in specs] == ["file", "pool", "pool-objects"]
    assert len({spec.id for spec in specs}) == 3


def test_a_directory_is_on_its_devices_node(machine: Topology) -> None:
    found = machine.model_copy(
        update={
            "mounts": [
                Mount(path="/", type="ext4", block="sda"),
                Mount(path="/mnt/pmem", type="ext4", block="pmem0"),
            ],
            "namespaces": [
                Namespace(name="namespace0.0", mode="fsdax", size_bytes=1, device="pmem0", node=2)
            ],
        }
    )
    (on_device, *_) = planned(found, "latency", to="pmem:/mnt/pmem/x")
    assert on_device.placement.nodes[0].node == 2
    (beside, *_) = planned(found, "latency", to="pmem:/mnt/pmem2", **{"from": "node:1"})
    assert beside.placement.nodes[0].node == 1


def test_namespaces_are_read_with_their_regions(tmp_path: Path) -> None:
    region = tmp_path / "sys/devices/ndbus0/region0"
    space, holder = region / "namespace0.0", region / "pfn0.0"
    texts = {
        region / "persistence_domain": "memory_controller",
        region / "numa_node": "1",
        space / "mode": "memory",
        space / "size": "1048576",
        space / "holder": "pfn0.0",
        space / "uuid": "u",
        space / "numa_node": "1",
        region / "namespace0.1/size": "0",
        holder / "block/pmem0/size": "2048",
        tmp_path / "sys/block/pmem0/badblocks": "8 4\n100 2",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    bus = tmp_path / "sys/bus/nd/devices"
    bus.mkdir(parents=True)
    for directory in (region, space, holder, region / "namespace0.1"):
        (bus / directory.name).symlink_to(os.path.relpath(directory, bus))
    (found,) = read_namespaces(Files(tmp_path))
    assert found == Namespace(
        name="namespace0.0",
        mode="fsdax",
        size_bytes=1 << 20,
        device="pmem0",
        region="region0",
        persistence_domain="memory_controller",
        bad_blocks=6,
        node=1,
        uuid="u",
    )


def test_the_doctor_names_bad_blocks_and_namespaces_without_dax(machine: Topology) -> None:
    spaces = [
        Namespace(name="namespace0.0", mode="fsdax", size_bytes=1, bad_blocks=3),
        Namespace(name="namespace1.0", mode="sector", size_bytes=1, persistence_domain="cpu_cache"),
    ]
    found = link_findings(machine.model_copy(update={"namespaces": spaces}), "/nowhere")
    said = [(one.severity, one.subject, one.found) for one in found if "namespace" in one.subject]
    assert [one[0] for one in said] == ["problem", "note", "note", "good"]
    assert "3 blocks" in said[0][2]
    assert "names no persistence domain" in said[1][2]
    assert "mode sector" in said[2][2]


def test_what_is_not_persistent_is_said_to_be_so() -> None:
    found = PersistentEvidence(
        mapping="shared", emulated=False, durable_by="msync", survives_power_loss="no", why="W."
    )
    evidence = Evidence(persistent=found)
    assert mapped_text(None, evidence) == "not persistent memory (a file system)"  # type: ignore[arg-type]


def repeated(specs: list[Any], environment: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The engine's answers to a plan, one for each measurement."""
    plan = Plan(version=PLAN_VERSION, measurements=specs)
    answer = subprocess.run(
        [find_engine(), "run"],
        input=plan.model_dump_json().encode(),
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    events = [json.loads(line) for line in answer.stdout.splitlines()]
    return [one for one in events if one["event"] in ("repetition", "skipped", "failed")]


@pytest.fixture
def small() -> Topology:
    """This machine's first CPU and node, as far as a plan needs them."""
    cpu = min(os.sched_getaffinity(0))
    return Topology(
        host="here",
        source="a test",
        cpu_model="",
        architecture="x86_64",
        packages=[],
        cpus=[cpu],
        siblings=[[cpu]],
        nodes=[node(0, [cpu], 1 << 34)],
        caches=[],
        base_page_bytes=os.sysconf("SC_PAGE_SIZE"),
    )


SHORT = {"size": "1m", "budget": "20ms", "sample": "1ms"}


def test_every_backing_is_measured_and_verified(small: Topology, tmp_path: Path) -> None:
    specs = [
        spec
        for target in (f"pmem:{tmp_path}", "pmem:node:0")
        for spec in planned(
            small,
            "bandwidth",
            to=target,
            op="copy,scale,add,triad",
            backing="file,pool,pool-objects",
            **SHORT,
        )
    ]
    answers = repeated(specs)
    assert [one["event"] for one in answers] == ["repetition"] * len(specs), answers
    for spec, answer in zip(specs, answers, strict=True):
        found = answer["evidence"]["persistent"]
        assert found["survives_power_loss"] == "no"
        assert found["emulated"] == spec.placement.persistent.bound
        assert ("is_pmem" in found) == (spec.placement.persistent.backing != "file")
        assert answer["evidence"]["verified"]
        assert ("isa" in answer["evidence"]) == (spec.identity()["backing"] != "pool-objects")
    assert not list(tmp_path.iterdir())


def test_without_libpmemobj_pools_are_skipped_in_a_line(small: Topology, tmp_path: Path) -> None:
    hidden = tmp_path / "libpmemobj.so.1"
    hidden.write_bytes(b"not a library")
    specs = planned(small, "bandwidth", to="pmem:node:0", op="copy", backing="pool,file", **SHORT)
    pool, plain = repeated(specs, {"LD_LIBRARY_PATH": str(tmp_path)})
    assert (pool["event"], pool["cause"]) == ("skipped", "tool")
    assert pool["reason"] == "libpmemobj.so.1 is not installed"
    assert pool["remedy"] == "apt-get install libpmemobj1"
    assert plain["event"] == "repetition"


def fingerprint(directory: Path) -> dict[str, tuple[str, int, int]]:
    """Contents, inode and time of change of everything below a directory."""
    return {
        str(path): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.lstat().st_ino,
            path.lstat().st_mtime_ns if path.is_file() else 0,
        )
        for path in directory.rglob("*")
    }


def test_two_hundred_attempts_touch_nothing_that_exists(small: Topology, tmp_path: Path) -> None:
    """Files, pools and links of others stand where targets point; engines are killed midway."""
    chance = random.Random(20)
    yard = tmp_path / "yard"
    yard.mkdir()
    (yard / "file").write_bytes(b"kept" * 1000)
    (yard / "pool").write_bytes(b"PMEMOBJ\0" + bytes(4096))
    (yard / "inner").mkdir()
    (yard / "inner/checkpoint").write_bytes(b"kept")
    (yard / "link").symlink_to(yard / "inner")
    (yard / "to-file").symlink_to(yard / "file")
    (yard / "nowhere").symlink_to(yard / "absent")
    read_only = yard / "read-only"
    read_only.mkdir()
    before = fingerprint(yard)
    places = ["", "file", "pool", "inner", "link", "to-file", "nowhere", "absent", "read-only"]
    (template,) = planned(small, "bandwidth", to="pmem:/x", op="copy", **SHORT)
    specs = []
    for number in range(200):
        backing = chance.choice(["file", "pool", "pool-objects", "device"])
        path = str(yard / chance.choice(places)) if chance.random() < 0.95 else "/dev/null"
        more = (
            {"destroy": chance.choice(["", "pool", "null", "dax0.0"])}
            if backing == "device"
            else {}
        )
        persistent = {"backing": backing, "path": path, **more}
        fields = template.model_dump() | {"id": f"attempt-{number}"}
        fields["placement"]["persistent"] = persistent
        specs.append(type(template).model_validate(fields))
    answers = repeated(specs[:150])
    assert len(answers) == 150
    assert {one["event"] for one in answers} == {"repetition", "skipped"}
    for first in range(150, 200, 10):
        plan = Plan(version=PLAN_VERSION, measurements=specs[first : first + 10])
        with subprocess.Popen(
            [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as engine:
            assert engine.stdin is not None
            engine.stdin.write(plan.model_dump_json().encode())
            engine.stdin.close()
            try:
                engine.wait(chance.random() / 4)
            except subprocess.TimeoutExpired:
                engine.kill()
    assert fingerprint(yard) == before
