#!/usr/bin/env python3
"""An engine that measures nothing: it speaks the door and misbehaves as told.

Tests name it in TIERSCOPE_ENGINE and steer it through FAKE_ENGINE, a comma-separated list of
``fault@N`` (at the N-th measurement it starts, counted over restarts by its id's place in the
plan file it first got, kept in FAKE_ENGINE_STATE) or ``fault`` alone (at once):

    segv kill abort      die by that signal         garbage  write a line that is no event
    unknown-key          a result with a key more   hang     say nothing any more
    exit3                exit status 3              skip fail  say so
    slow                 a second for each measurement, with progress
    other-version        capabilities of another door
"""

import json
import os
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
STATE = os.environ.get("FAKE_ENGINE_STATE", "")
interrupted = False


def emit(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def count():
    """Number of the measurement that starts now, over all processes that share the state file."""
    if not STATE:
        count.here = getattr(count, "here", 0) + 1
        return count.here
    path = Path(STATE)
    number = int(path.read_text() or 0) + 1 if path.exists() else 1
    path.write_text(str(number))
    return number


def misbehave(number):
    for fault, at in FAULTS.items():
        if at and int(at) != number:
            continue
        if fault in SIGNALS:
            os.kill(os.getpid(), SIGNALS[fault])
        if fault == "garbage":
            sys.stdout.write("\x00 this is no event\n")
            sys.stdout.flush()
            time.sleep(60)
        if fault == "hang":
            time.sleep(600)
        if fault == "exit3":
            sys.stderr.write("fake: three\n")
            sys.exit(3)
        if fault in ("skip", "fail", "unknown-key", "slow"):
            return fault
    return ""


def loaded(load):
    """A path of 30 GB/s and 100 ns idle that queues up as it fills."""
    if load["idle"]:
        return 100.0, []
    rate = len(load["cpus"]) * 1024 / (80 + load["pattern"]["delay_ns"]) * 1e9
    use = min(0.95, rate / 30e9)
    figures = [{"metric": "bandwidth", "unit": "B/s", "estimate": min(rate, 30e9)}]
    return 100 + 20 * use / (1 - use), figures


def measure(spec):
    emit(event="started", id=spec["id"])
    fault = misbehave(count())
    if fault == "skip":
        emit(event="skipped", id=spec["id"], reason="told to", remedy="tell it otherwise")
        return
    if fault == "fail":
        emit(event="failed", id=spec["id"], reason="told to fail")
        return
    latency = spec["kind"].endswith("latency")
    figures = []
    size = spec["pattern"]["size"]
    if spec["kind"] == "loaded-latency":
        estimate, figures = loaded(spec["load"])
    elif latency:
        estimate = 2.0 if size <= 32 << 10 else 7.0 if size <= 2 << 20 else 140.0
    else:
        estimate = 14e9 * len(spec["cpus"]) ** 0.9
    if fault == "slow":
        for step in range(10):
            time.sleep(0.1)
            emit(event="progress", id=spec["id"], elapsed_s=step / 10, n=step, estimate=estimate)
            if interrupted:
                break
    extra = {"surprise": 1} if fault == "unknown-key" else {}
    emit(
        event="result",
        id=spec["id"],
        metric="latency" if latency else "bandwidth",
        unit="ns" if latency else "B/s",
        estimate=estimate,
        ci_low=estimate * 0.995,
        ci_high=estimate * 1.004,
        n=3,
        stop="interrupted" if interrupted else "precision",
        samples=[estimate * 0.995, estimate, estimate * 1.004],
        figures=figures,
        evidence={"pages": {"0": size // 4096}, "page_bytes": 4096, "cpus": spec.get("cpus", [0])},
        **extra,
    )


def run():
    plan = json.load(sys.stdin)
    for fault, at in FAULTS.items():
        if fault == "refuse" and not at:
            sys.stderr.write("fake: plan refused\n")
            sys.exit(2)
        if fault == "stillborn" and not at:
            sys.stderr.write("fake: no\n")
            os.kill(os.getpid(), signal.SIGSEGV)
    for spec in plan["measurements"]:
        if interrupted:
            break
        measure(spec)
    emit(event="finished", interrupted=interrupted)
    sys.exit(130 if interrupted else 0)


def capabilities():
    print(
        json.dumps(
            {
                "engine": "0.1.0",
                "plan_version": 99 if "other-version" in FAULTS else 1,
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


def interrupt(_number, _frame):
    global interrupted
    interrupted = True


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "run":
        run()
    elif command == "capabilities":
        capabilities()
    elif command == "check":
        json.load(sys.stdin)
    elif command == "topology":
        print("<topology/>")
    else:
        sys.exit(2)
