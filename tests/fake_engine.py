#!/usr/bin/env python3
"""An engine that measures nothing: it speaks the protocol and misbehaves as told.

Tests name it in TIERSCOPE_ENGINE and steer it through FAKE_ENGINE, a comma-separated list of
``fault@N`` (at the N-th repetition, counted over restarts in the file FAKE_ENGINE_STATE) or
``fault`` alone (always):

    segv kill abort      die by that signal         garbage  write a line that is not an event
    unknown-key          a repetition with a key more    hang     say nothing any more
    foreign-evidence     evidence that another kind has
    exit3                exit status 3              skip fail  say so
    slow                 a second for each repetition, with progress
    noisy                samples that scatter by 10%, so that no interval is narrow
    wrong                a failed verification      zero     values of 0
    fatal                an error after which this process can measure nothing more
    real-time            a repetition takes the time that it says
    dead                 wait for a file system that never answers, at FAKE_ENGINE_DEAD
    refuse               refuse any plan            stillborn  die before the first event
    other-version        capabilities of another door
"""

import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

FAULTS = {
    part.partition("@")[0]: part.partition("@")[2]
    for part in os.environ.get("FAKE_ENGINE", "").split(",")
    if part
}
SIGNALS = {"segv": signal.SIGSEGV, "kill": signal.SIGKILL, "abort": signal.SIGABRT}
SAYS = (
    "skip",
    "fail",
    "fatal",
    "wrong",
    "unknown-key",
    "foreign-evidence",
    "slow",
    "noisy",
    "zero",
    "real-time",
)
STATE = os.environ.get("FAKE_ENGINE_STATE", "")
MAX_SAMPLES = 200
ahead = 0.0
"""Seconds that repetitions took on the engine's clock without taking them here."""
repeated = {}
"""How often each measurement was repeated by this process."""
interrupted = False


