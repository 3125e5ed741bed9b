"""One thread of kvikio's synchronous reads into GPU memory: kvikio_read.py FILE BLOCK SECONDS.

Prints bytes/s. KVIKIO_COMPAT_MODE=OFF makes kvikio use cuFile.
"""

import sys
import time
from pathlib import Path

import cupy
import kvikio


def main(path: str, block: int, seconds: float) -> None:
    """Read the file from its start to its end, again and again."""
    blocks = Path(path).stat().st_size // block
    buffer = cupy.empty(block, dtype=cupy.uint8)
    with kvikio.CuFile(path, "r") as file:
        file.raw_read(buffer, block, 0)  # What is set up at the first read.
        done = 0
        began = time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            assert file.raw_read(buffer, block, done % blocks * block) == block
            done += 1
    print(f"{done * block / took:.0f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
