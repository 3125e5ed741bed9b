"""``tierscope place``: pages of programs, processes and files on nodes of choice."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, cast

import click

from tierscope.cli import options
from tierscope.cli.commands import place_entries
from tierscope.cli.output import Output
from tierscope.cli.parsing import LazyGroup, WithProgram
from tierscope.cli.signals import termination_signals
from tierscope.model.errors import ExitCode, UserError
from tierscope.plans.grammar import parse_size

if TYPE_CHECKING:
    from tierscope.place.launch import Launch
    from tierscope.place.pages import Moved
    from tierscope.place.policy import Policy

_policy_option = click.option(
    "--policy",
    metavar="POLICY",
    help="local, bind, preferred, preferred-many, interleave, weighted  [default: bind; weighted "
    "where --to has weights]",
)
_to_option = click.option(
    "--to",
    metavar="NODES",
    help="Nodes: node:0,2@3:1, or as numactl writes them: 0-2, all, !1, +0, netdev:eth0, "
    "file:/data, pci:01:00.0",
)


@click.group(cls=LazyGroup, entries=place_entries(), context_settings=options.SETTINGS)
def place() -> None:
    """Place the pages of programs that start, of processes that run, and of files in memory.

    \b
    Examples:
      tierscope place exec --to node:0 -- ./stream
      tierscope place move 4711 --from node:0 --to node:2
      tierscope place file /dev/shm/table --to node:0,2 --policy interleave
      tierscope place weights --to node:0,2 --apply
    """


@click.command("exec", cls=WithProgram, context_settings=options.SETTINGS)
@_policy_option
@_to_option
@click.option(
    "--from", "initiator", metavar="ENDPOINT",
    help="CPUs to run on: node:0 or cpus:0-7,16  [default: any]",
)  # fmt: skip
@click.option(
    "--balancing",
    is_flag=True,
    help="Let NUMA balancing move pages among the nodes (bind, preferred-many)",
)
@click.option(
    "--heap-only", is_flag=True,
    help="Place heap and anonymous memory only, not code, files and stacks (preloads a library)",
)  # fmt: skip
@click.option(
    "--mechanism", metavar="kernel|user", type=click.Choice(["kernel", "user"]),
    help="Place by weights in the kernel or by a preloaded library  [default: the kernel where its "
    "weights are those asked for, else a preloaded library]",
)  # fmt: skip
@click.option(
    "--watch", is_flag=True,
    help="Stay, show pages by node on a terminal, and report their placement at the end",
)  # fmt: skip
@options.json_option
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def execute(watch: bool, output: Output, command: tuple[str, ...], **given: Any) -> int:
    """Start a program under a memory policy, which its threads and children inherit.

    The program takes this process's place: nothing of tierscope stays, unless --watch asks for it.
    Weights are the kernel's where they can be (Linux 6.9 or later); else, and for --heap-only,
    a library is preloaded.

    Exit status: the program's; 2 the placement is not possible, 126 the program cannot be
    executed, 127 there is no such program.

    \b
    Examples:
      tierscope place exec --to node:0 -- stream
      tierscope place exec --to node:0,2@3:1 --from node:0 -- redis-server --port 7000
      tierscope place exec --policy interleave --to all --watch --json=pages.json -- make -j8
      tierscope place exec --policy preferred --to pci:0000:17:00.0 -- ./train
    """
    return start_program(Args(**given), command, watch, output)


class Args(NamedTuple):
    """The options."""

    policy: str | None
    to: str | None
    initiator: str | None
    balancing: bool
    heap_only: bool
    mechanism: str | None


def start_program(args: Args, command: tuple[str, ...], watch: bool, output: Output) -> int:
    """Become the program, or start and watch it; returns its exit status."""
    from tierscope.place.launch import Launch, decide, find_program, own_environment, preloading
    from tierscope.place.policy import make_policy

    if not command:
        raise UserError("name the program behind --, as in: tierscope place exec --to 0 -- stream")
    output.check()
    if output.json and not watch:
        raise UserError("--json is of --watch: add it, as in --watch --json=pages.json")
    cpus = cpus_of(args.initiator)
    policy = None
    if args.policy or args.to:
        policy = make_policy(args.policy, args.to, args.balancing)
    elif args.balancing or args.heap_only or args.mechanism or not (cpus or watch):
        raise UserError("say where its memory is to go, as in --to node:0, or --policy local")
    program = find_program(command[0])
    launch, environment = Launch(), own_environment()
    if policy:
        mechanism = cast(Literal["kernel", "user"] | None, args.mechanism)
        launch = decide(policy, mechanism, args.heap_only)
        environment = preloading(launch, policy, program, environment)
    for note in launch.notes:
        sys.stderr.write(f"tierscope: {note}\n")
    if watch:
        return _watched(policy, launch, program, command, cpus, environment, output)
    return _become(launch, program, command, cpus, environment)


def cpus_of(initiator: str | None) -> list[int]:
    """Return the CPUs that ``--from`` names; none where it was not given. Raises UserError."""
    from tierscope.machine.files import Files
    from tierscope.machine.nodes import NODES
    from tierscope.model.endpoint import EndpointKind, parse_initiator

    if not initiator:
        return []
    parsed = parse_initiator(initiator, (EndpointKind.NODE, EndpointKind.CPUS), "place")
    if parsed.kind is EndpointKind.CPUS:
        return list(parsed.numbers)
    files = Files()
    found = []
    for node in parsed.numbers:
        cpus = files.ranges(f"{NODES}/node{node}/cpulist")
        if not cpus:
            raise UserError(f"--from {initiator}: node {node} has no CPUs that are online")
        found += cpus
    return sorted(set(found) & os.sched_getaffinity(0)) or found


def _become(
    launch: "Launch",
    program: Path,
    command: tuple[str, ...],
    cpus: list[int],
    environment: dict[bytes, bytes],
) -> NoReturn:
    from tierscope.place.launch import become, run_on
    from tierscope.place.policy import set_policy

    if cpus:
        run_on(cpus)
    if launch.policy:
        set_policy(launch.policy)
    become(program, command, environment)


def _watched(
    policy: "Policy | None",
    launch: "Launch",
    program: Path,
    command: tuple[str, ...],
    cpus: list[int],
    environment: dict[bytes, bytes],
    output: Output,
) -> int:
    from tierscope.analysis.effect import Watched
    from tierscope.place.launch import cannot_start, start
    from tierscope.place.look import looks
    from tierscope.place.weights import kernel_weights
    from tierscope.report.placement import live_looks, show_watched, watched_json
    from tierscope.report.style import make_console
    from tierscope.runs.output import write_output

    weights = policy.weights if policy else ()
    if policy and policy.mode == "weighted" and launch.mechanism == "kernel":
        weights = kernel_weights(policy.nodes)
    with _signals_passed_on() as pass_signals_to:
        try:
            process = start(launch.policy, command, cpus, executable=program, env=environment)
        except OSError as error:
            raise cannot_start(command[0], error) from None
        pass_signals_to(process)
        seen = []
        with live_looks() as show:
            for look in looks(process.pid, lambda seconds: _ended(process, seconds)):
                seen.append(look)
                show(look)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    watched = Watched(command, policy, launch.mechanism, weights, status, tuple(seen))
    # Standard output is the program's.
    text = json.dumps(watched_json(watched), indent=2)
    if output.printed == "json":
        click.echo(text)
    else:
        show_watched(make_console(sys.stderr), watched)
    for form, path in output.files():
        write_output(path, f"{text}\n", "--json")
        click.echo(f"{form}: {path}", err=True)
    return status


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextlib.contextmanager
def _signals_passed_on() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Let the program end as it likes: a terminal's Ctrl-C reaches it by itself, others through us.

    Gives a function that takes the program once it has been started; signals wait until then.
    """
    programs: list[subprocess.Popen[bytes]] = []
    waiting: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if programs:
            programs[0].send_signal(number)
        else:
            waiting.append(number)

    def to(program: "subprocess.Popen[bytes]") -> None:
        programs.append(program)
        for number in waiting:
            program.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in termination_signals()}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@options.command("move")
