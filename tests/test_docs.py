"""Every command that README and docs show does run."""

import ctypes.util
import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fleet import made
from tests.imported.test_import_cxlbench import DOCUMENT
from tests.imported.test_import_mlc import WHOLE
from tests.topology.coherent_machines import gh200

from forked import tierscope
from object_store import object_store

ROOT = Path(__file__).parent.parent
TIERSCOPE = ROOT / ".venv/bin/tierscope"
COMMAND = re.compile(r"^ {0,4}(?:\.venv/bin/)?tierscope (?=[a-z-])")
REMARK = re.compile(r" +#.*$| {3,}\S.*$")
"""What a line says about its command, behind it."""
SYNOPSIS = re.compile(r"\[|\.\.\.( |$)|\b[A-Z]{3,}\b")
"""Marks a line that says how a command is built, not one to type."""
MORE = {
    "run": "--time-limit 16s",
    "run --profile standard": "--dry-run",
    "run standard --out cxl.jsonl": "--dry-run",
    "run --profile standard --time-limit 190s": "--dry-run",
    "latency --size 4k..256m": "--budget 0.05",
    "latency --chases 1..32*2": "--size 1m --budget 0.05",
    "io --op read,write --order random --block-size 4k --depth 1..64*4 --size 64m": "--budget 0.05",
    "loaded-latency": "--dry-run",
    'loaded-latency --to "node:*"': "--dry-run",
    'loaded-latency --to "node:*" --load-threads 0..all --mix 100:0,0:100 '
    "--load-order sequential,random": "--dry-run",
    'bandwidth --to "node:*" --order random --threads 1..all --size 64m..1g': "--dry-run",
    "bandwidth --to pmem:/tmp --op copy,triad --size 64m": "--budget 0.05",
    "bandwidth --to pmem:node:0 --backing file,pool,pool-objects --op copy --size 64m": (
        "--budget 0.05"
    ),
    "bandwidth --to node:0,pmem:node:0 --pages base --op copy --size 64m": "--budget 0.05",
    "apps run redis,memcached,postgres,rocksdb,vector": "--dry-run",
    "matrix": "--dry-run",
    "mlc": "-b2m -t0.05 -d300",
    "mlc --latency_matrix": "-b2m -t0.1",
    "mlc --bandwidth_matrix -W5 -b500m -X": "-t0.05",
    "mlc --loaded_latency -d0 -t4 --json": "-b2m",
    "run --profile peak-injection": "--dry-run",
    "stream": "--size 4m --budget 0.05",
    "storage . --training unet3d --size 100g --accelerators 1,2,4": "--dry-run",
    "storage . --training resnet50,cosmoflow --accelerator h100,a100": "--dry-run",
    "checkpoint . --model llama3-8b --scale 0.01": "--count 1 --dry-run",
    "checkpoint . --model llama3-70b,llama3-405b,llama3-1t --scale 0.001 --ranks 8": "--count 1",
    "storage .": "--size 16m --time-limit 6s",
    "storage . --time-limit 60s": "--dry-run",
    "files --to file:/tmp": "--files 4 --budget 0.05",
    "files --to file:/tmp --op create,unlink --file-size 0,4k,64k --fsync no,file,directory": (
        "--files 4 --budget 0.05"
    ),
    "files --to file:/tmp --threads 1..all*2 --directories own,shared": "--files 4 --budget 0.05",
    "checkpoint": "--size 1m --budget 0.05s",
    "storage --kv-cache llama3-8b .": "--prefix 64 --time-limit 3s",
    "storage --kv-cache deepseek-v3 /tmp --prefix 256,1k --prefill-rate 8000": "--time-limit 4s",
    "kv-cache node:0 /tmp --piece 16k,32k --pieces 64 --objects 4": "--budget 0.05",
    "checkpoint node:0 /tmp --size 64m --kills 20": "--budget 0.1s",
    "io --to file:/tmp,file:/var/tmp --together no,yes --size 64m": "--budget 0.05",
    "bandwidth --op read --threads 1..2": "--size 4m --budget 0.05",
    "checkpoint pmem:/tmp pmem:node:0 --size 16m --backing file,pool": "--budget 0.05s",
    "checkpoint /tmp --size 16m..64m --threads 1,2 --json": "--budget 0.05s",
    "effect --app duckdb --placement all=as-found --placement half=cpus:0": (
        "--size 64k --rounds 1"
    ),
    "effect --app spark-random-forest --placement dram=node:0 "
    '--placement "extended=preferred node:0 env:_JAVA_OPTIONS=-Xmx1536m"': "--dry-run",
    'effect --app jvm --size 32m --rounds 6 --placement "small=env:JDK_JAVA_OPTIONS='
    '-XX:+UseParallelGC" --placement "extended=env:JDK_JAVA_OPTIONS=-XX:+UseParallelGC '
    'env:_JAVA_OPTIONS=-Xmx128m"': "--dry-run",
    "chain --size 256k,8m,1g": "--budget 0.05",
    'chain --chain each --to "node:*"': "--size 4m --budget 0.05",
    "chain --chain r_2048,r_2048,r_1024,w_64_cache_+64 --linked yes,no": "--size 4m --budget 0.05",
    "chain --chain r_64,m1_r_64 --second-to node:0 --interleave 1..16*2": "--size 4m --budget 0.05",
    "ops --structure btree,hash --keys 4m": "--budget 0.05",
    "ops --structure btree,hash --keys 4m --interleave 1,16 --threads 1": "--budget 0.05",
    "ops --interleave 1..16*4 --keys 1m": "--budget 0.05",
    "ops --op lookup,scan --distribution uniform,zipf --interleave 1..32*2": (
        "--keys 64k --budget 0.05"
    ),
    "ops --keys file:keys.bin": "--budget 0.05",
    "persist --block-size 64..1m*4": "--budget 0.05 --size 4m",
    'persist --to "node:*" --method stores,clwb,nt-drain --order random': "--budget 0.05 --size 4m",
    "persist --to pmem:node:0 --method stores,clwb,transaction --ranges 1,4 --block-size 1k": (
        "--size 4m --budget 0.05"
    ),
    "pmdk": "--size 1m --pairs 2 --budget 0.05",
    'pmdk --to "node:*" --op copy,triad --threads 1,all': "--size 1m --pairs 2 --budget 0.05",
    "persist --method nt-drain --block-size 256 --threads 1..all*2": "--budget 0.05",
    "handover": "--budget 0.05",
    "handover --to dax:/dev/dax0.0 --destroy-data dax0.0 --from cpus:0 --responder cpus:1": (
        "--dry-run"
    ),
    "handover --to dax:/dev/dax0.0 --destroy-data dax0.0 --responder host": "--dry-run",
    "handover-responder dax:/dev/dax0.0 --destroy-data dax0.0": "--help",
    "run --storage .": "--dry-run",
    "check --expect expect.yaml --junit acceptance.xml": "base.jsonl",
    "run --storage . --time-limit 40s": "--dry-run",
    "run workload.yaml": "--dry-run",
    "run workload.yaml --fit --map-nodes 8=0": "--time-limit 1s",
    "run workload.yaml --fit --map-nodes 8=0 --format cxlbench > results.json": "--time-limit 1s",
    "whatif --tier 250ns,30GB/s": "--dry-run",
    "whatif --tier +150ns --tier +400ns last": "--dry-run",
    "expand": "--dry-run",
    "mess": "--dry-run",
    "run --profile mess": "--dry-run",
    "mess --reads 100,75,50": "--points 6 --size 64k --load-size 64k --budget 0.05",
    "mess --from node:0 --to node:0 --points 20 --budget 2s": "--dry-run",
    "traffic --mix 100:0,67:33,50:50,0:100": "--size 4m --budget 0.05",
    "run --profile coherent-gpu": "--dry-run",
    "expand --mix 100:0,0:100nt --order sequential,random --access-size 64": "--dry-run",
    "expand --threads 8,all --size 64m..4g*8": "--dry-run",
    "streamer --groups 2b --size 64m --report study.html": "--threads 1 --budget 0.05",
    "place weights": "--dry-run",
    "place weights --to node:0,2 --mix 50:50": "--dry-run",
    'place weights --from "node:*"': "--dry-run",
    "latency": "--budget 0.05 --size 64k..64m*32",
    "latency --to pmem:node:0 --size 64m": "--budget 0.05",
    "core-latency --from cpus:0 --writer cpus:1": "--budget 0.05",
    "matrix --cores": "--budget 0.05",
    "matrix --cores --from node:0 --state modified --time-limit 1min": "--budget 0.05",
}
"""What keeps the commands that would take minutes short; the run that is checked, since what the
last one measured depends on the commands before."""
BEFORE = {
    "tag last golden": "bandwidth --op read --size 1m --threads 1 --budget 0.05",
    **dict.fromkeys(
        ("apps report last", "apps report last --out applications.html"),
        "effect --app duckdb --size 8m --rounds 1 --placement as-found",
    ),
    "whatif --tier +150ns --tier +400ns last": (
        "ops --structure btree --keys 64k --threads 1 --budget 0.05"
    ),
}
"""What is measured first: a tag moves to a run that can be compared only, and predictions are of
operations."""
SHORTER = (
    ("--kills 20", "--kills 5"),
    ("--kills 50", "--kills 5"),
    ("--reads 100,75,50", "--reads 75"),
    ("--size 4k..1g*8", "--size 4k..16m*8"),
    ("--size 256k,8m,1g", "--size 256k,8m"),
    ("--size 1g", "--size 16m"),
    ("--keys 4m", "--keys 64k"),
    ("--keys 1m", "--keys 64k"),
    ("--budget 1s", "--budget 0.05s"),
    ("--budget 500ms", "--budget 50ms"),
    ("--budget 0.5", "--budget 0.05"),
    ("--budget 0.1", "--budget 0.05"),
    ("--budget 1", "--budget 0.05"),
    ("--time-limit 5s", "--time-limit 1s"),
)
MEASURING = ("bandwidth", "chain", "checkpoint", "latency", "mess", "ops", "storage", "stream ")
"""Numbers that make a shown command long, and ones that prove as much: what it takes as shown is
asked with ``--dry-run``, which parses and plans it, before it measures with the others."""
NEEDS_NODES = re.compile(
    r"^expand|^run --profile coherent-gpu$|^place weights|^export .*--numactl|^ops .*node:2"
    r"|^core-latency .*node:1|--memory .*node:2"
)
HAS_NODES = len([*Path("/sys/devices/system/node").glob("node[0-9]*")]) > 1
NEEDS_SOCKETS = re.compile(r"--socket-link [0-9]")
_SOCKETS = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/physical_package_id")
HAS_SOCKETS = len({file.read_text() for file in _SOCKETS}) > 1
NEEDS_GPU = re.compile(
    r"(?<!-)\bgpu\b|^nvbandwidth|^gdsio.* -x (?!1)|--assign --gdsio|^apps run model"
)
NEEDS_SHELL = re.compile(r"[|<>&;$()*?~]|--install-completion")
"""Completion is installed for the shell that asks."""
CHANGES_MACHINE = re.compile(r"^(tier (?!presets)\w+|alloc heat|hmsdk gen_migpol|apps install)")
"""What needs root and more than one node, or moves pages: its options are parsed, no more."""
NEEDS_POOL = re.compile(r"^pmdk|transaction")
HAS_POOL = ctypes.util.find_library("pmemobj") is not None
HAS_GPU = Path("/proc/driver/nvidia/version").exists()


