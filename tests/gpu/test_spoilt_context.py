"""A GPU's sticky error: the engine says `failed`, ends, and is started again for the rest."""

import stat
import sys
from pathlib import Path

from gpu_machine import machine
from tierscope.engine.events import stream
from tierscope.plans.gpu_story import story

from tierscope.model.event import Failed, Finished, Result

ENGINE = """#!{python}
import json, sys
plan = json.load(sys.stdin)
for spec in plan["measurements"]:
    print(json.dumps({{"event": "started", "id": spec["id"]}}))
    if spec["id"] == "gpu0.pinned.to-gpu":
        print(json.dumps({{"event": "failed", "id": spec["id"], "reason": "illegal address"}}))
        sys.exit(70)
    print(json.dumps({{
        "event": "result", "id": spec["id"], "metric": "bandwidth", "unit": "B/s", "estimate": 1.0,
        "ci_low": 1.0, "ci_high": 1.0, "n": 1, "stop": "precision", "samples": [1.0],
        "evidence": {{}},
    }}))
print(json.dumps({{"event": "finished", "interrupted": False}}))
"""


def test_a_sticky_error_costs_one_measurement(tmp_path: Path, monkeypatch):
    engine = tmp_path / "engine"
    engine.write_text(ENGINE.format(python=sys.executable))
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TIERSCOPE_ENGINE", str(engine))
    topology = machine(gpus=1)
    plan = story(topology, topology.gpus)
    events = list(stream(plan))
    failed = [event.id for event in events if isinstance(event, Failed)]
    measured = [event.id for event in events if isinstance(event, Result)]
    assert failed == ["gpu0.pinned.to-gpu"]
    assert len(measured) == len(plan.measurements) - 1
    assert events[-1] == Finished(interrupted=False)
