"""Two guests with one NVDIMM, as two hosts with one device that hand blocks over to each other."""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.testbed

PROJECT = Path(__file__).resolve().parents[2]
RUN = PROJECT / "testbed" / "run"
TIERSCOPE = ".venv/bin/tierscope"
MAKE_DEVICE = (
    "device=$(PYTHONPATH=tests/testbed/inside .venv/bin/python -c "
    "'import nvdimm; print(nvdimm.make_device())') && "
)
# The second guest finds no file system and makes one, then a device again: at the same place.
RESPOND = f"{TIERSCOPE} handover-responder dax:/dev/$device --destroy-data $device 2>&1"
INITIATE = (
    f"{TIERSCOPE} handover --to dax:/dev/$device --destroy-data $device --responder host "
    "--block-size 64,64k --budget 2 --json"
)


def test_two_machines_hand_blocks_over_on_one_device(tmp_path: Path) -> None:
    boot = [RUN, "-t", "400", "--nvdimm", tmp_path / "nvdimm", "--"]
    with subprocess.Popen(
        [*boot, MAKE_DEVICE + RESPOND], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as responder:
        assert responder.stdout is not None
        try:
            assert responder.stdout.readline().startswith("tierscope: answering in dax:/dev/dax")
            done = subprocess.run(
                [*boot, MAKE_DEVICE + INITIATE],
                cwd=PROJECT,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            responder.kill()
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(done.stdout)["results"]
    assert [result["pattern"]["block_size"] for result in results] == [64, 64 << 10]
    for result in results:
        evidence = result["evidence"]
        assert evidence["persistent"]["mapping"] == "device"
        assert evidence["handover"]["rounds"] > 0
        assert evidence["handover"]["responder"].startswith("process ")
        assert evidence["verified"]