@click.argument("pid", metavar="PID", type=click.IntRange(1, 1 << 22))
@click.option(
    "--from", "source", metavar="NODES", required=True,
    help="Nodes to move pages away from: node:0, or as numactl writes them: 0-2, all, !1, +0",
)  # fmt: skip
@click.option(
    "--to", metavar="NODES", required=True,
    help="Nodes to move them to, with shares as in node:2,4@3:1  [default shares: equal]",
)  # fmt: skip
@click.option(
    "--rate",
    metavar="SIZE",
    help="Move at most this many bytes a second, as in 200m  [default: no limit]",
)
@click.option(
    "--shared", is_flag=True, help="Move pages that several processes map, too (needs root)"
)
@options.json_option
def move(pid: int, source: str, to: str, rate: str | None, shared: bool, output: Output) -> int:
    """Move the pages of a running process from some nodes to others.

    Pages move in batches of 16 MiB, so that the process is never stopped for long. Those that stay
    are counted by reason. New pages still go where the process's own policy says.

    Exit status: 0 all were moved, 1 some were not, 2 the request was wrong.

    \b
    Examples:
      tierscope place move 4711 --from node:0 --to node:2
      tierscope place move 4711 --from all --to node:0,2@3:1 --rate 500m --json
    """
    from tierscope.place.nodes import check_nodes, format_list, select_nodes
    from tierscope.place.pages import move as move_pages
    from tierscope.report.placement import moved_json, show_moved

    output.check()
    sources, target = select_nodes(source), select_nodes(to)
    check_nodes(sources.nodes)
    check_nodes(target.nodes)
    if sources.weights:
        raise UserError(f"--from {source}: only --to takes weights")
    stays = set(sources.nodes) & set(target.nodes)
    if stays and not target.weights and len(target.nodes) == 1:
        raise UserError(
            f"node {format_list(tuple(stays))} is in --from and is all of --to: nothing to move"
        )
    if not os.path.exists(f"/proc/{pid}"):  # noqa: PTH110
        raise UserError(f"there is no process {pid}")
    bytes_a_second = parse_size(rate) if rate else 0
    moved = move_pages(pid, sources.nodes, target, bytes_a_second, shared, _progress)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    output.emit(moved_json(pid, moved), lambda console: show_moved(console, pid, moved), indent=2)
    return ExitCode.SOMETHING_FAILED if moved.stayed or moved.ended else ExitCode.ALL_MEASURED