def emit(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def count():
    """Number of the repetition that starts now, over all processes that share the state file."""
    if not STATE:
        count.here = getattr(count, "here", 0) + 1
        return count.here
    path = Path(STATE)
    number = int(path.read_text() or 0) + 1 if path.exists() else 1
    path.write_text(str(number))
    return number


def misbehave(number):
    """Die where that was asked for; return what the repetition is to say."""
    said = set()
    for fault, at in FAULTS.items():
        if at and int(at) != number:
            continue
        if fault in SIGNALS:
            os.kill(os.getpid(), SIGNALS[fault])
        if fault == "garbage":
            sys.stdout.write("\x00 this is not an event\n")
            sys.stdout.flush()
            time.sleep(60)
        if fault == "hang":
            time.sleep(600)
        if fault == "dead":
            Path(os.environ["FAKE_ENGINE_DEAD"]).exists()
        if fault == "exit3":
            sys.stderr.write("fake: three\n")
            sys.exit(3)
        if fault in SAYS:
            said.add(fault)
    return said


def loaded(load):
    """A path of 30 GB/s and 100 ns idle that queues up as it fills."""
    if load["idle"]:
        return {"latency": 100.0}
    rate = len(load["cpus"]) * 1024 / (80 + load["pattern"]["delay_ns"]) * 1e9
    use = min(0.95, rate / 30e9)
    return {"latency": 100 + 20 * use / (1 - use), "bandwidth": min(rate, 30e9)}


def configured(key, otherwise):
    """A value of the cufile.json that this process would read, as cuFile finds it."""
    text = Path(os.environ.get("CUFILE_ENV_PATH_JSON", "/dev/null")).read_text()
    found = json.loads(re.sub("//.*", "", text) or "{}")
    for name in key.split("."):
        found = found.get(name, {})
    return found or otherwise


def figures(spec):
    """What each column is, by metric and part."""
    kind, pattern = spec["kind"], spec["pattern"]
    if kind == "io":
        return {("iops", ""): 1e5 * configured("properties.io_batchsize", 128) ** 0.5}
    size = pattern["size"]
    if kind == "loaded-latency":
        return {(metric, ""): value for metric, value in loaded(spec["load"]).items()}
    if kind.endswith("latency"):
        return {("latency", ""): 2.0 if size <= 32 << 10 else 7.0 if size <= 2 << 20 else 140.0}
    if kind == "mapping":
        pages = size / 4096
        per_page = {"map": 6000.0, "populate_per_page": 350.0, "unmap_per_page": 60.0}
        whole = per_page["map"] / pages + 350.0 + 60.0
        return {("time_per_page", ""): whole, **{(m, ""): v for m, v in per_page.items()}}
    if kind == "atomics":
        return {("updates", ""): 2e8, ("time_per_update", ""): 5.0, ("tries_per_update", ""): 1.0}
    rate = 14e9 * len(spec["cpus"]) ** 0.9
    found = {("bandwidth", ""): rate}
    if pattern.get("operation") == "write":
        found["bandwidth_with_write_allocate", ""] = 2 * rate
    if kind == "bandwidth":
        share = rate / len(spec["cpus"])
        found |= {("thread_bandwidth", str(n)): share for n in range(len(spec["cpus"]))}
    return found


def series(spec, seconds, said):
    """Samples as long as asked for, the first of them slow as those of a warm-up are."""
    sample = spec["sampling"]["sample_s"]
    samples = max(2, min(MAX_SAMPLES, round(seconds / sample)))
    number = repeated[spec["id"]] = repeated.get(spec["id"], 0) + 1
    source = random.Random(f"{spec['id']} {number}")  # the same in every run
    spread = 0.1 if "noisy" in said else 0.001
    # As many above as below in each repetition, so that none differs from the others by chance.
    factors = [1 + spread * ((2 * n + 1) / samples - 1) for n in range(samples)]
    source.shuffle(factors)
    if samples > 4:
        factors[0] = 0.5
    if "zero" in said:
        factors = [0.0] * samples
    columns = [
        {"metric": metric, "part": part, "values": [value * factor for factor in factors]}
        for (metric, part), value in figures(spec).items()
    ]
    length = seconds / samples
    return {
        "name": "windows",
        "starts": [sample * length for sample in range(samples)],
        "durations": [length] * samples,
        "lost": [0.0] * samples,
        "columns": columns,
    }


def repetition(spec, seconds, fresh):
    name = spec["id"]
    emit(event="started", id=name)
    said = misbehave(count())
    if "skip" in said:
        emit(event="skipped", id=name, cause="tool", reason="told to", remedy="tell it otherwise")
        return
    if said & {"fail", "fatal", "wrong"}:
        cause = "verification" if "wrong" in said else "gpu-error"
        emit(event="failed", id=name, cause=cause, reason="told to fail")
        if "fatal" in said:
            sys.exit(70)
        return
    samples = series(spec, seconds, said)
    if "slow" in said:
        for step in range(10):
            time.sleep(0.1)
            latest = samples["columns"][0]["values"][0]
            emit(event="progress", id=name, elapsed_s=step / 10, samples=step, latest=latest)
            if interrupted:
                break
    if "real-time" in said:
        time.sleep(seconds)
    global ahead
    began_s = time.clock_gettime(time.CLOCK_MONOTONIC_RAW) + ahead
    ahead += 0.0 if said & {"slow", "real-time"} else seconds
    extra = {"surprise": 1} if "unknown-key" in said else {}
    foreign = {"handovers": {"lines": 1, "rounds": 1}} if "foreign-evidence" in said else {}
    size = spec["pattern"].get("size", 4096)
    emit(
        event="repetition",
        id=name,
        seconds=seconds,
        fresh=fresh,
        interrupted=interrupted,
        began_s=began_s,
        series=[samples],
        evidence={
            "pages": {"0": size // 4096},
            "page_bytes": 4096,
            "cpus": spec.get("cpus", [0]),
            **foreign,
        },
        **extra,
    )


def repetitions():
    if "stillborn" in FAULTS:
        sys.stderr.write("fake: no\n")
        os.kill(os.getpid(), signal.SIGSEGV)
    known = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "plan" in order:
            if "refuse" in FAULTS:
                sys.stderr.write("fake: plan refused\n")
                sys.exit(2)
            known |= {spec["id"]: spec for spec in order["plan"]["measurements"]}
        else:
            repetition(known[order["repetition"]], order["seconds"], order["fresh"])
        if interrupted:
            break
    emit(event="finished", interrupted=interrupted)
    sys.exit(130 if interrupted else 0)


def capabilities():
    print(
        json.dumps(
            {
                "engine": "0.1.0",
                "plan_version": 99 if "other-version" in FAULTS else 2,
                "git_commit": "0" * 40,
                "compiler": "none: a fake for tests",
                "isas": ["avx2", "sse4"],
                "capabilities": [
                    {"name": "bandwidth", "available": True, "detail": "fake"},
                    {
                        "name": "gpu",
                        "available": False,
                        "reason": "no driver",
                        "remedy": "install the NVIDIA driver",
                    },
                ],
            }
        )
    )


def path(name):
    """Facts of a file on no drive; "/dead" never answers, "/refused" is refused."""
    if name == "/dead":
        time.sleep(600)
    if name == "/refused":
        sys.stderr.write("tierscope-engine: /refused: Permission denied\n")
        sys.exit(2)
    print(json.dumps({"path": name, "kind": "file", "real": name, "device": "0:42",
                      "page_bytes": 4096}))  # fmt: skip


def interrupt(_number, _frame):
    global interrupted
    interrupted = True


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "repetitions":
        repetitions()
    elif command == "capabilities":
        capabilities()
    elif command == "check":
        json.load(sys.stdin)
    elif command == "path":
        path(sys.argv[2])
    elif command == "topology":
        print("<topology/>")
    else:
        sys.exit(2)
