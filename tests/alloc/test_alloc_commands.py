"""``tierscope alloc``, as it is typed."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import wait_until

TIERSCOPE = Path(sys.executable).with_name("tierscope")
RULES = """
arena slow 0 capacity=1G full=spill  # the far node
size >= 64K -> slow
map >= 1M -> slow
"""


def run(*words: str, **settings: object) -> "subprocess.CompletedProcess[str]":
    command = [str(TIERSCOPE), "alloc", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **settings)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "tiers.rules"
    file.write_text(RULES)
    return file


def test_a_file_of_rules_is_checked_by_the_library_itself(rules: Path) -> None:
    done = run("check", rules.name, cwd=rules.parent)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "tiers.rules: 1 arena, 2 rules; nothing is wrong\n", "",
    )  # fmt: skip
    rules.write_text(RULES + "size >= 1X -> slow\n")
    done = run("check", str(rules))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"tierscope: {rules}:5: this size is not understood; "
        "write: size >= 1M -> ARENA, or: size 64K..1M -> ARENA\n"
    )
    rules.write_text("arena slow 777\n")
    assert run("check", str(rules)).stderr.startswith(
        f"tierscope: {rules}:1: arena slow: a node of it does not exist or has no memory"
    )


def test_the_settings_of_the_shell_do_not_count_in_a_check(rules: Path) -> None:
    environment = os.environ | {"TIERSCOPE_ALLOC": "nonsense", "TIERSCOPE_ALLOC_RULES": "/no/file"}
    assert run("check", str(rules), env=environment).returncode == 0


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        ("exec -- true", 2, "say which memory goes where: --to node:2 --above 1m, --ratio 2:1 "),
        ("exec --to 0 --ratio 2:1 -- true", 2, "--to and --ratio exclude each other"),
        ("exec --ratio 2:1 --above 1m -- true", 2, "--above goes with --to, not with --ratio"),
        ("exec --to 0 --nodes 0,1 -- true", 2, "--nodes goes with --ratio, not with --to"),
        ("exec --ratio 2 --nodes 0,1 -- true", 2, "--ratio '2' is not two shares, as in 2:1"),
        ("exec --ratio 2:1 -- true", 2, "--ratio needs two nodes, as in --nodes 0,2"),
        ("exec --to 99 -- true", 2, "node 99 does not exist; choose among the nodes with memory"),
        ("exec --to 0 --above 1x -- true", 2, "'1x' is not a size"),
        ("exec --to 0 --capacity 1 -- true", 2, "its capacity is less than a page"),
        ("exec --rules /no/file -- true", 2, "/no/file: the rules cannot be read: No such file"),
        ("exec --rules a;b -- true", 2, "cannot have ; or a line break in its name"),
        ("exec --to 0 true", 2, "put -- before the program, as in: -- true"),
        ("exec --to 0", 2, "name the program behind --"),
        ("exec --to 0 -- nine-times-nine", 127, "no folder of PATH has it"),
        ("exec --to 0 -- busybox true", 2, "is statically linked and has no dynamic loader"),
        ("sites", 2, "name the program behind --, as in: tierscope alloc sites -- "),
        ("exec --to 0 --json -- true", 2, "--json: stdout is the program's; name a file, as in"),
        ("check", 2, "Missing argument 'FILE'"),
    ],
)
def test_refusals_are_one_line_with_a_status(words: str, status: int, complaint: str) -> None:
    done = run(*words.split())
    assert (done.returncode, done.stdout) == (status, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_becomes_the_program_and_says_what_its_rules_took(rules: Path) -> None:
    code = "import os; block = b'x' * 5000000; print(os.getppid()); exit(7)"
    done = run("exec", "--rules", str(rules), "--statistics", "--", sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (7, f"{os.getpid()}\n")
    assert re.search(r"^tierscope-alloc: line 3, size -> slow: \d+ blocks, [4-9][\d.]+ MiB in all$",
                     done.stderr, re.MULTILINE)  # fmt: skip
    assert re.search(r"arena slow: .* committed", done.stderr)


@pytest.mark.parametrize("words", ["--to node:0 --above 1k", "--to 0@3 --capacity 64m --full fail",
                                   "--to node:0"])  # fmt: skip
def test_options_in_place_of_a_file(words: str) -> None:
    command = ["sort", "/etc/services"]
    done = run("exec", *words.split(), "--statistics", "--strict", "--", *command)
    plain = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert re.search(r"line 2, size -> tier: [1-9]\d* blocks", done.stderr)


def test_a_program_started_by_another_one_that_follows_rules_reports_too(rules: Path) -> None:
    environment = os.environ | {"TIERSCOPE_ALLOC_PROCESS": "1"}
    done = run("exec", "--rules", str(rules), "--statistics", "--", "date", env=environment)
    assert done.stderr.startswith("tierscope-alloc: date, process ")


def test_other_preloaded_libraries_and_the_rest_of_the_environment_stay(rules: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": "libm.so.6", "TIERSCOPE_ALLOC_RULES": "/no/file"}
    done = run("exec", "--rules", str(rules), "--", "env", env=environment)
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert found["LD_PRELOAD"].startswith("libm.so.6:/")
    assert found["TIERSCOPE_ALLOC_RULES"] == str(rules)
    assert run("sites", "--", "env", env=environment).stdout.count("ALLOC_RULES") == 0


def test_the_functions_that_allocate_most_are_listed() -> None:
    done = run("sites", "--", "sort", "/etc/services")
    header, *lines = done.stderr.splitlines()[1:]
    assert header.split() == ["bytes", "blocks", "largest", "call", "site"]
    amounts = [int(line.split()[0]) for line in lines if ":" in line or "+0x" in line]
    assert amounts == sorted(amounts, reverse=True)
    assert amounts[0] > 100_000


def test_json_has_a_line_for_each_process(rules: Path, tmp_path: Path) -> None:
    file = tmp_path / "heap.json"
    file.write_text("of an earlier run\n")
    code = "ls -d /; ls -d /tmp"
    done = run("exec", "--rules", str(rules), f"--json={file}", "--", "sh", "-c", f"{code}; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "/\n/tmp\n", "")
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["program"] for one in found] == ["ls", "ls"]  # sh ends by _exit
    for one in found:
        assert [rule["kind"] for rule in one["rules"]] == ["size", "map"]
        assert one["memory"]["arenas"][0]["name"] == "slow"
        assert one["memory"]["arenas"][0]["capacity"] == 1 << 30
    run("sites", f"--json={file}", "--", "sort", "/etc/services")
    (one,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert one["call_sites"][0]["bytes"] > 100_000
    assert one["lookups"]["count"] >= len(one["call_sites"])


def test_json_of_what_is_looked_at(rules: Path) -> None:
    found = json.loads(run("check", str(rules), "--json").stdout)
    assert found == {"file": str(rules), "arenas": 1, "rules": 2}
    parts = json.loads(run("flags", "--json").stdout)
    assert run("flags").stdout == f"{parts['compile']} {parts['link']}\n"


def test_the_flags_link_a_program_that_runs(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(
        "#include <stdio.h>\n#include <tierscope_alloc.h>\nint main(void) {\n"
        '  ts_arena* arena = ts_arena_create("a", "0", 0, TS_FAIL);\n'
        "  void* block = ts_malloc(arena, 100);\n"
        "  puts(ts_arena_of(block) == arena ? ts_arena_name(arena) : NULL);\n"
        "  ts_free(block);\n  return ts_arena_destroy(arena);\n}\n"
    )
    command = f"cc own.c $({TIERSCOPE} alloc flags) -o own && ./own"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a\n"), done.stderr
    compiling, linking = run("flags", "--compile").stdout, run("flags", "--link").stdout
    assert f"{compiling.strip()} {linking}" == run("flags").stdout


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
@pytest.mark.parametrize(
    "rules", ["site redis-server:z*alloc* -> slow\n", "map >= 1M -> slow\nratio plain:slow 2:1\n"]
)
def test_redis_serves_and_saves(rules: str, tmp_path: Path) -> None:
    (tmp_path / "redis.rules").write_text(f"arena slow 0\nthread bio* -> slow\n{rules}")
    port = str(free_port())
    command = [TIERSCOPE, "alloc", "exec", "--rules", tmp_path / "redis.rules", "--strict", "--",
               "redis-server", "--port", port, "--dir", tmp_path, "--save", ""]  # fmt: skip

    def client(*words: str) -> str:
        done = subprocess.run(["redis-cli", "-p", port, *words], capture_output=True, text=True)
        return done.stdout.strip()

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_until(lambda: client("ping") == "PONG" or server.poll() is not None, "it answers")
            assert server.poll() is None
            assert client("set", "key", "value") == "OK"
            bench = ["redis-benchmark", "-p", port, "-n", "10000", "-d", "3000", "-q"]
            subprocess.run([*bench, "-t", "set,get,lpush"], capture_output=True, check=True)
            assert client("get", "key") == "value"
            assert client("save") == "OK"
            assert "started" in client("bgsave")
        finally:
            client("shutdown", "nosave")
            server.wait(30)
    assert server.returncode == 0


JAVA = """
import java.util.*;
public class Smoke {
  public static void main(String[] words) throws Exception {
    List<byte[]> kept = new ArrayList<>();
    Thread[] threads = new Thread[4];
    for (int i = 0; i < 4; ++i) {
      threads[i] = new Thread(() -> {
        for (int j = 0; j < 2000; ++j) synchronized (kept) { kept.add(new byte[5000]); }
      });
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
    System.gc();
    System.out.println(kept.size() + java.nio.ByteBuffer.allocateDirect(1 << 20).capacity());
  }
}
"""


@pytest.mark.skipif(not shutil.which("javac"), reason="a Java development kit is not installed")
@pytest.mark.parametrize(
    "rules",
    [
        "size >= 1 -> slow\nmap >= 1M -> slow\n",
        "thread C?*Comp* -> slow\nratio plain:slow 1:1\n",
    ],
)
def test_java_compiles_and_runs(rules: str, tmp_path: Path) -> None:
    (tmp_path / "Smoke.java").write_text(JAVA)
    (tmp_path / "java.rules").write_text(f"arena slow 0\n{rules}")
    command = ["exec", "--rules", str(tmp_path / "java.rules"), "--strict", "--"]
    done = run(*command, "java", "-Xmx256m", str(tmp_path / "Smoke.java"))
    assert (done.returncode, done.stdout) == (0, f"{8000 + (1 << 20)}\n"), done.stderr
    assert run(*command, "java", "-version").returncode == 0
