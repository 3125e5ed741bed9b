"""Policies: what fits together, what the kernel is asked for, what it answers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixture_machine import make_machine

from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place import kernel
from tierscope.place.features import FEATURES, has_feature, kernel_version, missing
from tierscope.place.launch import start
from tierscope.place.policy import (
    MODES,
    Mode,
    Policy,
    check_policy,
    kernel_mode,
    make_policy,
    own_policy,
    policy_set,
    set_policy,
)

PRINTS_ITS_POLICY = "from tierscope.place.policy import own_policy; print(own_policy())"


@pytest.fixture(autouse=True)
def _no_policy() -> Iterator[None]:
    yield
    kernel.set_mempolicy(kernel.DEFAULT)


@pytest.mark.parametrize(
    "policy",
    [
        Policy("local"),
        Policy("bind", (0,)),
        Policy("bind", (0,), balancing=True),
        Policy("preferred", (0,)),
        Policy("preferred-many", (0,)),
        Policy("interleave", (0,)),
        Policy("weighted", (0,)),
    ],
    ids=str,
)
def test_a_policy_that_is_set_is_the_threads_own(policy: Policy) -> None:
    try:
        check_policy(policy)
    except UserError as error:
        assert "which came with" in str(error)  # noqa: PT017 - an older kernel says so
        return
    set_policy(policy)
    assert own_policy() == policy
    kernel.set_mempolicy(kernel.DEFAULT)
    assert own_policy() == Policy("local")


def test_a_policy_for_a_while_leaves_the_one_before() -> None:
    set_policy(Policy("interleave", (0,)))
    with policy_set(Policy("bind", (0,), balancing=True)):
        assert own_policy() == Policy("bind", (0,), balancing=True)
    assert own_policy() == Policy("interleave", (0,))


def test_a_program_starts_under_a_policy_on_cpus_and_the_caller_keeps_its_own() -> None:
    cpu = max(os.sched_getaffinity(0))
    code = f"{PRINTS_ITS_POLICY}; import os; print(os.sched_getaffinity(0))"
    with start(Policy("bind", (0,)), [sys.executable, "-c", code], [cpu],
               stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
        assert process.communicate()[0] == f"bind node:0\n{{{cpu}}}\n"
    assert own_policy() == Policy("local")
    assert len(os.sched_getaffinity(0)) > 1 or os.cpu_count() == 1


def test_a_program_that_is_not_there_leaves_the_callers_policy() -> None:
    with pytest.raises(FileNotFoundError):
        start(Policy("bind", (0,)), ["/nowhere/program"])
    assert own_policy() == Policy("local")


def test_cpus_that_are_not_there_are_named() -> None:
    with pytest.raises(UserError, match="CPUs 4095 do not exist, are offline or"):
        start(None, ["true"], [4095])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("local", (0,)), "policy local: it takes no nodes"),
        (("bind",), "policy bind: name the nodes, as in --to node:0"),
        (("preferred", (0, 1)), "takes one node; preferred-many takes several"),
        (("interleave", (0, 1), (2, 1)), "takes no weights; weighted does"),
        (("weighted", (0, 1), (2,)), "give one weight for each of the 2 nodes"),
        (("weighted", (0, 1), (2, 256)), "weights are from 1 to 255"),
        (("interleave", (0,), (), True), "--balancing goes with bind and preferred-many only"),
        (("nearest", (0,)), "policy nearest: there is none; choose among local, bind"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    arguments: tuple[object, ...], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        Policy(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "to", "policy"),
    [
        (None, None, Policy("local")),
        (None, "node:2", Policy("bind", (2,))),
        (None, "0,2@3:1", Policy("weighted", (0, 2), (3, 1))),
        ("interleave", "all", Policy("interleave", (0, 1, 2, 4))),
    ],
)
def test_options_make_a_policy(
    mode: str | None, to: str | None, policy: Policy, tmp_path: Path
) -> None:
    assert make_policy(mode, to, files=Files(make_machine(tmp_path))) == policy


def test_a_misspelt_policy_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'interleave'"):
        make_policy("interleaved", "0", files=Files(make_machine(tmp_path)))


def test_a_node_that_the_kernel_would_drop_in_silence_is_refused(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path))
    with pytest.raises(UserError, match="node 3 is offline"):
        check_policy(Policy("bind", (0, 3)), files)


@pytest.mark.parametrize(
    ("kernel", "policy", "complaint"),
    [
        ("6.1.0-44-amd64", Policy("weighted", (0,)),
         "Linux 6.1.0-44-amd64 does not have weighted interleave, which came with 6.9; a preload"),
        ("5.14.0", Policy("preferred-many", (0, 1)), "use preferred, with one node"),
        ("5.10.0", Policy("bind", (0,), balancing=True), "leave --balancing out"),
        ("6.8.0", Policy("preferred-many", (0,), balancing=True), "which came with 6.10"),
    ],
)  # fmt: skip
def test_a_feature_that_the_kernel_lacks_is_named_with_what_to_do(
    kernel: str, policy: Policy, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        check_policy(policy, Files(make_machine(tmp_path, kernel)))
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("number", "complaint"),
    [(1, "docker run --cap-add SYS_NICE"), (38, "built without NUMA"), (22, "no such mode")],
)
def test_refusals_of_the_kernel_are_explained(number: int, complaint: str) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernel, "set_mempolicy", refuse)
        with pytest.raises(UserError, match=complaint):
            set_policy(Policy("bind", (0,)))


def test_features_are_judged_by_the_kernels_files_before_its_version(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path, "6.12.5"))
    assert kernel_version(files) == (6, 12)
    assert has_feature("weighted-interleave", files)
    assert not has_feature("auto-weights", files)
    for file in sorted(tmp_path.glob("sys/kernel/mm/mempolicy/weighted_interleave/*")):
        file.unlink()
    assert "this kernel was built without it" in missing("weighted-interleave", files)
    (tmp_path / "sys/kernel/mm/mempolicy/weighted_interleave/__auto_type").write_text("")
    assert has_feature("auto-weights", files)


def test_damon_features_need_damon(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path, "6.18.0"))
    damon = [name for name in FEATURES if name.startswith("damos")]
    assert not any(has_feature(name, files) for name in damon)
    (tmp_path / "sys/kernel/mm/damon/admin/kdamonds").mkdir(parents=True)
    assert all(has_feature(name, files) for name in damon)
    assert not has_feature("node-memcg-goals", files)


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (Policy("local"), "local"),
        (Policy("bind", (2, 0)), "bind node:2,0"),
        (Policy("weighted", (0, 2), (255, 1)), "weighted node:0,2@255:1"),
        (Policy("weighted", (0,)), "weighted node:0"),
        (Policy("preferred-many", (1,), (), True), "preferred-many node:1, balancing"),
    ],
)
def test_a_policy_is_written_as_its_options(policy: Policy, text: str) -> None:
    assert str(policy) == text


def test_weights_begin_with_1() -> None:
    with pytest.raises(UserError, match="weights are from 1 to 255"):
        Policy("weighted", (0, 1), (1, 0))


def test_modes_have_the_kernels_numbers() -> None:
    """Of <linux/mempolicy.h>; 0 is the default policy."""
    asked: tuple[Mode, ...] = (
        "preferred", "bind", "interleave", "local", "preferred-many", "weighted",
    )  # fmt: skip
    assert [kernel_mode(mode) for mode in asked] == [1, 2, 3, 4, 5, 6]
    assert sorted(asked) == sorted(MODES)


@pytest.mark.parametrize(
    ("said", "policy"),
    [
        ((0, 0, ()), Policy("local")),
        ((1, 0, ()), Policy("local")),
        ((1, 0, (2,)), Policy("preferred", (2,))),
        ((4, 0, (0,)), Policy("local")),
        ((99, 0, (1,)), Policy("local")),
        ((2, kernel.BALANCING, (0, 1)), Policy("bind", (0, 1), (), True)),
        ((2, kernel.BALANCING << 1, (0,)), Policy("bind", (0,))),
    ],
)
def test_what_the_kernel_says_of_a_thread_is_its_policy(
    monkeypatch: pytest.MonkeyPatch, said: tuple[int, int, tuple[int, ...]], policy: Policy
) -> None:
    monkeypatch.setattr(kernel, "get_mempolicy", lambda: said)
    assert own_policy() == policy


def test_a_policy_that_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(38, "")

    monkeypatch.setattr(kernel, "get_mempolicy", refuse)
    with pytest.raises(UserError, match="this thread's memory policy is unknown: this kernel was"):
        own_policy()
    with (
        pytest.raises(UserError, match="policy bind node:0: this kernel was built without NUMA"),
        policy_set(Policy("bind", (0,))),
    ):
        pass


def test_the_policy_before_comes_back_with_its_flags() -> None:
    told: list[tuple[int, tuple[int, ...]]] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernel, "get_mempolicy", lambda: (3, 1 << 15, (0, 2)))
        patched.setattr(kernel, "set_mempolicy", lambda mode, nodes: told.append((mode, nodes)))
        with pytest.raises(RuntimeError), policy_set(Policy("bind", (0,))):
            raise RuntimeError
    assert told == [(2, (0,)), (3 | 1 << 15, (0, 2))]
