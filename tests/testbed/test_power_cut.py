"""A guest that is cut off while it writes to an NVDIMM, which is looked at after the next boot."""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.testbed

PROJECT = Path(__file__).resolve().parents[2]
RUN = PROJECT / "testbed" / "run"
TIERSCOPE = ".venv/bin/tierscope"
WRITERS = ("transactions", "slots")
WRITE = "; ".join(
    [
        "echo kept > /mnt/pmem/mark && sync",
        *(
            f"{TIERSCOPE} pmem-check /mnt/pmem --until-cut {writer} | sed -u 's/^/{writer}=/' &"
            f" true"
            for writer in WRITERS
        ),
        "wait",
    ]
)
ENOUGH = 300
"""Updates of each writer before the cut."""


def test_what_an_nvdimm_had_before_a_power_cut_is_there_after_the_next_boot(
    tmp_path: Path,
) -> None:
    boot = [RUN, "-t", "300", "--nvdimm", tmp_path / "nvdimm", "--"]
    last: dict[str, int] = {}
    with subprocess.Popen([*boot, WRITE], cwd=PROJECT, stdout=subprocess.PIPE, text=True) as guest:
        assert guest.stdout is not None
        for line in guest.stdout:
            writer, _, number = line.strip().partition("=")
            last[writer] = int(number)
            if all(last.get(writer, 0) >= ENOUGH for writer in WRITERS):
                break
        guest.kill()  # and with it QEMU, at whatever the guest does
        for line in guest.stdout:
            if line.endswith("\n"):  # else it was cut
                writer, _, number = line.strip().partition("=")
                last[writer] = int(number)
    given = " ".join(f"--after-cut {writer}={number}" for writer, number in last.items())
    look = f"cat /mnt/pmem/mark; {TIERSCOPE} pmem-check /mnt/pmem {given} --json; status=$?"
    done = subprocess.run(
        [*boot, f"{look}; ls /mnt/pmem; exit $status"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    mark, found, *names = done.stdout.splitlines()
    assert mark == "kept"
    report = json.loads(found)
    assert report["dax"] is True
    assert {check["writer"]: check["verdict"] for check in report["checks"]} == dict.fromkeys(
        WRITERS, "consistent"
    )
    assert sorted(names) == ["lost+found", "mark"]
