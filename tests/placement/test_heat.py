"""Heat of call sites: which addresses are whose, what was accessed there, and the rules for it."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from placement.fake_kernel import FakeKernel
from tierscope.cli import alloc_heat
from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.place import heat
from tierscope.place.allocator import check_rules, environment_for
from tierscope.place.damon import tree
from tierscope.place.damon.rules import Rules
from tierscope.place.damon.status import Region
from tierscope.place.heat import OTHER, Found, SiteHeat, Stretch, Sums
from tierscope.place.kernel import KernelError
from tierscope.report.heat import heat_json

MIB = 1 << 20
SMAPS = """\
00400000-00500000 rw-p 00000000 00:00 0
Rss:                1024 kB
00600000-00601000 rw-p 00000000 00:00 0
Rss:                   4 kB
10000000-10400000 rw-p 00000000 00:00 0
Rss:                2048 kB
10400000-20000000 ---p 00000000 00:00 0
Rss:                   0 kB
20000000-20100000 rw-p 00000000 00:00 0
Rss:                1024 kB
"""
ARENAS = "10000000 20000000 app:load\n20000000 30000000 app:index of\n3000"
"""The last line is being written."""


def site(name: str, size: float, accessed: float) -> SiteHeat:
    return SiteHeat(name, bytes=size, resident=size, accessed=accessed, touched=accessed)


def found(*sites: SiteHeat) -> Found:
    ordered = sorted(sites, key=lambda one: -one.rate)
    return Found(ordered, SiteHeat(OTHER), looks=1, processes=1)


def test_memory_is_that_of_the_function_whose_arena_it_is_in(tmp_path: Path) -> None:
    kernel = FakeKernel(tmp_path / "root")
    for pid in (7, 8):
        folder = Path(f"{kernel.root}/proc/{pid}")
        folder.mkdir(parents=True)
        (folder / "smaps").write_text(SMAPS)
    (tmp_path / "7").write_text(ARENAS)
    (tmp_path / "8").write_text("")  # nothing was large there
    layout = heat.layout_of(kernel, tmp_path, [7, 8, 9])
    assert layout == {
        7: [
            Stretch(0x400000, 0x500000, MIB, OTHER),
            Stretch(0x10000000, 0x10400000, 2 * MIB, "app:load"),
            Stretch(0x20000000, 0x20100000, MIB, "app:index of"),
        ]
    }
    (kdamond,) = heat.rules_for(layout).kdamonds
    (target,) = kdamond.contexts[0].targets
    assert kdamond.contexts[0].operations == "fvaddr"
    assert (target.pid, len(target.regions)) == (7, 3)


def test_damon_is_told_of_new_memory_and_not_of_the_same_again() -> None:
    whole = [Stretch(0, 100 * MIB, MIB, "a"), Stretch(200 * MIB, 300 * MIB, MIB, "b")]
    grown = [Stretch(0, 104 * MIB, MIB, "a"), whole[1]]
    assert heat.has_moved({}, {1: whole})
    assert heat.has_moved({1: whole[:1]}, {1: whole})
    assert heat.has_moved({1: whole}, {2: whole})
    assert heat.has_moved({1: whole}, {1: [Stretch(0, 120 * MIB, MIB, "a"), whole[1]]})
    assert not heat.has_moved({1: whole}, {1: grown})
    assert not heat.has_moved({1: whole}, {1: whole[:1]})


def test_accesses_are_of_the_part_that_a_region_has_of_a_stretch() -> None:
    sums = Sums()
    stretches = [Stretch(0, 100, 50, "half there"), Stretch(100, 200, 100, "whole")]
    sums.add_memory({1: stretches})
    sums.add_regions(stretches, [Region(0, 150, 250, 20, 0), Region(0, 0, 150, 10, 0)])
    hottest, other = sums.found().sites
    assert (hottest.name, hottest.accessed, hottest.touched) == ("whole", 50 * 0.5 + 50, 100)
    assert (other.rate, other.working, other.bytes) == (0.5, 1.0, 50)
    assert sums.found().share(other) == pytest.approx(25 / 100)


@given(
    edges=st.lists(st.integers(0, 500), min_size=2, max_size=12, unique=True),
    places=st.lists(st.integers(0, 500), min_size=2, max_size=8, unique=True),
    accesses=st.integers(0, 20),
)
def test_regions_of_one_rate_give_all_that_they_cover_that_rate(
    edges: list[int], places: list[int], accesses: int
) -> None:
    edges, places = sorted(edges), sorted(places)
    stretches = [
        Stretch(start, end, end - start, f"f{start}") for start, end in itertools.pairwise(places)
    ]
    sums = Sums()
    sums.add_memory({1: stretches})
    regions = [Region(0, start, end, accesses, 0) for start, end in itertools.pairwise(edges)]
    sums.add_regions(stretches, regions)
    covered = sum(max(0, min(one.end, edges[-1]) - max(one.start, edges[0])) for one in stretches)
    total = sum(one.accessed for one in sums.found().sites)
    assert total == pytest.approx(covered * accesses / 20)


def test_the_hottest_stay_as_far_as_they_fit() -> None:
    seen = found(site("hot", 10, 90), site("large", 100, 100), site("warm", 20, 10))
    assert [one.name for one in heat.cold(seen, 30)] == ["large"]
    assert [one.name for one in heat.cold(seen, 5)] == ["large", "warm", "hot"]
    assert heat.cold(seen, 130) == []


def test_without_a_capacity_what_gets_few_accesses_goes() -> None:
    seen = found(site("hot", 10, 990), site("idle", 50, 0), site("cool", 100, 9), site("w", 9, 20))
    assert [one.name for one in heat.cold(seen, None)] == ["cool", "idle"]


def test_shares_and_sizes_just_at_the_bounds() -> None:
    """1% of the accesses goes, as does what no longer fits; what fits exactly stays."""
    seen = found(site("hot", 10, 99), site("cold", 100, 1))
    assert [one.name for one in heat.cold(seen, None)] == ["cold"]
    assert heat.cold(found(site("hot", 10, 98), site("cold", 100, 2)), None) == []
    assert [one.name for one in heat.cold(seen, 10)] == ["cold"]
    assert heat.cold(seen, 110) == []
    many = [site(f"f{n}", n, 0) for n in range(70)]
    assert [one.bytes for one in heat.cold(found(*many), None)] == [*range(69, 5, -1)]


def test_memory_that_has_grown_by_a_twentieth_is_not_yet_looked_at_anew() -> None:
    """Of a process's memory that got smaller, nothing is taken from what the rest grew."""
    before = {1: [Stretch(0, 95, 1, "a"), Stretch(100, 1000, 1, "b")]}
    assert not heat.has_moved(before, {1: [Stretch(0, 100, 1, "a")]})
    assert heat.has_moved(before, {1: [Stretch(0, 101, 1, "a")]})
    assert heat.has_moved(before, {1: [Stretch(0, 101, 1, "a"), Stretch(100, 110, 1, "b")]})
    assert heat.has_moved(before, {1: [Stretch(1, 95, 1, "a")]})


