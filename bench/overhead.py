"""What the engine costs: start-up, and set-up around very short measurements."""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from pairs import bandwidth
from tierscope.engine.process import find_engine
from tierscope.kinds.bandwidth.spec import BandwidthPattern
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.machine.discover import discover
from tierscope.model.errors import ExitCode
from tierscope.model.event import Event, Repetition
from tierscope.model.run import Measurement
from tierscope.model.spec import Sampling
from tierscope.runs.measure import measure

COUNT = 1000
BUDGET_S = 0.001
REPEATS = 20


def report() -> list[str]:
    """One line a cost."""
    return [
        f"engine, start to first event: {first_event_s() * 1e3:.1f} ms (asked: < 20)",
        f"each of {COUNT} repetitions, beside samples: {overhead_s() * 1e3:.2f} ms (asked: < 1)",
    ]


def short_plan(count: int) -> Plan:
    """Measurements of one millisecond each, on a working set that takes no time to set up."""
    spec = bandwidth(
        BandwidthPattern(operation="read", size=1 << 20),
        [0],
        Sampling(budget_s=BUDGET_S, sample_s=BUDGET_S / 10),
    )
    return Plan(
        version=PLAN_VERSION,
        measurements=[spec.model_copy(update={"id": f"m{i}"}) for i in range(count)],
    )


def first_event_s() -> float:
    """Median seconds from starting the engine to its first line."""
    plan = short_plan(1).model_dump_json().encode()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        with subprocess.Popen(
            [find_engine(), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as engine:
            assert engine.stdin is not None
            assert engine.stdout is not None
            engine.stdin.write(plan)
            engine.stdin.close()
            json.loads(engine.stdout.readline())
            times.append(time.perf_counter() - start)
            engine.stdout.read()
    return statistics.median(times)


def overhead_s() -> float:
    """Seconds a repetition costs beyond its samples, through the whole way that a run takes."""
    plan = short_plan(COUNT)
    topology = discover()
    sampled: list[float] = []

    def watch(event: Event | Measurement) -> None:
        if isinstance(event, Repetition):
            sampled.append(event.seconds)

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        outcome = measure(plan, "overhead", topology, [], Path(folder), watch)
        elapsed = time.perf_counter() - start
    assert outcome.exit_code is ExitCode.ALL_MEASURED
    return (elapsed - sum(sampled)) / len(sampled)
