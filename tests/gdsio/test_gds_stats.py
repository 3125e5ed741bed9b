"""``tierscope gds-stats`` of other processes, with a program in the place of NVIDIA's."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tierscope.cli.app import app
from tierscope.model.errors import ExitCode, UserError
from tierscope.peers.gds_stats import stats
from tierscope.peers.gds_stats.stats import Sizes, parse_stats

FAKE = Path(__file__).with_name("fake_gds_stats.py")
Use = Callable[[str], None]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Use:
    """Let the fake be the gds_stats on PATH; call it with what it is to print."""
    shutil.copy(FAKE, tmp_path / "gds_stats")

    def use(what: str) -> None:
        monkeypatch.setenv("FAKE_GDS_STATS", what)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    use("guide")
    return use


def answer(*words: str) -> str:
    done = CliRunner().invoke(app, ["gds-stats", *words], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.output


def of_this(*words: str) -> str:
    """Statistics of this test's process, which is not a run of tierscope."""
    return answer("-p", str(os.getpid()), *words)


def test_level_1_has_totals_only(installed: Use) -> None:
    found = json.loads(of_this("--json"))
    assert found["totals"] == {
        "total_files": 8, "total_read_errors": 0, "total_read_size_mib": 78193,
        "read_bandwidth_gib_s": 6.32129, "avg_read_latency_us": 1044, "total_write_errors": 0,
        "total_write_size_mib": 0, "write_bandwidth_gib_s": 0, "avg_write_latency_us": 0,
    }  # fmt: skip
    assert found["version"] == "3"
    assert set(found) == {"source", "version", "totals"}


def test_level_2_adds_sizes(installed: Use) -> None:
    found = json.loads(of_this("-l", "2", "--json"))
    assert len(found["sizes"]) == 16
    assert found["sizes"][9] == {"range": "1024-2048", "reads": 78193, "writes": 0}
    assert found["sizes"][-1]["range"] == "65536-..."
    assert "gpus" not in found


def test_level_3_adds_gpus_and_pools(installed: Use) -> None:
    found = json.loads(of_this("-l3", "--json"))
    assert [gpu["gpu"] for gpu in found["gpus"]] == list(range(16))
    reads = found["gpus"][2]["groups"]["read"]
    assert (reads["bw"], reads["util"], reads["n"], reads["mib"]) == (6.32129, 797, 78193, 78193)
    assert found["gpus"][2]["groups"]["bufregister"]["n"] == 8
    assert found["pools"] == [
        {"gpu": "0", "pool_size_MiB": "64", "usage": "63/64", "used_MiB": "63"}
    ]
    assert found["posix_pools"][1]["1024(KiB)"] == "1/64"
    assert found["rdma"][0] == "GPU 0000:34:00.0 :"
    assert "notes" not in found


def test_tables_leave_out_what_is_idle(installed: Use) -> None:
    text = of_this("-l", "3")
    assert re.search(r"Read BandWidth \(GiB/s\) +6\.32129 *\n", text)
    assert re.search(r"^ *1024-2048 +78193 +0 *$", text, re.MULTILINE)
    assert "512-1024" not in text
    assert "gpu:2" in text
    assert "gpu:3" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_an_idle_process_says_so(installed: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = parse_stats("PER_GPU STATS:\nGPU 0 Read: bw=0 n=0 Write: n=0\n", "x")
    monkeypatch.setattr("tierscope.peers.gds_stats.output.stats_of_tool", lambda *_: idle)
    assert "none of 1 GPUs has any operations" in of_this("-l", "3")


def test_without_the_tool_it_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "find_tool", lambda: None)
    with pytest.raises(UserError, match="comes with the CUDA toolkit's package gds-tools") as error:
        of_this()
    assert error.value.exit_code is ExitCode.NOTHING_MEASURED


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("none", r"has no statistics of process \d+ \('no statistics'\): a process keeps them if"),
        ("other", r"has no statistics of process \d+ \('usage: something else'\)"),
    ],
)
def test_what_has_no_statistics_is_told(what: str, said: str, installed: Use) -> None:
    installed(what)
    with pytest.raises(UserError, match=said) as error:
        of_this()
    assert error.value.exit_code is ExitCode.NOTHING_MEASURED


def test_a_tool_that_hangs_is_ended(installed: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    installed("hang")
    monkeypatch.setattr(stats, "_DEADLINE_S", 0.2)
    with pytest.raises(UserError, match=r"did not answer in 0\.2 s"):
        of_this()


def test_a_process_that_is_not_there() -> None:
    with pytest.raises(UserError, match="there is no process 4194304") as error:
        answer("-p", "4194304")
    assert error.value.exit_code is ExitCode.NOTHING_MEASURED


def test_the_newest_toolkit_s_tool_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stats.shutil, "which", lambda _name: None)
    names = ["cuda-9.2", "cuda-12.8", "cuda", "cuda-13.0"]
    places = [f"/usr/local/{name}/gds/tools/gds_stats" for name in names]
    monkeypatch.setattr(stats.glob, "glob", lambda _pattern: places)
    assert str(stats.find_tool()) == "/usr/local/cuda-13.0/gds/tools/gds_stats"
    monkeypatch.setattr(stats.glob, "glob", lambda _pattern: [])
    assert stats.find_tool() is None


LINES = st.sampled_from(
    ["GLOBAL STATS:", "READ-WRITE SIZE HISTOGRAM :", "PER_GPU STATS:", "RDMA MRSTATS:",
     "PER_GPU POOL BUFFER STATS:", "Total Files: 8", "4-8(KiB): 1 2", "...", "GPU 1 Read: n=1 x=y",
     "GPU : 0 a : b", "GPU", "cuFile STATS VERSION : 3"]
) | st.text(max_size=30)  # fmt: skip


@given(lines=st.lists(LINES, max_size=20))
def test_any_text_is_read_or_kept(lines: list[str]) -> None:
    stats = parse_stats("\n".join(lines), "x")
    if stats is not None and "4-8(KiB): 1 2" in stats.notes:
        assert Sizes("4-8", 1, 2) not in stats.sizes or lines.count("4-8(KiB): 1 2") > 1
