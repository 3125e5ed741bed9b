"""Real files, and what disks, editors, scripts and other tools do to them."""

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from tests import synthetic
from tests.gpu import gpu_machine
from tests.runs.later import filled

from tierscope.kinds.registry import KINDS, Kind
from tierscope.model.event import Evidence
from tierscope.model.run import Footer, RepetitionRecord, Run
from tierscope.model.topology import Topology

_KEPT = 2
"""Measurements of a file; more add time, not cases."""
_NOT_ALONE = ("gpu-ranks", "message", "effect")
"""Kinds that need ranks of MPI, or a program."""


@cache
def run_files() -> tuple[bytes, ...]:
    """Run files of many kinds: finished, cut after repetitions, of others' making."""
    topology, with_gpus = gpu_machine.machine(gpus=0), gpu_machine.machine()
    cpus = gpu_machine.plan_of("bandwidth", topology, op="read,copy", size="64m", threads="1,2")
    found = [_repeated(cpus, topology)]
    for kind in KINDS.values():
        if kind.name not in _NOT_ALONE:
            machine = with_gpus if kind.name.startswith("gpu-") else topology
            run = gpu_machine.run_of(_first(gpu_machine.plan_of(kind.name, machine)), machine)
            found.append(_written(_with_all_evidence(run, kind)))
    found.append(_written(synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:_KEPT])))
    return tuple(found)


def _with_all_evidence(run: Run, kind: Kind) -> Run:
    """The run, its first measurement with whatever may be observed."""
    first, *others = run.measurements
    evidence = Evidence.model_validate({**filled(Evidence), **filled(kind.spec.own_evidence)})
    first = first.model_copy(update={"evidence": evidence})
    return run.model_copy(update={"measurements": [first, *others]})


def _first(plan: Any) -> Any:
    return plan.model_copy(update={"measurements": plan.measurements[: _KEPT + 1]})


def _written(run: Any) -> bytes:
    records = [run.header, *run.measurements, *([run.footer] if run.footer else [])]
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def _repeated(plan: Any, topology: Topology) -> bytes:
    """A run whose second half was cut after its repetitions."""
    run = gpu_machine.run_of(_first(plan), topology)
    records: list[Any] = [run.header]
    for spec, measurement in zip(_first(plan).measurements, run.measurements, strict=True):
        records.append(RepetitionRecord(repetition=gpu_machine.repetition_of(spec, 5e10)))
        records.append(measurement)
    footer = Footer(finished="", interrupted=True, measured=2, skipped=0, failed=0)
    return b"".join(r.model_dump_json().encode() + b"\n" for r in [*records[:-1], footer])


STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 10**400, -0.5, 1e-320, 1e308, "", "x", "x" * 3000,
    "\0\x1b[31m\n\t\u202e\ufffe", "node:0", "node:0,2@3:1", "gpu:99", "cpus:0-7", "9" * 40, [], {},
    [0], [-1], [10**30], ["a"], {"a": 1}, [[[[[[]]]]]], {"0": -1}, {"": {}}, "0001-01-01T00:00:00",
    "9999-12-31T23:59:59-23:59", "measured", "skipped", "bandwidth", "latency", "B/s", "ns",
    "gpu-copy", "loaded-latency", "traffic", "tomorrow",
)  # fmt: skip
"""What a value may become."""
_BYTES = (
    b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\n", b"\n\n", b"\r", b" ", b"{", b"}", b"[" * 3000,
    b'{"a":' * 3000, b'"', b",", b"\\ud800", b"\\u0000", b"NaN", b"-Infinity", b"1e999",
    b"9" * 5000, b"null", b"- ", b"&a [*a]", b"!!python/object:x {}", b"\x85", b"\t", b"#", b": ",
)  # fmt: skip
"""What may come between two bytes."""


def damaged(random: Random, content: bytes, lines_are_json: bool = False) -> bytes:
    """Return a file after one to three damages."""
    kinds = [_of_lines, _of_bytes]
    if lines_are_json:
        kinds += [_of_values, _of_values, _of_values, _rewritten]
    for _ in range(random.randint(1, 3)):
        content = random.choice(kinds)(random, content)
    return content


def damaged_run(random: Random) -> bytes:
    """Return a run file after one to three damages."""
    return damaged(random, random.choice(run_files()), lines_are_json=True)


def _of_lines(random: Random, content: bytes) -> bytes:
    """Delete, repeat or move a line."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.randint(0, 2)):
        lines.insert(random.randint(0, len(lines)), line)
    return b"".join(lines)


def _of_bytes(random: Random, content: bytes) -> bytes:
    """Cut, or put something in the place of some bytes."""
    start = random.randint(0, len(content))
    length = random.choice([0, 1, 7, 60, len(content)])
    return content[:start] + random.choice((b"", *_BYTES)) + content[start + length :]


def _of_values(random: Random, content: bytes) -> bytes:
    """Change, delete or repeat a value somewhere inside a line."""
    lines = content.splitlines()
    try:
        number = random.randrange(len(lines))
        record = json.loads(lines[number])
        holder, key = random.choice(list(_places(record)))
    except (ValueError, IndexError, RecursionError):
        return content
    how = random.choice(["change", "change", "change", "delete", "repeat", "add"])
    if how == "delete":
        del holder[key]
    elif how == "repeat" and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how == "add" and isinstance(holder, dict):
        holder[random.choice(["added", "", "transfers", "no_interval"])] = 1
    else:
        holder[key] = random.choice(STRANGE)
    lines[number] = json.dumps(record, separators=(",", ":")).encode()
    return b"\n".join(lines) + b"\n"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every key of every mapping and list inside a value."""
    keys: Any = list(value) if isinstance(value, dict) else []
    for key in range(len(value)) if isinstance(value, list) else keys:
        yield value, key
        yield from _places(value[key])


def _rewritten(random: Random, content: bytes) -> bytes:
    """Rewrite lines by another program: spaces, keys in order, other line ends, a BOM."""
    try:
        records = [json.loads(line) for line in content.splitlines()]
    except (ValueError, RecursionError):
        return content
    sort = random.choice([True, False])
    end = random.choice([b"\n", b"\r\n"])
    lines = [json.dumps(record, sort_keys=sort).encode() + end for record in records]
    return random.choice([b"", b"\xef\xbb\xbf"]) + b"".join(lines)
