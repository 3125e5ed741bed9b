"""Start a program under a memory policy, on CPUs that were chosen for it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.placement.policy import Policy, policy_set
from tierscope.placement.programs import cannot_start


def start(
    policy: Policy | None,
    command: Sequence[str],
    cpus: Sequence[int] | None = None,
    **settings: Any,
) -> "subprocess.Popen[Any]":
    """Start a program under a policy; None leaves it that of this thread.

    The calling thread takes the policy and the CPUs on for the moment in which it starts the
    child, which inherits both; so a refusal is an error here and not in the child. ``settings`` are
    Popen's. Raises UserError for the policy and the CPUs, OSError where the program does not start.
    """
    with contextlib.ExitStack() as stack:
        if cpus:
            stack.enter_context(_on_cpus(cpus))
        if policy:
            stack.enter_context(policy_set(policy))
        return subprocess.Popen(list(command), **settings)


def become(program: Path, command: Sequence[str], environment: dict[bytes, bytes]) -> NoReturn:
    """Turn this process into a program; raises UserError where it cannot be executed."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, [*command], environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise cannot_start(command[0], error) from None


def run_on(cpus: Sequence[int]) -> None:
    """Let the calling thread run on these CPUs only; raises UserError where it may not."""
    allowed = os.sched_getaffinity(0)
    outside = sorted(set(cpus) - allowed)
    if outside:
        raise UserError(
            f"CPUs {format_ranges(tuple(outside))} do not exist, are offline or are outside of "
            f"what this process may use: {format_ranges(tuple(sorted(allowed)))}"
        )
    os.sched_setaffinity(0, cpus)


@contextlib.contextmanager
def _on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    run_on(cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
