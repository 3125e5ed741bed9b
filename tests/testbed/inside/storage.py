"""What the tests of storage share: the command, its results, and the four NVMe drives."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from forked import tierscope

TIERSCOPE = Path(sys.executable).with_name("tierscope")


def run(*command: object) -> None:
    """Run a command that has to end well."""
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def io(out: Path, *options: str, status: int = 0) -> list[dict[str, Any]]:
    """Run ``tierscope io`` and return its results."""
    done = tierscope("io", *options, "--json", "--out", out)
    assert done.returncode == status, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return results


def drives() -> list[Path]:
    """The four drives in the order of their serial numbers.

    Which of them is nvme0 changes from boot to boot. Elsewhere they have names that nothing has.
    """
    by_serial = {
        (block / "device/serial").read_text().strip(): Path("/dev", block.name)
        for block in Path("/sys/block").glob("nvme[0-9]n1")
    }
    serials = [f"testbed{number}" for number in range(4)]
    return [by_serial.get(serial, Path("/dev", serial)) for serial in serials]
