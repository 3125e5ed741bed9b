"""The kernel's weights of MPOL_WEIGHTED_INTERLEAVE: read, write, and put back as they were.

One table for the whole machine, ``/sys/kernel/mm/mempolicy/weighted_interleave/nodeN`` (Linux 6.9),
1 to 255 pages a node in turn. It counts for pages that are allocated from then on. From 6.16 a file
beside them says whether the kernel derives the weights from firmware's bandwidths: ``auto``, on
some 6.18 kernels ``__auto_type``. Writing a weight ends that mode and leaves the other weights.
Where firmware names no bandwidths, the kernel refuses to return to it (ENODEV) until the next boot.

What was there before the first change is saved (``saved_state``) until ``revert``.
"""

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.place import saved_state
from tierscope.place.features import AUTO_FILES, WEIGHTS

MAX_WEIGHT = 255
_STATE = "weights"
_ON = ("true", "1", "y", "Y")
_SWITCH = {True: "on", False: "off"}


@dataclass(frozen=True)
class Table:
    """The kernel's table."""

    weights: dict[int, int]
    """Weights by node, as the kernel has them."""
    mode: str = ""
    """Name of the file of the automatic mode; empty where the kernel has none."""
    auto: bool = False
    """Whether the kernel derives the weights from firmware's bandwidths."""

    def differences(self, other: "Table") -> list[str]:
        """Say in what another table differs: ``node 2 has 1, not 3``."""
        found = [
            f"node {node} has {other.weights.get(node, 'none')}, not {weight}"
            for node, weight in self.weights.items()
            if other.weights.get(node) != weight
        ]
        if self.auto != other.auto:
            found.append(f"the automatic mode is {_SWITCH[other.auto]}, not {_SWITCH[self.auto]}")
        return found


@dataclass(frozen=True)
class Applied:
    """Outcome of ``apply``."""

    before: Table
    """As it was before the first change, which ``revert`` restores."""
    after: Table
    """As it was read back."""
    one_way: bool
    """The kernel cannot return to its automatic mode before the next boot."""


def read_table(root: str = "/") -> Table:
    """Return the table; raises UserError where the kernel has none."""
    files = Files(root)
    weights = {
        node: weight
        for node, path in files.numbered(WEIGHTS, "node")
        if (weight := files.number(path)) is not None
    }
    if not weights:
        raise UserError(
            "this kernel has no weighted interleave (Linux 6.9 and later have it): there are no "
            "weights to read or write",
            ExitCode.NOTHING_MEASURED,
        )
    mode = next((name for name in AUTO_FILES if files.exists(f"{WEIGHTS}/{name}")), "")
    return Table(weights, mode, bool(mode) and files.text(f"{WEIGHTS}/{mode}") in _ON)


def has_table(root: str = "/") -> bool:
    """Whether the kernel has weights of nodes."""
    return any(Files(root).numbered(WEIGHTS, "node"))


def table_words(weights: Mapping[int, int]) -> str:
    """Return ``node 0: 3, node 2: 1``."""
    return ", ".join(f"node {node}: {weight}" for node, weight in sorted(weights.items()))


def kernel_weights(nodes: Sequence[int], files: Files | None = None) -> tuple[int, ...]:
    """Return the kernel's weights of these nodes; 1 where it has none."""
    files = files or Files()
    return tuple(files.number(f"{WEIGHTS}/node{node}") or 1 for node in nodes)


def may_write(root: str = "/") -> bool:
    """Whether this process may write weights."""
    return any(
        os.access(Files(root).root + path, os.W_OK)
        for _, path in Files(root).numbered(WEIGHTS, "node")
    )


def commands(weights: Mapping[int, int]) -> list[str]:
    """Return the shell commands that write these weights, for somebody who is root."""
    return [
        f"echo {weight} | sudo tee {WEIGHTS}/node{node}" for node, weight in sorted(weights.items())
    ]


