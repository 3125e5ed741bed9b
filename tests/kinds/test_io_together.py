"""Several targets in one measurement: what each had, all of them, and the devices below."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from forked import tierscope
from samples import samples_of
from tierscope.analysis.expect import check, parse_rule
from tierscope.analysis.observed import merged_evidence
from tierscope.kinds.io.show import array_lines, show_devices, together_remarks
from tierscope.kinds.views import VIEWS
from tierscope.kinds.vocabulary import vocabulary
from tierscope.model.event import Evidence, IoEvidence, Repetition, Series
from tierscope.model.run import Figure, Measurement
from tierscope.model.storage import (
    BlockCounts,
    DriveFacts,
    DriveWear,
    PathFacts,
    StorageFacts,
    TargetIo,
)
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.summary import sentences

MIB = 1 << 20
PATTERN = {
    "operation": "read", "order": "sequential", "block_size": MIB, "backend": "io_uring",
    "direct": True, "depth": 4, "threads": 1, "memory": "node:0",
}  # fmt: skip


def measured(tmp_path: Path, *arguments: str) -> list[dict[str, Any]]:
    """Measure two directories and return the results."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    targets = ",".join(f"file:{tmp_path / name}" for name in ("a", "b"))
    words = ["io", "--to", targets, *arguments, "--budget", "0.4", "--json"]
    words += ["--out", str(tmp_path / "runs")]
    done = tierscope(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return results


def figures(result: dict[str, Any], metric: str) -> dict[str, float]:
    return {
        one["part"]: one["estimate"] for one in result["figures"][1:] if one["metric"] == metric
    }


def test_two_directories_have_figures_of_their_own_and_together(tmp_path: Path) -> None:
    options = ["--size", "1m", "--block-size", "4k", "--order", "random", "--together", "no,yes"]
    first, second, both = measured(tmp_path, *options)
    names = [f"file:{tmp_path}/{name}" for name in ("a", "b")]
    assert [first["target"], second["target"]] == names
    assert both["pattern"]["together"] == ", ".join(names)
    assert list(figures(both, "iops")) == names
    (run,) = (tmp_path / "runs").iterdir()
    rows = [*samples_of(run, both["id"])]
    assert rows
    for row in rows:
        assert sum(row["iops", name] or 0 for name in names) == pytest.approx(
            row["iops", ""], rel=1e-5
        )
    assert set(names) <= set(figures(both, "io_latency_p50"))
    observed = both["evidence"]["storage_io"]
    assert [one["name"] for one in observed["targets"]] == names
    for key in ("reads", "bytes_read"):
        assert sum(one[key] for one in observed["targets"]) == observed[key]
    assert all(one["reads"] for one in observed["targets"])


def test_of_given_amounts_each_target_has_its_finishers(tmp_path: Path) -> None:
    (both,) = measured(tmp_path, "--size", "1m", "--amount", "1m", "--together", "yes")
    observed = both["evidence"]["storage_io"]
    last = [one["last_finisher_s"] for one in observed["targets"]]
    assert observed["last_finisher_s"] == max(last)
    assert all(0 < one["first_finisher_s"] <= one["last_finisher_s"] for one in observed["targets"])
    assert observed["bytes_read"] % (2 * MIB) == 0


def counts(name: str, reads: int, size: int, **more: float) -> BlockCounts:
    values = {
        "reads": reads, "bytes_read": reads * size, "read_ms": 2 * reads, "reads_merged": 0,
        "writes": 0, "bytes_written": 0, "write_ms": 0, "writes_merged": 0,
        "busy_ms": 400, "in_flight_ms": 1500, "seconds": 0.5, **more,
    }  # fmt: skip
    return BlockCounts.model_validate({"name": name, **values})


def array(level: str, devices: list[BlockCounts]) -> Measurement:
    members = [DriveFacts(name=one.name, kind="nvme") for one in devices[1:]]
    path = PathFacts(path="/dev/md0", kind="block", real="/dev/md0", device="9:0", page_bytes=4096)
    chain = ["md0", *(one.name for one in members)]
    storage = [StorageFacts(path=path, chain=chain, level=level, drives=members)]
    made = synthetic.Maker().make("io", "node:0", "dev:/dev/md0", PATTERN, 1e9)
    return made.model_copy(update={"evidence": Evidence(devices=devices, storage=storage)})


def test_what_devices_did_is_derived_from_the_kernels_counts() -> None:
    one = counts("nvme0n1", 1000, 65536)
    assert one.requests_per_s == 2000
    assert (one.mean_bytes, one.await_ms) == (65536, 2)
    assert (one.in_flight, one.utilization) == (3, pytest.approx(0.8))
    idle = counts("nvme0n1", 0, 0, seconds=0)
    assert (idle.requests_per_s, idle.mean_bytes, idle.await_ms, idle.in_flight) == (0, 0, 0, 0)


def test_members_are_compared_with_their_array() -> None:
    member = counts("nvme0n1", 800, MIB // 16)
    stripe = array(
        "raid0", [counts("md0", 100, MIB), member, member.model_copy(update={"name": "nvme1n1"})]
    )
    assert array_lines(stripe) == [
        "md0 (raid0) read 100 MiB, its 2 members together as much.",
        "md0 splits requests of 1024 KiB into 64 KiB for its members.",
    ]
    written = {"reads": 0, "bytes_read": 0, "writes": 100, "bytes_written": 100 * MIB}
    devices = [
        counts(name, 0, 0).model_copy(update=written) for name in ("md0", "nvme0n1", "nvme1n1")
    ]
    assert array_lines(array("raid1", devices)) == [
        "md0 (raid1) wrote 100 MiB, its 2 members together 2 times as much."
    ]


def test_firmware_and_wear_stand_beside_drives_that_have_them() -> None:
    found = array("raid0", [counts("md0", 100, MIB), counts("nvme0n1", 100, MIB)])
    wear = DriveWear(used_percent=3, spare_percent=100, spare_threshold_percent=10, warnings=0,
                     written_bytes=1e12, media_errors=0)  # fmt: skip
    assert found.evidence is not None
    (facts,) = found.evidence.storage or []
    drive = facts.drives[0].model_copy(update={"firmware": "1.0", "wear": wear})
    facts.drives[0] = drive
    console = Console(file=io.StringIO(), width=100)
    show_devices(console, found)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    rows = {line.split()[0]: line.split() for line in text.splitlines() if "%" in line}
    assert rows["nvme0n1"][-2:] == ["1.0", "3%"]
    assert rows["md0"][-1] == "80%"


def test_devices_have_a_table() -> None:
    console = Console(file=io.StringIO(), width=100)
    show_devices(console, array("raid0", [counts("md0", 100, MIB), counts("nvme0n1", 100, MIB)]))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Devices, sequential read of 1 MiB, node:0 → dev:/dev/md0:" in text
    row = next(line.split() for line in text.splitlines() if line.strip().startswith("nvme0n1"))
    assert row == ["nvme0n1", "200", "1024", "KiB", "0.21", "2", "3", "80%"]


def alone(target: str, value: float, firmware: str = "1.0", **pattern: Any) -> Measurement:
    made = synthetic.Maker(noise=1e-6).make("io", "node:0", target, {**PATTERN, **pattern}, value)
    name = target.rpartition("/")[2]
    drive = DriveFacts(name=name, kind="nvme", model="FAST", firmware=firmware)
    path = PathFacts(path=target, kind="block", real=target, device="9:0", page_bytes=4096)
    facts = StorageFacts(path=path, chain=[name], drives=[drive])
    return made.model_copy(update={"evidence": Evidence(storage=[facts])})


def joint(targets: dict[str, float], **seconds: float) -> Measurement:
    pattern = {"together": ", ".join(targets), "jobs": len(targets), "threads": len(targets)}
    made = alone(next(iter(targets)), sum(targets.values()), **pattern)
    ended = [
        TargetIo(name=name, reads=1, writes=0, bytes_read=1, bytes_written=0,
                 last_finisher_s=seconds.get(name.rpartition("/")[2]))
        for name in targets
    ]  # fmt: skip
    parts = [
        Figure(metric="bandwidth", part=name, unit="B/s", estimate=value)
        for name, value in targets.items()
    ]
    observed = IoEvidence(files=[], reads=1, writes=0, bytes_read=1, bytes_written=0, set_up_s=0,
                          targets=ended)  # fmt: skip
    return synthetic.changed(made, figures=parts, evidence=Evidence(storage_io=observed))


def test_outliers_firmware_and_what_is_lost_together_are_told() -> None:
    drives = {f"dev:/dev/nvme{n}n1": 1e9 for n in range(4)}
    found = [alone(name, value) for name, value in drives.items()]
    found[2] = alone("dev:/dev/nvme2n1", 5e8, firmware="0.9")
    both = joint(dict.fromkeys(drives, 700000000.0), nvme0n1=1.5, nvme2n1=2.25)
    assert together_remarks([*found, both]) == [
        "sequential reads: 4 targets together reach 2.80 GB/s, 80% of the sum of each alone",
        "dev:/dev/nvme0n1 finished first, after 1.5 s; dev:/dev/nvme2n1 last, after 2.25 s",
        "alone, dev:/dev/nvme2n1 has 50% of the median of the 4 targets",
        "drives of model FAST differ in firmware: 1.0 on nvme0n1, nvme1n1, nvme3n1; 0.9 on nvme2n1",
    ]
    assert together_remarks(found[:2]) == []


def test_a_measurement_together_is_no_figure_of_one_path() -> None:
    both = joint({"file:/a": 1e9, "file:/b": 1e9})
    view = VIEWS["io"]
    assert view.access is not None
    assert view.access(both) is None
    assert view.summary is not None
    assert "2 targets together" in view.summary([both])


SEEN = Evidence(
    storage_io=IoEvidence(
        files=[], reads=2, writes=0, bytes_read=2, bytes_written=0, set_up_s=0,
        targets=[TargetIo(name=name, reads=1, writes=0, bytes_read=1, bytes_written=0)
                 for name in ("file:/a", "file:/b")],
    )
)  # fmt: skip


def swept() -> list[Measurement]:
    """Two files at three depths, each alone and both together."""
    maker, files, found = synthetic.Maker(noise=1e-6), ["file:/a", "file:/b"], []
    for depth in (1, 4, 16):
        found += [
            synthetic.storage_measurement(maker, 1e4 * depth, target=file, depth=depth)
            for file in files
        ]
        found.append(
            synthetic.storage_measurement(maker, 1.8e4 * depth, target=files[0], depth=depth,
                                          together=", ".join(files), jobs=2, threads=2)
        )  # fmt: skip
    return found


def test_what_ran_together_has_pictures_of_its_own() -> None:
    pictures = list(pictures_of(synthetic.run(swept()), "io", VIEWS))
    for picture in pictures:
        assert len({"together" in m.pattern for m in picture.measurements}) == 1, picture.key
        named = picture.title.endswith("file:/a, file:/b together")
        assert named is ("together" in picture.measurements[0].pattern), picture.title
        assert "file:/a" not in picture.subtitle
    curves = [one for one in pictures if one.title.startswith("IOPS over queue depth")]
    assert [len(one.measurements) for one in curves] == [3, 3, 3]


def test_each_figure_of_several_targets_together_says_which_it_is() -> None:
    lines = together_remarks(
        [
            m if "together" not in m.pattern else m.model_copy(update={"evidence": SEEN})
            for m in swept()
        ]
    )
    assert [line.partition(":")[0] for line in lines] == [
        f"random reads, depth {depth}" for depth in (1, 4, 16)
    ]


def test_neither_rules_nor_sentences_take_targets_together_for_one_path() -> None:
    run = synthetic.run(swept())
    common_fields = parse_rule("node:0 -> file:/a io: >= 1 1/s", vocabulary())
    assert [finding.said.split()[0] for finding in check(run, [common_fields])] == ["160000"]
    summed = parse_rule("node:0 -> file:/a io jobs=2: >= 1 1/s", vocabulary())
    assert check(run, [summed])[0].said.startswith("288000")
    assert "together" not in " ".join(sentences(run, VIEWS))


def test_devices_and_targets_of_several_repetitions_add_up() -> None:
    series = Series(name="w", starts=[0.0], durations=[1.0],
                    columns=[{"metric": "iops", "values": [1.0]}])  # type: ignore[list-item] # fmt: skip

    def repetition(last: float) -> Repetition:
        target = TargetIo(name="file:/a", reads=3, writes=0, bytes_read=12, bytes_written=0,
                          first_finisher_s=0.1, last_finisher_s=last)  # fmt: skip
        observed = IoEvidence(files=[], reads=3, writes=0, bytes_read=12, bytes_written=0,
                              set_up_s=1, targets=[target])  # fmt: skip
        evidence = Evidence(storage_io=observed, devices=[counts("sda", 10, 4096)])
        return Repetition(id="x", seconds=1, fresh=False, interrupted=False, series=[series],
                     evidence=evidence)  # fmt: skip

    merged = merged_evidence([repetition(0.5), repetition(0.25)])
    assert merged.devices == [counts("sda", 20, 4096, busy_ms=800, in_flight_ms=3000, seconds=1.0)]
    assert merged.storage_io is not None
    (target,) = merged.storage_io.targets or []
    assert (target.reads, target.bytes_read, target.last_finisher_s) == (6, 24, 0.25)
