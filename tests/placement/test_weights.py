"""The kernel's weights of interleaving: written, read back and restored, whatever the kernel."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.place import saved_state, weights
from tierscope.place.features import WEIGHTS
from tierscope.place.weights import Table, apply, commands, read_table, revert

TREES = {"6.9": "", "6.16": "auto", "6.18": "__auto_type"}


class Kernel:
    """A tree of files that answers to writes as the kernel does."""

    def __init__(self, root: Path, mode: str, bandwidths: dict[int, int] | None = None) -> None:
        self.root, self.mode, self.bandwidths = root, mode, bandwidths
        self.folder = root / WEIGHTS[1:]
        self.folder.mkdir(parents=True)
        boot = root / "proc/sys/kernel/random/boot_id"
        boot.parent.mkdir(parents=True)
        boot.write_text("boot-1\n")
        for node in (0, 1, 2):
            self.put(f"node{node}", str((bandwidths or {}).get(node, 1)))
        if mode:
            self.put(mode, "true" if bandwidths else "false")
        self.broken: set[str] = set()

    def put(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"{text}\n")

    def write(self, path: str, text: str, _root: str) -> None:
        name = path.rpartition("/")[2]
        if name in self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not (self.folder / name).exists():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if name == self.mode and text == "true":
            if not self.bandwidths:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            for node, weight in self.bandwidths.items():
                self.put(f"node{node}", str(weight))
        elif name.startswith("node"):
            if not 1 <= int(text) <= 255:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            if self.mode:
                self.put(self.mode, "false")
        self.put(name, text)

    def contents(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.folder.iterdir())}


@pytest.fixture(params=TREES)
def kernel(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kernel:
    mode = TREES[request.param]
    made = Kernel(tmp_path, mode, {0: 5, 1: 5, 2: 2} if mode else None)
    monkeypatch.setattr(weights, "_write", made.write)
    return made


def test_weights_are_written_and_everything_is_restored(kernel: Kernel) -> None:
    root, before = str(kernel.root), kernel.contents()
    done = apply({0: 3, 2: 1}, root)
    assert read_table(root) == done.after
    assert (done.after.weights[0], done.after.weights[2]) == (3, 1)
    assert not done.after.auto
    assert not done.one_way
    assert revert(root) == (done.before, [])
    assert kernel.contents() == before
    assert revert(root) is None


def test_a_second_time_keeps_what_was_there_first(kernel: Kernel) -> None:
    root, before = str(kernel.root), kernel.contents()
    apply({0: 3}, root)
    apply({0: 7, 1: 2}, root)
    revert(root)
    assert kernel.contents() == before


def test_a_write_that_fails_says_where_and_restores_the_others(kernel: Kernel) -> None:
    root, before = str(kernel.root), kernel.contents()
    kernel.broken = {"node2"}
    with pytest.raises(UserError, match="node2 cannot be written"):
        apply({0: 3, 2: 4}, root)
    kernel.broken = set()
    assert kernel.contents() == before


def test_a_killed_command_leaves_what_restores(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two writes: the state file is there before the first one."""
    root, before = str(kernel.root), kernel.contents()

    def killed(path: str, text: str, below: str) -> None:
        kernel.write(path, text, below)
        if path.endswith("node0") and text == "3":
            raise KeyboardInterrupt

    monkeypatch.setattr(weights, "_write", killed)
    with pytest.raises(KeyboardInterrupt):
        apply({0: 3, 2: 4}, root)
    monkeypatch.setattr(weights, "_write", kernel.write)
    assert kernel.contents() != before
    revert(root)
    assert kernel.contents() == before


def test_a_mode_that_the_kernel_does_not_return_to_is_told_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Kernel(tmp_path, "__auto_type")
    made.put("__auto_type", "true")
    monkeypatch.setattr(weights, "_write", made.write)
    assert apply({0: 3, 1: 2}, str(tmp_path)).one_way
    found = revert(str(tmp_path))
    assert found is not None
    table, differences = found
    assert table.weights == {0: 1, 1: 1, 2: 1}
    assert differences == ["the automatic mode is off, not on"]


def test_an_old_kernel_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"6\.9") as caught:
        read_table(str(tmp_path))
    assert caught.value.exit_code is ExitCode.NOTHING_MEASURED


@pytest.mark.parametrize(
    ("wanted", "said"),
    [({0: 0}, "is not a weight"), ({0: 256}, "is not a weight"), ({7: 1}, "no weight of node 7")],
)
def test_what_the_kernel_refuses_is_refused_before(
    kernel: Kernel, wanted: dict[int, int], said: str
) -> None:
    before = kernel.contents()
    with pytest.raises(UserError, match=said):
        apply(wanted, str(kernel.root))
    assert kernel.contents() == before


def test_commands_are_what_root_would_type() -> None:
    assert commands({2: 1, 0: 3}) == [
        "echo 3 | sudo tee /sys/kernel/mm/mempolicy/weighted_interleave/node0",
        "echo 1 | sudo tee /sys/kernel/mm/mempolicy/weighted_interleave/node2",
    ]