def apply(weights: Mapping[int, int], root: str = "/") -> Applied:
    """Save the table, write these weights and read them back.

    Nodes that are not named keep theirs. Raises UserError, all restored, where that fails.
    """
    before = read_table(root)
    _check(weights, before)
    with _locked(root):
        earlier = _load(root)
        if earlier is None:
            saved_state.save(_STATE, _content(before), Path(root))
        one_way = before.auto and not _can_return(before, root)
        try:
            _write_weights(weights, root)
            after = read_table(root)
            wrong = [node for node, weight in weights.items() if after.weights[node] != weight]
            if wrong:
                raise UserError(
                    f"node {wrong[0]} has the weight {after.weights[wrong[0]]} after "
                    f"{weights[wrong[0]]} was written; something else writes it",
                    ExitCode.SOMETHING_FAILED,
                )
        except UserError:
            _restore(before, root)
            if earlier is None:
                saved_state.discard(_STATE, Path(root))
            raise
    return Applied(earlier or before, after, one_way)


def revert(root: str = "/") -> tuple[Table, list[str]] | None:
    """Restore what was there before the first ``apply`` since the last ``revert``.

    Returns the table as it is now and what still differs from what it was; None where nothing was
    changed since the boot.
    """
    with _locked(root):
        saved = _load(root)
        if saved is None:
            return None
        differences = _restore(saved, root)
        saved_state.discard(_STATE, Path(root))
        return read_table(root), differences


def _check(weights: Mapping[int, int], table: Table) -> None:
    for node, weight in weights.items():
        if not 1 <= weight <= MAX_WEIGHT:
            raise UserError(f"node {node}: {weight} is not a weight; weights are 1 to {MAX_WEIGHT}")
        if node not in table.weights:
            known = ", ".join(map(str, table.weights))
            raise UserError(f"the kernel has no weight of node {node}; it has those of {known}")


def _can_return(table: Table, root: str) -> bool:
    """Whether the kernel takes its automatic mode, in which it is: that changes nothing."""
    try:
        _write(f"{WEIGHTS}/{table.mode}", "true", root)
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise _refused(table.mode, error) from None
        return False
    return True


def _write_weights(weights: Mapping[int, int], root: str) -> None:
    for node, weight in weights.items():
        try:
            _write(f"{WEIGHTS}/node{node}", str(weight), root)
        except OSError as error:
            raise _refused(f"node{node}", error) from None


def _restore(saved: Table, root: str) -> list[str]:
    """Restore the mode, then the weights; return what differs afterwards.

    In the automatic mode the weights are the kernel's: writing one would end it.
    """
    if saved.auto and _can_return(saved, root):
        return saved.differences(read_table(root))
    now = read_table(root)
    if now.auto:
        _write(f"{WEIGHTS}/{now.mode}", "false", root)
    present = {node: weight for node, weight in saved.weights.items() if node in now.weights}
    _write_weights(present, root)
    return saved.differences(read_table(root))


def _write(path: str, text: str, root: str) -> None:
    """Write a file of sysfs; raises OSError with the kernel's answer."""
    with open(Files(root).root + path, "w") as file:  # noqa: PTH123 - as Files does
        file.write(text)


def _refused(name: str, error: OSError) -> UserError:
    remedy = "; run it as root" if error.errno in (errno.EACCES, errno.EPERM) else ""
    return UserError(
        f"{WEIGHTS}/{name} cannot be written: {error.strerror}{remedy}", ExitCode.SOMETHING_FAILED
    )


def _content(table: Table) -> dict[str, Any]:
    return {"weights": table.weights, "mode": table.mode, "auto": table.auto}


def _load(root: str) -> Table | None:
    saved = saved_state.load(_STATE, Path(root))
    if saved is None:
        return None
    try:
        weights = {int(node): int(weight) for node, weight in saved["weights"].items()}
        return Table(weights, str(saved["mode"]), bool(saved["auto"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise saved_state.unreadable(_STATE, error, Path(root)) from None


@contextlib.contextmanager
def _locked(root: str) -> Iterator[None]:
    """Hold the lock of the state file; raises UserError where another process has it."""
    with saved_state.locked(_STATE, Path(root)) as lock:
        if lock is None:
            raise UserError(
                "another process changes the kernel's weights at this moment; try again",
                ExitCode.SOMETHING_FAILED,
            )
        yield