def test_of_functions_as_hot_the_larger_one_is_first_then_by_name() -> None:
    sums = Sums()
    sizes = ((0, 5, "c"), (10, 9, "a"), (20, 5, "b"), (30, 9, OTHER))
    stretches = [Stretch(at, at + 10, size, name) for at, size, name in sizes]
    sums.add_memory({1: stretches, 2: [Stretch(0, 10, 2, OTHER)], 3: [Stretch(0, 10, 4, "c")]})
    sums.add_memory({1: [Stretch(0, 10, 1, "c")]})
    seen = sums.found()
    assert [(one.name, one.bytes, one.resident) for one in seen.sites] == [
        ("a", 9, 9), ("c", 9, 10), ("b", 5, 5),
    ]  # fmt: skip
    assert (seen.other.bytes, seen.processes, seen.looks) == (11, 2, 2)
    assert [one.rate for one in seen.sites] == [0, 0, 0]
    assert (SiteHeat("x").rate, SiteHeat("x").working, seen.share(seen.other)) == (0, 0, 0)


def test_other_mappings_are_looked_at_from_a_mebibyte_on(tmp_path: Path) -> None:
    kernel = FakeKernel(tmp_path / "root")
    folder = Path(f"{kernel.root}/proc/7")
    folder.mkdir(parents=True)
    (folder / "smaps").write_text(SMAPS.replace("4 kB", "1020 kB").replace("600000-00601", "600-7"))
    (tmp_path / "7").write_text("10000000 10400000 f\n10400001 20100000 g\nno arena\n")
    (stretches,) = heat.layout_of(kernel, tmp_path, [7]).values()
    assert [(one.start, one.site) for one in stretches] == [
        (0x400000, OTHER), (0x10000000, "f"), (0x20000000, "g"),
    ]  # fmt: skip


