"""From the heat of call sites to rules, and to pages on other nodes."""

import json
import subprocess
from pathlib import Path

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

SOURCE = Path(__file__).parents[2] / "alloc/hot_and_cold.c"
MIB = 1 << 20
HOT, COLD = 24, 32
HBM = "2"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "hot_and_cold"
    subprocess.run(["cc", "-O1", "-fno-builtin", "-o", path, SOURCE], check=True)
    return path


def test_what_is_cold_gets_rules_and_goes_where_they_say(tmp_path: Path, program: Path) -> None:
    rules = tmp_path / "tiers.rules"
    words = [f"./{program.name}", str(HOT), str(COLD)]
    asked = ["--to", f"node:{HBM}", "--out", str(rules), f"--json={tmp_path}/heat.json"]
    done = tierscope("alloc", "heat", *asked, "--", *words, "25", folder=program.parent)
    assert done.returncode == 0, done.stderr
    seen = json.loads((tmp_path / "heat.json").read_text())
    sites = {one["call_site"]: one for one in seen["call_sites"]}
    hottest, *others = sites
    assert hottest == "hot_and_cold:index_of"
    assert set(others) == {"hot_and_cold:archive", "hot_and_cold:backup"}
    for name, size in (("index_of", HOT), ("archive", COLD), ("backup", COLD)):
        # The first MiB of a function is elsewhere, and small blocks have room around them.
        assert sites[f"hot_and_cold:{name}"]["bytes"] == pytest.approx(size * MIB, rel=0.1)
    assert sites["hot_and_cold:index_of"]["access_share"] > 0.8
    assert [one["memory"] for one in sites.values()] == ["fast", "slow", "slow"]
    assert sorted(rules.read_text().splitlines()) == [
        f"arena slow {HBM}",
        "site hot_and_cold:archive -> slow",
        "site hot_and_cold:backup -> slow",
    ]
    assert Path("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds").read_text() == "0\n"

    placements = ["--placement", "unplaced=as-found", "--placement", f"by-rules=alloc:{rules}"]
    once = ["--json", "--rounds", "1", *placements]
    done = tierscope("effect", *once, "--", *words, "5", folder=program.parent)
    assert done.returncode == 0, done.stderr
    unplaced, by_rules = (
        result["evidence"]["program"]["runs"][0]["bytes_by_node"]
        for result in json.loads(done.stdout)["results"]
    )
    assert unplaced.get(HBM, 0) == 0
    assert sum(unplaced.values()) >= (HOT + 2 * COLD) * MIB
    assert by_rules[HBM] == pytest.approx(2 * COLD * MIB, rel=0.1)
    # With what arenas keep account in, of which huge pages make 2 MiB each.
    assert HOT * MIB <= sum(by_rules.values()) - by_rules[HBM] < (HOT + COLD) * MIB
