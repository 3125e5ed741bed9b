"""Redis and PostgreSQL under all placements: where their pages are, and that nothing is left.

The slow node is HBM without CPUs: whole processes are kept off the emulated CXL memory, on which
QEMU 10 crashed. Figures mean nothing here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

FAST, SLOW = "0", "2"
PAIR = f"{FAST}:{SLOW}"
ON_FAST = f"cpus:{FAST}"
PLACEMENTS = {
    "local": f"bind node:{FAST}",
    "slow": f"bind node:{SLOW}",
    "interleave": f"interleave node:{FAST},{SLOW}",
    "weights": f"node:{FAST},{SLOW}@3:1",
    "room": f"bind node:{FAST},{SLOW} room:node:{FAST}:50%",
    "tier": f"bind node:{FAST} tier:hmsdk pair:{PAIR}",
}
OWN_RULES = {"alloc": f"alloc:own pair:{PAIR} bind node:{FAST}"}
LEAST, MOST = 0.25, 0.8
"""Share on the slow node where about half is to be: room is made to within 16 MiB, and programs
have small parts, too."""


def shares(name: str, placements: dict[str, str], *words: str) -> dict[str, float]:
    """Run an application once under each placement; return the shares of its memory that were on
    the slow node."""
    given = [word for one, text in placements.items()
             for word in ("--placement", f"{one}={text} {ON_FAST}")]  # fmt: skip
    asked = ["effect", "--json", "--app", name, "--rounds", "1", "--timeout", "30min"]
    done = tierscope(*asked, *words, *given)
    assert done.returncode == 0, (done.stderr, done.stdout[-2000:])
    found = {}
    for result in json.loads(done.stdout)["results"]:
        assert result["status"] == "measured", result
        (run,) = result["evidence"]["program"]["runs"]
        assert set(run["bytes_by_node"]) <= {FAST, SLOW}, run
        assert run["values"]["throughput"] > 0
        found[result["pattern"]["placement"]] = _share(run)
    return found


def _share(run: dict[str, Any]) -> float:
    pages = run["bytes_by_node"]
    return float(pages.get(SLOW, 0) / sum(pages.values()))


def nothing_is_left(program: str) -> bool:
    names = (path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm"))
    return program not in names and not [*Path("/tmp").glob("tierscope-effect-*")]


def test_redis_is_where_each_placement_has_it() -> None:
    slow = ("--size", "128m", "--set", "rate=20", "--set", "seconds=1", "--set", "clients=2")
    found = shares("redis", PLACEMENTS | OWN_RULES, *slow)
    assert found["local"] == 0
    assert found["slow"] > 0.95
    assert found["interleave"] == pytest.approx(1 / 2, abs=0.1)
    assert found["weights"] == pytest.approx(1 / 4, abs=0.1)
    assert LEAST < found["room"] < MOST
    assert LEAST < found["alloc"] < 0.9, "values are on the slow node, keys and tables are not"
    assert nothing_is_left("redis-server")


def test_postgres_is_where_each_placement_has_it() -> None:
    small = ("--size", "128m", "--set", "seconds=2", "--set", "clients=1")
    found = shares("postgres", PLACEMENTS, *small)
    assert found["local"] == 0
    assert found["slow"] > 0.95
    assert found["interleave"] == pytest.approx(1 / 2, abs=0.1)
    assert found["weights"] == pytest.approx(1 / 4, abs=0.1)
    # Page cache of its files takes of the room, too: 64% to 81% were seen on the slow node.
    assert LEAST < found["room"] < 0.95
    assert nothing_is_left("postgres")