def test_names_with_spaces_or_the_sign_of_a_comment_are_quoted() -> None:
    text = heat.rules_text([site(name, 1, 0) for name in ("a b", "a#b", "ab")], "0,2")
    assert text == 'arena slow 0,2\nsite "a b" -> slow\nsite "a#b" -> slow\nsite ab -> slow\n'


class Tiered:
    """Takes rules, and fails where a test says so."""

    def __init__(self) -> None:
        self.targets: list[list[int | None]] = []
        self.off: list[list[int]] = []
        """The kdamonds that were ended before each beginning."""
        self.fails = False

    def run(self, rules: Rules, _content: object) -> None:
        if self.fails:
            raise KernelError("no such process", 3)
        self.off.append([])
        self.targets.append([one.contexts[0].targets[0].pid for one in rules.kdamonds])


def observed(
    monkeypatch: pytest.MonkeyPatch, kernel: FakeKernel, layouts: list[heat.Layout],
    tiered: Tiered, ended: int = 0,
) -> Found:  # fmt: skip
    """What is found of these layouts, one at each look; a process may have ended meanwhile."""

    def regions(_kernel: object, kdamond: int, context: int) -> list[Region]:
        assert context == 0
        if tiered.targets[-1][kdamond] == ended:
            raise KernelError("it is gone", 3)
        return [Region(0, 0, 10**6, 10, 0)]

    def command(_kernel: object, number: int, word: str) -> None:
        assert word == "off"
        tiered.off[-1].append(number)

    monkeypatch.setattr(tree, "running", lambda _: [*range(len((tiered.targets or [[]])[-1]))])
    monkeypatch.setattr(tree, "command", command)
    left = [*layouts]
    monkeypatch.setattr(heat, "layout_of", lambda *_: left.pop(0))
    monkeypatch.setattr(heat.status, "regions_of", regions)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return heat.observe(kernel, tiered, 1, Path(), lambda: bool(left))  # type: ignore[arg-type]


def test_damon_begins_anew_only_where_memory_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel, tiered = FakeKernel(tmp_path / "root"), Tiered()
    one, grown = {5: [Stretch(0, 100, 50, "f")]}, {5: [Stretch(0, 101, 60, "f")]}
    two = {5: [Stretch(0, 100, 50, "f")], 6: [Stretch(0, 100, 40, "g")]}
    seen = observed(monkeypatch, kernel, [{}, one, one, grown, two, {}, two, one], tiered)
    assert tiered.targets == [[5], [5, 6], [5]]
    assert tiered.off == [[0], [0, 1], []]
    assert (seen.looks, seen.processes) == (6, 2)
    assert {(s.name, s.bytes, s.resident, s.accessed) for s in seen.sites} == {
        ("f", 60, 310, 155), ("g", 40, 80, 40),
    }  # fmt: skip


