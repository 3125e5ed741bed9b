"""An error that invalidates a GPU's context: the engine says `failed`, ends and starts again."""

import stat
import sys
from pathlib import Path

import pytest
from gpu_machine import machine, plan_of

from tierscope.engine.repetitions import living_engine
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition, Started

ENGINE = """#!{python}
import json, sys

def emit(event, **fields):
    print(json.dumps({{"event": event, **fields}}), flush=True)

with open({log!r}, "a") as log:
    print("started", file=log)
for line in sys.stdin:
    request = json.loads(line)
    if "plan" in request:
        continue
    name = request["repetition"]
    emit("started", id=name)
    if name == {bad!r}:
        emit("failed", id=name, cause="gpu-error", reason="illegal address")
        sys.exit(70)
    emit("repetition", id=name, seconds=1.0, fresh=request["fresh"], interrupted=False,
         evidence={{}}, series=[{{"name": "copies", "starts": [0.0], "durations": [1.0],
                   "columns": [{{"metric": "bandwidth", "part": "", "values": [1e9]}}]}}])
emit("finished", interrupted=False)
"""


def test_it_costs_one_repetition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = plan_of("gpu-copy", machine(gpus=1), size="1m,2m,4m").measurements
    bad = specs[1].id
    engine, log = tmp_path / "engine", tmp_path / "log"
    engine.write_text(ENGINE.format(python=sys.executable, log=str(log), bad=bad))
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TIERSCOPE_ENGINE", str(engine))
    with living_engine() as living:
        living.plan(specs)
        events = [event for spec in specs for event in living.repetition(spec.id, 1.0)]
    outcomes = [event for event in events if not isinstance(event, Started)]
    failed = [event for event in outcomes if isinstance(event, Failed)]
    assert [(event.id, event.cause) for event in failed] == [(bad, Cause.GPU_ERROR)]
    repeated = [event.id for event in outcomes if isinstance(event, Repetition)]
    assert repeated == [spec.id for spec in specs if spec.id != bad]
    assert log.read_text().splitlines() == ["started", "started"]
