"""tierscope and its peers side by side in one run: `make bench`, or one part by its name.

python bench/run.py [likwid] [latency] [repeatability] [overhead] [startup] [allocator]
                    [chain] [ops-scan] [ops-aged]
                    [stream] [multichase] [ops] [nvbandwidth] [gpu-ranks] [storage-gpu] [cufile]
                    [dlio] [fio] [shared-storage] [whatif] [key-value-load]

Without a name: the first line. STREAM and multichase are named in $STREAM (and $STREAM_NT) and
$MULTICHASE; ops compares with the maps whose headers are there (see ops.py);
nvbandwidth, storage-gpu and cufile need a GPU, gpu-ranks two of them and an MPI; storage-gpu and
cufile make files in $STORAGE. fio and whatif take their time; shared-storage needs fio and mpirun,
dlio an environment of its own (see dlio.py), key-value-load redis's programs.
"""

import sys
from collections.abc import Callable, Iterable

import allocator
import chain
import cufile
import dlio
import fio
import gpu_ranks
import idle_latency
import key_value_load
import likwid
import multichase
import nvbandwidth
import ops
import ops_aged
import ops_scan
import overhead
import repeatability
import shared_storage
import startup
import storage_gpu
import stream
import whatif

PARTS: dict[str, Callable[[], Iterable[object]]] = {
    "likwid": likwid.compare,
    "latency": idle_latency.compare,
    "chain": chain.compare,
    "repeatability": lambda: [repeatability.report()],
    "overhead": overhead.report,
    "startup": startup.report,
    "allocator": allocator.compare,
    "stream": stream.compare,
    "multichase": multichase.compare,
    "ops": ops.compare,
    "ops-scan": ops_scan.compare,
    "ops-aged": ops_aged.compare,
    "nvbandwidth": nvbandwidth.compare,
    "storage-gpu": storage_gpu.compare,
    "cufile": cufile.compare,
    "dlio": dlio.compare,
    "fio": fio.compare,
    "shared-storage": shared_storage.compare,
    "gpu-ranks": gpu_ranks.compare,
    "whatif": whatif.compare,
    "key-value-load": key_value_load.compare,
}


ON_REQUEST = {
    *("stream", "multichase", "ops", "nvbandwidth", "gpu-ranks", "storage-gpu", "cufile", "fio"),
    *("shared-storage", "whatif", "dlio", "key-value-load"),
}
"""Parts that need what `make build` does not set up."""


def main(names: list[str]) -> None:
    """Run the named parts, or all that need nothing further."""
    unknown = set(names) - set(PARTS)
    if unknown:
        raise SystemExit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for name in names or [part for part in PARTS if part not in ON_REQUEST]:
        print(f"{name}:", flush=True)
        for line in PARTS[name]():
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