def test_a_process_that_ended_is_left_out_of_a_look(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel, tiered = FakeKernel(tmp_path / "root"), Tiered()
    two = {5: [Stretch(0, 100, 50, "f")], 6: [Stretch(0, 100, 40, "g")]}
    seen = observed(monkeypatch, kernel, [two, two], tiered, ended=5)
    assert ([one.name for one in seen.sites], seen.looks) == (["g"], 2)
    alone = observed(monkeypatch, kernel, [{5: two[5]}], Tiered(), ended=5)
    assert (alone.sites, alone.looks) == ([], 0)


def test_that_damon_cannot_look_is_an_error_unless_a_process_has_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel, tiered = FakeKernel(tmp_path / "root"), Tiered()
    tiered.fails = True
    layout = {5: [Stretch(0, 100, 50, "f")]}
    assert observed(monkeypatch, kernel, [layout, layout], tiered).looks == 0
    (Path(kernel.root) / "proc/5").mkdir(parents=True)
    with pytest.raises(KernelError):
        observed(monkeypatch, kernel, [layout], tiered)


def test_the_library_takes_the_proposed_rules(tmp_path: Path) -> None:
    slow = [site(name, 1, 0) for name in ("app:load", "my app:x", "app+0x12")]
    file = tmp_path / "tiers.rules"
    file.write_text(heat.rules_text(slow, "0"))
    assert check_rules(str(file)) == (1, 3)
    seen = heat_json(["app"], 1.0, found(*slow), slow[:1], "")
    assert [one["memory"] for one in seen["call_sites"]] == ["slow", "fast", "fast"]
    assert seen["rules"] is None


HALVES = """
import os
kept = [bytearray(1 << 20) for _ in range(4)]
if os.fork():
    os.wait()
else:
    kept += [bytearray(1 << 20) for _ in range(4)]
for line in open("/proc/self/maps"):
    print(os.getpid(), line, end="", flush=True)
"""


def test_each_process_says_which_addresses_are_of_which_function(tmp_path: Path) -> None:
    """Those of a fork are its parent's; what executes another program has that one's only."""
    program = Path(sys.executable)
    environment = environment_for(program, "", ["strict"], None, {}, f"0:{tmp_path}")
    shell = ["sh", "-c", f"exec '{program}' -S -c '{HALVES}'"]
    done = subprocess.run(shell, env=environment, capture_output=True, check=True, text=True)
    pids = {int(line.split()[0]) for line in done.stdout.splitlines()}
    assert {int(path.name) for path in tmp_path.iterdir()} == pids
    for pid in pids:
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{pid} ")]
        mapped = [int(words[1].partition("-")[0], 16) for words in lines]
        arenas = heat.arenas_in((tmp_path / str(pid)).read_text())
        assert arenas
        for start, end, name in arenas:
            assert any(start <= one < end for one in mapped)
            assert ":" in name or "+0x" in name


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    program = Path("/bin/true")
    environment = environment_for(program, "", ["strict"], None, {}, f"0:{tmp_path}/none")
    done = subprocess.run([program], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"tierscope-alloc: TIERSCOPE_ALLOC_HEAT='0:{tmp_path}/none', which is NODES:FOLDER: "
        "No such file or directory\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    kernel = FakeKernel(tmp_path / "root")
    monkeypatch.setattr(alloc_heat, "kernel_here", lambda: kernel)
    return kernel


def test_a_program_of_which_nothing_is_seen_ends_with_its_own_status(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    rules = tmp_path / "tiers.rules"
    words = ["alloc", "heat", "--to", "node:0", "--out", str(rules), "--", "sh", "-c", "exit 7"]
    done = CliRunner().invoke(app, words, standalone_mode=False)
    assert done.return_value == 7, done.output
    assert "No function's memory was seen" in done.output
    assert "0 rules in" in done.output
    assert rules.read_text() == "arena slow 0\n"
    assert tree.count(kernel) == 0


def test_a_program_that_goes_on_is_ended_after_the_time(kernel: FakeKernel) -> None:
    words = ["alloc", "heat", "--for", "0.1s", "--", "sleep", "60"]
    done = CliRunner().invoke(app, words, standalone_mode=False)
    assert done.return_value == 128 + 15, done.output
    assert tree.count(kernel) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--fast 1g -- true", "--fast goes with --to, which names nodes for what is cold"),
        ("--out rules -- true", "--out goes with --to, which names nodes for what is cold"),
        ("--to node:0", "name the program behind --"),
        ("--to node:99 -- true", "node 99 does not exist"),
        ("-- no-such-program", "'no-such-program' cannot be started"),
    ],
)
def test_wrong_requests_start_nothing(kernel: FakeKernel, words: str, says: str) -> None:
    done = CliRunner().invoke(app, ["alloc", "heat", *words.split()], standalone_mode=False)
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)
    assert tree.count(kernel) == 0


def test_not_root_the_command_says_what_it_needs(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(kernel, "live", True)
    done = CliRunner().invoke(app, ["alloc", "heat", "--", "true"], standalone_mode=False)
    assert str(done.exception) == (
        "'alloc heat' needs root, since DAMON's files in /sys are root's: "
        "sudo tierscope alloc heat ..."
    )