def _progress(moved: "Moved", whole: int) -> None:
    from tierscope.report.placement import moved_line

    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{moved_line(moved, whole)}")
        sys.stderr.flush()


@options.command("file")
@click.argument("path", metavar="FILE", type=options.PATH)
@_policy_option
@_to_option
@click.option("--size", metavar="SIZE", help="Make the file, or set its length")
@click.option(
    "--shared", is_flag=True, help="Move pages that other processes map, too (needs root)"
)
@options.json_option
def file(
    path: Path,
    policy: str | None,
    to: str | None,
    size: str | None,
    shared: bool,
    output: Output,
) -> None:
    """Give a file in tmpfs (such as POSIX shared memory) or hugetlbfs a policy of its own.

    The policy applies to every process that uses the file, until the file is removed. Pages that
    the file already has are moved. shmkey:KEY and shmid:ID are segments of System V shared memory,
    as 'ipcs -m' lists them.

    \b
    Examples:
      tierscope place file /dev/shm/table --to node:2
      tierscope place file /dev/shm/table --size 1g --to node:0,2@3:1
      tierscope place file shmkey:0x4d2 --to node:2
    """
    from tierscope.place.memory_file import is_segment, place_file, place_segment
    from tierscope.place.policy import make_policy
    from tierscope.report.placement import file_json, show_file

    output.check()
    if not policy and not to:
        raise UserError("say where its pages are to go, as in --to node:0, or --policy local")
    wanted = make_policy(policy, to)
    if is_segment(str(path)):
        if size:
            raise UserError("a segment of shared memory has its size; leave --size out")
        found = place_segment(str(path), wanted, shared)
    else:
        found = place_file(path, wanted, parse_size(size) if size else 0, shared)
    output.emit(
        file_json(path, wanted, found),
        lambda console: show_file(console, path, wanted, found),
        indent=2,
    )
