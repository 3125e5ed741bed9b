"""tierscope and its peers side by side in one run: `make bench`, or one part by its name.

python bench/run.py [likwid] [latency] [repeatability] [overhead] [startup] [nvbandwidth]

Without a name: all but nvbandwidth, which needs a GPU.
"""

import sys
from collections.abc import Callable, Iterable

import idle_latency
import likwid
import nvbandwidth
import overhead
import repeatability
import startup

PARTS: dict[str, Callable[[], Iterable[object]]] = {
    "likwid": likwid.compare,
    "latency": idle_latency.compare,
    "repeatability": lambda: [repeatability.report()],
    "overhead": overhead.report,
    "startup": startup.report,
    "nvbandwidth": nvbandwidth.compare,
}


def main(names: list[str]) -> None:
    """Run the named parts, or all that need no GPU."""
    unknown = set(names) - set(PARTS)
    if unknown:
        raise SystemExit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for name in names or [part for part in PARTS if part != "nvbandwidth"]:
        print(f"{name}:", flush=True)
        for line in PARTS[name]():
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
