"""``tierscope topo`` as a user runs it."""

import json
import subprocess
from pathlib import Path

import pytest

from forked import tierscope

XML = Path(__file__).parent / "xml"


def topo(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return tierscope("topo", *arguments)


def test_this_machine_is_shown() -> None:
    done = topo()
    assert (done.returncode, done.stderr) == (0, "")
    assert "NUMA nodes" in done.stdout


def test_json_of_another_machine_holds_its_matrix() -> None:
    done = topo("--input", str(XML / "nvidia-dgx2.xml"), "--json")
    found = json.loads(done.stdout)
    assert [row[0]["label"] for row in found["affinity"]][:2] == ["X", "NV6"]
    assert found["pcie_affinity"][0][:5] == ["X", "PIX", "PXB", "PXB", "NODE"]


def test_path_between_two_endpoints_names_its_limit() -> None:
    done = topo("--input", str(XML / "nvidia-dgx2.xml"), "gpu:0", "gpu:1", "--json")
    assert json.loads(done.stdout)["limit"]["value"] == 150e9


def test_saved_topology_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "here.xml"
    assert topo("--save", str(file)).returncode == 0
    assert topo("--input", str(file)).returncode == 0


def test_drawing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "machine.svg"
    assert topo("--svg", str(file)).returncode == 0
    assert file.read_text().startswith("<svg ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["gpu:0"],
        ["node:0", "node:99"],
        ["nonsense", "node:0"],
        ["--input", "/nonexistent.xml"],
        ["--input", str(XML / "README.md")],
        ["--input", str(XML / "nvidia-dgx2.xml"), "--save", "/tmp/never.xml"],
        ["--svg", "/nonexistent/directory/machine.svg"],
    ],
)
def test_wrong_requests_are_one_line_and_exit_2(arguments: list[str]) -> None:
    done = topo(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tierscope: ")
    assert done.stderr.count("\n") == 1


def test_drives_and_assignment_alone_are_shown_and_are_in_the_json() -> None:
    done = topo("--input", str(XML / "nvidia-dgx2.xml"), "--drives", "--assign")
    assert (done.returncode, done.stderr) == (0, "")
    assert "GPUs, drives and NICs" in done.stdout
    assert "NUMA nodes" not in done.stdout
    found = json.loads(topo("--input", str(XML / "nvidia-dgx2.xml"), "--json").stdout)
    assert len(found["io_devices"]) >= 16
    assert found["assignment"]["drives"] == [], "this file holds no drive"


def test_drives_of_a_path_are_refused() -> None:
    done = topo("node:0", "node:0", "--drives")
    assert (done.returncode, done.stdout) == (2, "")
    assert "give no endpoints" in done.stderr
