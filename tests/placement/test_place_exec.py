"""Programs of every sort: placed as asked, or refused with the true reason."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fixture_machine import WEIGHTS, make_machine, write
from hypothesis import given
from hypothesis import strategies as st
from probing import build, probe_of

from tierscope.cli.place import _signals_passed_on
from tierscope.cli.signals import termination_signals
from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place.launch import (
    SETTING,
    decide,
    find_library,
    find_program,
    own_environment,
    preload_obstacle,
    preloading,
    read_elf,
    start,
)
from tierscope.place.policy import Policy

MAPS = "/proc/self/numa_maps"
TIERSCOPE = Path(sys.executable).with_name("tierscope")
PRINTER = """
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void* print(void* unused) {
  char text[65536];
  long got;
  int file = open("/proc/self/numa_maps", O_RDONLY);
  volatile char* heap = malloc(1000000);
  heap[0] = 1;
  while ((got = read(file, text, sizeof text)) > 0) if (write(1, text, got) != got) exit(1);
  return unused;
}
int main(int count, char** words) {
  pthread_t thread;
  if (count > 1 && fork() != 0) return 0;
  if (pthread_create(&thread, 0, print, words[0]) != 0 || pthread_join(thread, 0) != 0) return 1;
  return 0;
}
"""
STATIC = "is statically linked and has no dynamic loader"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that no distribution has."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "printer.c").write_text(PRINTER)
    for name, options in (("threads", []), ("static", ["-static"]), ("pie", ["-static-pie"])):
        command = [
            "cc",
            "-O1",
            "-w",
            "-pthread",
            *options,
            "-o",
            folder / name,
            folder / "printer.c",
        ]
        subprocess.run(command, check=True)
    scripts = {
        "script": f"#!/bin/sh\ncat {MAPS}\n",
        "script-e": f"#!/bin/sh -e\ncat {MAPS}\n",
        "script-env": f"#!/usr/bin/env python3\nprint(open('{MAPS}').read())\n",
        "script-of-script": f"#!{folder}/script\n",
        "script-of-static": f"#!{folder}/static\n",
        "a name with spaces": f"#!/bin/sh\ncat {MAPS}\n",
        "no-line": f"cat {MAPS}\n",
        "no-interpreter": "#!/nowhere/sh\n",
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "not-executable").write_text(scripts["script"])
    (folder / "link").symlink_to("/bin/cat")
    for name, mode in (("set-user-id", 0o4755), ("set-group-id", 0o2755)):
        copy = folder / name
        copy.write_bytes((folder / "threads").read_bytes())
        if os.getuid() == 0:
            os.chown(copy, 65534, 65534)
        copy.chmod(mode)
    return folder


PLACED = {
    "cat": f"cat {MAPS}",
    "grep": f"grep . {MAPS}",
    "sed": f"sed p {MAPS}",
    "awk": f"awk {{print}} {MAPS}",
    "sort": f"sort {MAPS}",
    "dd": f"dd if={MAPS} status=none",
    "head": f"head -n 999 {MAPS}",
    "tail": f"tail -n 999 {MAPS}",
    "perl": f"perl -pe 1 {MAPS}",
    "python": f"python3 -c print(open('{MAPS}').read())",
    "shell": f"sh -c cat$IFS{MAPS}",
    "bash": f"bash -c cat$IFS{MAPS}",
    "env": f"env cat {MAPS}",
    "nice": f"nice cat {MAPS}",
    "timeout": f"timeout 9 cat {MAPS}",
    "xargs": f"xargs -a /dev/null cat {MAPS}",
    "setsid": f"setsid -w cat {MAPS}",
    "loader": f"/lib64/ld-linux-x86-64.so.2 /bin/cat {MAPS}",
    "link": f"@link {MAPS}",
    "threads": "@threads",
    "forking": "@threads fork",
    "script": "@script",
    "script-e": "@script-e",
    "script-env": "@script-env",
    "script-of-script": "@script-of-script",
}
REFUSED = {
    "busybox": (f"busybox cat {MAPS}", STATIC),
    "static": ("@static", STATIC),
    "pie": ("@pie", STATIC),
    "script-of-static": (
        "@script-of-static", f"static', which interprets '@script-of-static', {STATIC}"
    ),
}  # fmt: skip


def words_of(command: str, made: Path) -> list[str]:
    return [word.replace("@", f"{made}/") if word[0] == "@" else word for word in command.split()]


def printed(policy: Policy, command: list[str], mechanism: str | None = None) -> str:
    """What a program prints that is started as ``place exec`` does."""
    program = find_program(command[0])
    launch = decide(policy, mechanism)  # type: ignore[arg-type]
    environment = preloading(launch, policy, program, own_environment())
    with (
        Path(MAPS).open() as maps,
        start(launch.policy, command, executable=program, env=environment, stdin=maps,
              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):  # fmt: skip
        return str(process.communicate()[0])


@pytest.mark.parametrize("name", PLACED)
def test_placed_by_the_kernel_and_by_the_library(name: str, made: Path) -> None:
    if name == "loader" and os.uname().machine != "x86_64":
        command = words_of(PLACED["cat"], made)
    else:
        command = words_of(PLACED[name], made)
    assert " bind:0 heap " in printed(Policy("bind", (0,)), command)
    assert " prefer:0 heap " in printed(Policy("weighted", (0,), (3,)), command, "user")


@pytest.mark.parametrize("name", REFUSED)
def test_placed_by_the_kernel_and_refused_where_the_library_is_needed(
    name: str, made: Path
) -> None:
    command, reason = REFUSED[name]
    words = words_of(command, made)
    assert " bind:0 " in printed(Policy("bind", (0,)), words)
    with pytest.raises(UserError) as refused:
        printed(Policy("weighted", (0,), (3,)), words, "user")
    assert reason.replace("@", f"{made}/") in str(refused.value)


def test_programs_that_gain_rights_are_refused_where_the_library_is_needed(made: Path) -> None:
    library = find_library()
    if os.getuid() == 0:
        assert "is set-user-ID, and the dynamic" in preload_obstacle(made / "set-user-id", library)
        assert "is set-group-ID, and" in preload_obstacle(made / "set-group-id", library)
        assert " bind:0 " in printed(Policy("bind", (0,)), [str(made / "set-user-id")])
    else:
        assert "is set-user-ID" in preload_obstacle(find_program("su"), library)
        assert preload_obstacle(made / "set-user-id", library) == ""


def test_rights_that_the_kernel_would_not_give_are_no_obstacle(made: Path, tmp_path: Path) -> None:
    write(tmp_path, "proc/self/status", "Name:\tx\nNoNewPrivs:\t1\n")
    assert preload_obstacle(made / "set-user-id", find_library(), Files(tmp_path)) == ""


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("", 127, "'' cannot be started: no folder of PATH has it"),
        ("nine-times-nine", 127, "no folder of PATH has it"),
        ("@nowhere", 127, "no such file"),
        ("@not-executable", 126, "is not executable; chmod +x allows it"),
        ("/tmp", 126, "/tmp is a folder"),
        ("@no-interpreter", 126, "its interpreter '/nowhere/sh' is not there or not executable"),
    ],
)
def test_what_cannot_be_executed_is_said_in_one_line(
    name: str, status: int, reason: str, made: Path
) -> None:
    with pytest.raises(UserError, match="cannot be started: ") as refused:
        find_program(name.replace("@", f"{made}/"))
    assert reason in str(refused.value)
    assert refused.value.exit_code == status


def test_programs_for_other_machines_libraries_and_languages_are_told_apart(
    made: Path, tmp_path: Path
) -> None:
    data = bytearray((made / "threads").read_bytes())
    loader = read_elf(made / "threads")
    assert loader is not None
    other, musl, text = tmp_path / "other", tmp_path / "musl", tmp_path / "text"
    other.write_bytes(data[:18] + b"\xf3\x00" + data[20:])
    musl.write_bytes(data.replace(b"ld-linux", b"ld-musl-"))
    text.write_text("hello")
    library = find_library()
    assert "is built for another kind of processor" in preload_obstacle(other, library)
    assert "for the C library musl" in preload_obstacle(musl, library)
    assert "is not an ELF program" in preload_obstacle(text, library)
    go = data.replace(b"GNU\0", b"Go\0\0", 1)
    (tmp_path / "go").write_bytes(go)
    assert "is written in Go" in preload_obstacle(tmp_path / "go", library)


def test_an_old_glibc_is_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", lambda _name: "glibc 2.30")
    said = preload_obstacle(find_program("true"), find_library())
    assert said == "this system has glibc 2.30, and libraries are preloaded from 2.31 on only"
    monkeypatch.setattr(os, "confstr", lambda _name: "glibc 2.34")
    assert preload_obstacle(find_program("true"), find_library()) == ""


@pytest.mark.parametrize(
    "options",
    ["address", "address -static-libasan", "thread", "leak", "undefined"],
)
def test_a_sanitizer_with_an_allocator_of_its_own_is_an_obstacle(
    tmp_path: Path, options: str
) -> None:
    (tmp_path / "x.c").write_text("int main(void) { return 0; }")
    built = tmp_path / "built"
    subprocess.run(
        ["gcc", *f"-fsanitize={options}".split(), "-o", built, tmp_path / "x.c"], check=True
    )
    why = preload_obstacle(built, find_library())
    assert why.startswith("" if options == "undefined" else f"'{built}' is built with a sanitizer")
    assert bool(why) == (options != "undefined")


@given(places=st.dictionaries(st.integers(0, 1500), st.integers(0, 255), max_size=8))
def test_any_damage_to_a_program_s_headers_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, places: dict[int, int]
) -> None:
    data = bytearray(Path("/bin/true").read_bytes())
    for place, value in places.items():
        data[place] = value
    damaged = tmp_path_factory.getbasetemp() / "damaged"
    damaged.write_bytes(data)
    read_elf(damaged)


@pytest.mark.parametrize(
    "way", ["mmap 2 1", "malloc 2 1", "malloc 2 3", "small 2 3", "static 2 1", "reserve 2 1",
            "grow 2 1", "mmap 1 2 fork"],
)  # fmt: skip
def test_all_ways_to_get_memory_are_seen(way: str, tmp_path: Path) -> None:
    program = build(tmp_path)
    policy = Policy("weighted", (0,), (3,))
    launch = decide(policy, "user")
    environment = preloading(launch, policy, program, own_environment())
    with (
        start(launch.policy, [str(program), *way.split()], env=environment,
              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
        probe_of(process) as probe,
    ):  # fmt: skip
        starts = {
            line.split()[0]: line.split()[1]
            for line in Path(f"/proc/{probe.pid}/numa_maps").read_text().splitlines()
        }
        for pages in probe.ranges:
            below = [int(start, 16) for start in starts if int(start, 16) <= pages[-1]]
            assert starts[f"{max(below):x}"] == "prefer:0"


@pytest.mark.parametrize(
    ("added", "stays"),
    [({}, True), ({b"GLIBC_TUNABLES": b"glibc.malloc.trim_threshold=131072"}, False)],
    ids=["as it is", "with limits of the user's"],
)
def test_memory_that_is_freed_and_used_again_is_placed_once(
    added: dict[bytes, bytes], stays: bool, tmp_path: Path
) -> None:
    program = tmp_path / "churn"
    source = Path(__file__).with_name("churn.c")
    subprocess.run(["cc", "-O1", "-fno-builtin", "-o", program, source], check=True)
    policy = Policy("weighted", (0,), (3,))
    environment = preloading(decide(policy, "user"), policy, program, own_environment() | added)
    moves, large = subprocess.check_output([program], env=environment, text=True).split()
    assert (int(moves) == 0, large) == ((True, "heap") if stays else (False, "mapped"))
    plain = subprocess.check_output([program], text=True).split()
    assert (int(plain[0]) == 0, plain[1]) == (False, "heap")


def test_a_library_that_cannot_place_says_so_once_and_the_program_runs(tmp_path: Path) -> None:
    environment = own_environment() | {
        b"LD_PRELOAD": os.fsencode(find_library()),
        SETTING.encode(): b"weights 0@3,nine",
    }
    done = subprocess.run(["sort", MAPS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith("tierscope: libtierscope-place.so: memory is not placed: ")
    assert done.stderr.count("\n") == 1
    environment[SETTING.encode()] = b"weights 1000@3"
    done = subprocess.run(["sort", MAPS], env=environment, capture_output=True, text=True)
    assert done.stderr == (
        "tierscope: libtierscope-place.so: memory is not placed: mbind: Invalid argument\n"
    )
    assert " default heap " in done.stdout


def test_other_preloaded_libraries_stay_in_front() -> None:
    policy = Policy("weighted", (0,), (3,))
    before = {b"LD_PRELOAD": b"/lib/one.so"}
    found = preloading(decide(policy, "user"), policy, Path("/bin/cat"), before)
    assert found[b"LD_PRELOAD"] == b"/lib/one.so:" + os.fsencode(find_library())
    assert found[SETTING.encode()] == b"weights 0@3"


def test_a_kernel_with_the_weights_asked_for_places_by_itself(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path))
    write(tmp_path, f"{WEIGHTS}/node0", "6\n")
    write(tmp_path, f"{WEIGHTS}/node2", "2\n")
    policy = Policy("weighted", (0, 2), (3, 1))
    assert decide(policy, files=files).policy == policy
    unweighted = decide(Policy("weighted", (0, 2)), files=files)
    assert unweighted.notes == ["the weights are the kernel's: node 0: 6, node 2: 2"]


def test_other_weights_than_the_kernels_are_placed_in_user_space_or_refused(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path))
    policy = Policy("weighted", (0, 2), (3, 1))
    launch = decide(policy, files=files)
    assert (launch.policy, launch.setting) == (Policy("bind", (0, 2)), "weights 0@3,2@1")
    assert "one table for the whole machine, are node 0: 1, node 2: 1" in launch.notes[0]
    assert "`sudo tierscope place weights --use node:0,2@3:1 --apply` sets" in launch.notes[0]
    with pytest.raises(UserError, match="without --mechanism, a preloaded library places"):
        decide(policy, "kernel", files=files)
    assert decide(policy, heap_only=True, files=files).policy is None


def test_below_6_9_weights_are_placed_in_user_space(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path, "6.1.0-44-amd64"))
    launch = decide(Policy("weighted", (0, 2), (3, 1)), files=files)
    assert launch.setting == "weights 0@3,2@1"
    (note,) = launch.notes
    assert note.startswith("Linux 6.1.0-44-amd64 does not have weighted interleave, which came")
    assert note.endswith("; a preloaded library places memory by weights in user space")
    with pytest.raises(UserError, match="name the weights, as in --to node:0,2@3:1"):
        decide(Policy("weighted", (0, 2)), files=files)
    with pytest.raises(UserError, match="leave --mechanism out"):
        decide(Policy("weighted", (0, 2), (3, 1)), "kernel", files=files)


def test_the_heap_alone_needs_the_library_and_no_process_policy(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path))
    launch = decide(Policy("preferred-many", (0, 2)), heap_only=True, files=files)
    assert (launch.policy, launch.setting) == (None, "5 0,2")
    for policy in (Policy("local"), Policy("bind", (0,), balancing=True)):
        with pytest.raises(UserError, match="--heap-only does not go with"):
            decide(policy, heap_only=True, files=files)


@pytest.mark.parametrize(
    "policy",
    [Policy("bind", (0,)), Policy("weighted", (0,)), Policy("weighted", (0,), (3,))],
    ids=str,
)
def test_a_static_program_s_heap_alone_is_refused_with_what_the_kernel_can_do(
    policy: Policy, made: Path
) -> None:
    launch = decide(policy, heap_only=True)
    with pytest.raises(UserError, match="has no dynamic loader; without --heap-only and --mech"):
        preloading(launch, policy, made / "static", {})


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run() -> Run:
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(TIERSCOPE), "place", "exec", *words]
        # Libraries of this process may have set further variables that os.environ does not have.
        return subprocess.run(command, env=dict(os.environ), capture_output=True, text=True)

    return run


def test_the_command_becomes_the_program_with_its_environment_and_status(run: Run) -> None:
    done = run("--to", "0", "--", "env", "-0")
    assert dict(line.split("=", 1) for line in done.stdout.split("\0")[:-1]) == dict(os.environ)
    code = "kill -PIPE $$; exit 9"
    assert run("--to", "0", "--", "sh", "-c", code).returncode == -signal.SIGPIPE
    done = run("--to", "0", "--from", "node:0", "--", "sh", "-c", "echo $PPID; exit 7")
    assert (done.returncode, done.stdout) == (7, f"{os.getpid()}\n")


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        ("--to 99 -- true", 2, "node 99 does not exist; choose among the nodes with memory: 0"),
        ("--to 0 true", 2, "put -- before the program, as in: -- true"),
        ("--to 0", 2, "name the program behind --"),
        ("-- true", 2, "say where its memory is to go"),
        ("--policy bind -- true", 2, "name the nodes, as in --to node:0"),
        ("--to 0 --json -- true", 2, "--json is of --watch"),
        ("--to 0 -- nine-times-nine", 127, "no folder of PATH has it"),
        ("--to 0 -- /etc/passwd", 126, "is not executable"),
        ("--to 0@3 --mechanism user -- busybox true", 2, STATIC),
    ],
)
def test_refusals_are_one_line_with_a_status(
    words: str, status: int, complaint: str, run: Run
) -> None:
    done = run(*words.split())
    assert (done.returncode, done.stdout) == (status, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_execve_refuses_is_said_in_one_line(run: Run, made: Path) -> None:
    done = run("--to", "0", "--", str(made / "no-line"))
    assert done.returncode == 126
    assert "neither a program of this machine nor a script that begins with #!" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_watched_program_keeps_its_output_and_status(run: Run, tmp_path: Path) -> None:
    code = "import time; a = bytearray(30 << 20); print('out', flush=True); time.sleep(2); exit(5)"
    file = tmp_path / "watched.json"
    done = run("--to", "0", "--watch", f"--json={file}", "--", "python3", "-c", code)
    assert (done.returncode, done.stdout) == (5, "out\n")
    assert "All of it is where it was asked for." in done.stderr
    seen = json.loads(file.read_text())
    assert seen["exit_status"] == 5
    assert max(look["bytes_by_node"].get("0", 0) for look in seen["looks"]) > 30 << 20
    assert seen["landed"]["as_asked"] is True


def test_a_signal_that_comes_while_a_program_is_started_reaches_it() -> None:
    with _signals_passed_on() as pass_signals_to:
        signal.raise_signal(signal.SIGTERM)
        with subprocess.Popen(["sleep", "60"]) as program:
            pass_signals_to(program)
    assert program.returncode == -signal.SIGTERM


def test_a_program_under_nohup_outlives_the_terminal(run: Run) -> None:
    code = (
        "import os, signal; os.kill(os.getppid(), signal.SIGHUP);"
        "print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        done = run("--to", "0", "--watch", "--", "python3", "-c", code)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (done.returncode, done.stdout) == (0, "True\n")


@pytest.mark.parametrize("hang_up", [signal.SIG_IGN, signal.SIG_DFL])
def test_hanging_up_ends_a_command_unless_nohup_has_it_ignored(hang_up: signal.Handlers) -> None:
    before = signal.signal(signal.SIGHUP, hang_up)
    try:
        found = termination_signals()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (signal.SIGHUP in found) is (hang_up is signal.SIG_DFL)
    assert signal.SIGTERM in found


def test_signals_to_a_watching_command_reach_the_program() -> None:
    command = [str(TIERSCOPE), "place", "exec", "--to", "0", "--watch", "--"]
    with subprocess.Popen(
        [*command, "sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 9