def test_two_at_once_do_not_mix(kernel: Kernel) -> None:
    root = str(kernel.root)
    code = (
        "import sys; from pathlib import Path\n"
        "from tierscope.place.saved_state import locked\n"
        "with locked('weights', Path(sys.argv[1])):\n"
        "    print('1', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        with pytest.raises(UserError, match="another process"):
            apply({0: 2}, root)
        other.stdin.close()
    apply({0: 2}, root)


_WEIGHTS = st.dictionaries(st.integers(0, 5), st.integers(1, 255), min_size=1)


@given(_WEIGHTS, _WEIGHTS)
def test_no_difference_is_only_between_equal_tables(
    one: dict[int, int], two: dict[int, int]
) -> None:
    common = {node: two.get(node, 1) for node in one}
    differences = Table(one).differences(Table(common))
    assert (differences == []) == (one == common)


def test_a_difference_is_said_from_what_was_to_what_is() -> None:
    was, now = Table({0: 3, 1: 2, 2: 1}, "auto", True), Table({0: 1, 2: 1, 7: 9}, "auto", False)
    assert was.differences(now) == [
        "node 0 has 1, not 3", "node 1 has none, not 2", "the automatic mode is off, not on",
    ]  # fmt: skip
    assert Table({}, "auto").differences(Table({}, "auto", True)) == [
        "the automatic mode is on, not off"
    ]
    assert weights.table_words({2: 1, 0: 3}) == "node 0: 3, node 2: 1"


def test_the_weights_of_nodes_are_1_where_the_kernel_has_none(tmp_path: Path) -> None:
    assert not weights.has_table(str(tmp_path))
    assert not weights.may_write(str(tmp_path))
    made = Kernel(tmp_path, "auto", {0: 5, 1: 3})
    assert weights.has_table(str(tmp_path))
    assert weights.may_write(str(tmp_path))
    assert weights.kernel_weights((1, 9, 0), Files(str(tmp_path))) == (3, 1, 5)
    for said, auto in (("true", 1), ("1", 1), ("y", 1), ("Y", 1), ("false", 0), ("0", 0)):
        made.put("auto", said)
        assert read_table(str(tmp_path)) == Table({0: 5, 1: 3, 2: 1}, "auto", bool(auto))


def test_a_weight_that_something_else_writes_is_said_and_all_is_restored(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, before = str(kernel.root), kernel.contents()

    def other(path: str, text: str, below: str) -> None:
        kernel.write(path, "9" if path.endswith("node2") and text == "4" else text, below)

    monkeypatch.setattr(weights, "_write", other)
    with pytest.raises(UserError) as refused:
        apply({0: 3, 2: 4}, root)
    assert str(refused.value) == (
        "node 2 has the weight 9 after 4 was written; something else writes it"
    )
    assert refused.value.exit_code is ExitCode.SOMETHING_FAILED
    assert kernel.contents() == before
    assert revert(root) is None


def test_what_fails_after_a_first_change_keeps_what_was_there_before_that(kernel: Kernel) -> None:
    root, before = str(kernel.root), kernel.contents()
    apply({0: 3}, root)
    with_first = kernel.contents()
    kernel.broken = {"node1"}
    with pytest.raises(UserError):
        apply({0: 7, 1: 2}, root)
    kernel.broken = set()
    assert kernel.contents()["node0"] == with_first["node0"]
    assert revert(root) is not None
    assert kernel.contents() == before


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "Permission denied; run it as root"),
        (errno.EPERM, "Operation not permitted; run it as root"),
        (errno.EIO, "Input/output error"),
    ],
)
@pytest.mark.parametrize("name", ["node0", "auto"])
def test_a_write_that_is_refused_says_what_would_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str, name: str
) -> None:
    made = Kernel(tmp_path, "auto", {0: 5, 1: 5, 2: 2})

    def refuse(path: str, text: str, root: str) -> None:
        if path.endswith(name) and text in ("3", "true"):
            raise OSError(number, os.strerror(number))
        made.write(path, text, root)

    monkeypatch.setattr(weights, "_write", refuse)
    with pytest.raises(UserError) as refused:
        apply({0: 3}, str(tmp_path))
    assert str(refused.value) == f"{WEIGHTS}/{name} cannot be written: {said}"
    assert refused.value.exit_code is ExitCode.SOMETHING_FAILED


def test_what_is_restored_is_what_is_still_there(kernel: Kernel) -> None:
    """A node that went offline has no weight, and is named; a mode that was off goes off again."""
    root = str(kernel.root)
    if kernel.mode:
        kernel.put(kernel.mode, "false")
    apply({0: 3}, root)
    (kernel.folder / "node2").unlink()
    weight = read_table(root).weights
    if kernel.mode:
        kernel.put(kernel.mode, "true")
    found = revert(root)
    assert found is not None
    table, differences = found
    assert table == Table({0: 5 if kernel.mode else 1, 1: weight[1]}, kernel.mode, False)
    assert differences == [f"node 2 has none, not {2 if kernel.mode else 1}"]


@pytest.mark.parametrize(
    "saved",
    [
        {"weights": {"a": 1}, "mode": "", "auto": False},
        {"weights": {"0": None}, "mode": "", "auto": False},
        {"weights": [1], "mode": "", "auto": False},
        {"weights": {"0": 1}, "auto": False},
    ],
)
def test_a_saved_table_that_is_none_is_refused(tmp_path: Path, saved: dict[str, object]) -> None:
    Kernel(tmp_path, "")
    saved_state.save("weights", saved, tmp_path)
    with pytest.raises(UserError, match="weights"):
        revert(str(tmp_path))
