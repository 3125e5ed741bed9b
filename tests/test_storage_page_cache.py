"""What measurements through the page cache bring into it."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from forked import tierscope

MIB = 1 << 20


def resident(file: Path) -> int:
    """Bytes of a file that the page cache holds, as util-linux counts them."""
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(file)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_only_what_is_read_is_warmed(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        data = Path(directory) / "data"
        data.write_bytes(os.urandom(64 * MIB))
        with data.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert resident(data) == 0
        command = ["io", "--to", f"file:{data}", "--direct", "no", "--range", "1m"]
        command += ["--order", "random", "--block-size", "4k", "--budget", "0.2"]
        done = tierscope(*command, "--out", str(tmp_path), "--json")
        assert done.returncode == 0, done.stderr
        (result,) = json.loads(done.stdout)["results"]
        assert result["evidence"]["storage_io"]["cached_before"] == 1
        assert MIB <= resident(data) < 32 * MIB