def code_lines(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line


def shown_commands() -> list[str]:
    found = set()
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        lines = list(code_lines(document.read_text()))
        for number, line in enumerate(lines):
            if COMMAND.match(line):
                for more in lines[number + 1 :]:
                    if line.count('"') % 2 == 0:
                        break
                    line += " " + more.strip()
                found.add(REMARK.sub("", COMMAND.sub("", line)).strip())
    return sorted(command for command in found if not SYNOPSIS.search(command))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder and a history with what the shown commands name."""
    place = tmp_path_factory.mktemp("shown")
    tags = ("golden", "monday", "tuesday", "wednesday")
    for number, tag in enumerate(tags):
        done = call(place, "bandwidth --op read --size 1m --threads 1 --budget 0.2")
        assert done.returncode == 0, done.stderr
        assert call(place, f"tag last {tag}").returncode == 0
        runs = sorted((place / "tierscope/runs").glob("*.jsonl"))
        assert len(runs) == number + 1
    shutil.copy(runs[0], place / "base.jsonl")
    for name in ("new", "cxl", "spread"):
        shutil.copy(runs[1], place / f"{name}.jsonl")
    assert call(place, "bundle cxl.jsonl --out .").returncode == 0
    with tarfile.open(place / "cxl-bundle.tar.gz") as archive:
        archive.extractall(place, filter="data")
    records = runs[2].read_text().splitlines(keepends=True)
    cut = [line for line in records if json.loads(line)["record"] in ("header", "repetition")]
    (place / "cut.jsonl").write_text("".join(cut))
    (place / "expect.yaml").write_text('rules:\n  - "node:* <- node:* size=1m: > 1 B/s"\n')
    (place / "keys.bin").write_bytes(b"".join(n.to_bytes(8, "little") for n in range(1000)))
    assert call(place, "topo --save machine.xml").returncode == 0
    gh200(place).rename(place / "grace-hopper.xml")
    (place / "prices.yaml").write_text(
        "tiers:\n  DRAM: {target: node:0, price: 310 EUR, size: 64g, source: us, date: 2025-02}\n"
    )
    (place / "workloads.json").write_text(json.dumps(DOCUMENT))
    (place / "memory_curves.json").write_text('{"50": [[80.0, 400.0], [20.0, 110.0]]}')
    (place / "mlc.txt").write_text(WHOLE)
    assert call(place, "import cxlbench workloads.json --out imported.jsonl").returncode == 0
    shutil.copy(ROOT / "tests/cxlbench/workloads/shown.yaml", place / "workload.yaml")
    (place / "tmp").mkdir()
    (place / "var/tmp").mkdir(parents=True)
    _make_fleets(place)
    with object_store(place / "fleet", "bucket") as keys, pytest.MonkeyPatch.context() as patch:
        for name, value in keys.items():
            patch.setenv(name, value)
        yield place


def _make_fleets(place: Path) -> None:
    for name in ("fleet", "copied"):
        made.fleet(place / name, 12)
    assert call(place, "fleet gather fleet").returncode == 0
    shutil.copytree(place / "fleet", place / "nights/monday")
    (place / "tables").mkdir()
    (place / "golden.yaml").write_text('rules: ["node:0 -> node:0 read: >= 200 GB/s"]\n')
    (place / "topology.conf").write_text("SwitchName=leaf1 Nodes=node[00000-00011]\n")


def call(place: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """As typed, in folders of our own; through bash where that has a part in it.

    Others who test on this machine measure in /tmp, too, and files there have the same names.
    """
    typed = re.sub(r"(?<=[ :])(?=/tmp\b|/var/tmp\b)", str(place), command)
    typed = typed.replace("/var/lib/node_exporter", str(place))
    home = {"XDG_DATA_HOME": str(place), "HOME": str(place)}
    if not NEEDS_SHELL.search(typed):
        return tierscope(*shlex.split(typed), environment=home, folder=place)
    return subprocess.run(
        ["bash", "-c", f"{TIERSCOPE} {typed}; exit $?"],
        cwd=place,
        env=os.environ | home,
        capture_output=True,
        text=True,
        timeout=300,
    )


def shortened(command: str) -> str:
    """Return a command that measures with smaller numbers; those of peers have no ``--dry-run``."""
    if not command.startswith(MEASURING):
        return command
    for number, smaller in SHORTER:
        command = re.sub(rf"{re.escape(number)}(?= |$)", smaller, command)
    return command


@pytest.mark.parametrize("command", shown_commands())
def test_a_shown_command_runs(command: str, place: Path) -> None:
    typed = CHANGES_MACHINE.sub(r"\1 --help", command)
    # Its file is not that of the rules which other commands read.
    typed = re.sub(r"(check --learn .* -o )", r"\1learned-", typed)
    if command in BEFORE:
        assert call(place, BEFORE[command]).returncode == 0
    more = MORE.get(command, "")
    shorter = shortened(typed)
    if shorter != typed and "--dry-run" not in typed + more:
        done = call(place, f"{typed} --dry-run")
        assert done.returncode == 0, done.stderr
        typed = shorter
    done = call(place, f"{typed} {more}")
    if NEEDS_GPU.search(command) and not HAS_GPU:
        assert done.returncode in (1, 2, 3)  # nvbandwidth's own is 1
        assert done.stderr.count("\n") == 1, "one line that says so"
    elif (NEEDS_NODES.search(command) and not HAS_NODES) or (
        NEEDS_SOCKETS.search(command) and not HAS_SOCKETS
    ):
        assert done.returncode in (2, 3)  # 2: a node that it names is not there
        assert done.stderr.count("\n") == 1, "one line that says so"
    elif NEEDS_POOL.search(command) and not HAS_POOL:
        assert done.returncode in (0, 1, 3), done.stderr  # some or all of it is skipped
    elif command.startswith(("compare", "check")):
        assert done.returncode in (0, 1, 3), done.stderr  # 1: slower, 3: too noisy to say
    else:
        assert done.returncode == 0, done.stderr


def test_the_commands_of_every_document_are_found() -> None:
    assert {"run", "doctor", "topo", "gpu", "report", "run --resume cut.jsonl"} <= set(
        shown_commands()
    )


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_every_make_target_of_a_document_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    targets = re.findall(r"(?:^    |`)make ([a-z-]+)", text, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_make_run_builds_all_libraries_that_it_installs() -> None:
    installed = re.findall(
        r"install\(TARGETS (\S+)[^)]*COMPONENT engine", (ROOT / "CMakeLists.txt").read_text()
    )
    built = re.search(r"--target ([^\\]+)", (ROOT / "tools/bootstrap").read_text())
    assert built
    assert sorted(built[1].split()) == sorted(installed)
