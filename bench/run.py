"""tierscope and its peers side by side in one run: `make bench`, or one part by its name.

python bench/run.py [likwid] [latency] [repeatability] [overhead]
"""

import sys
from collections.abc import Callable, Iterable

import idle_latency
import likwid
import overhead
import repeatability

PARTS: dict[str, Callable[[], Iterable[object]]] = {
    "likwid": likwid.compare,
    "latency": idle_latency.compare,
    "repeatability": lambda: [repeatability.report()],
    "overhead": overhead.report,
}


def main(names: list[str]) -> None:
    """Run the named parts, or all of them."""
    unknown = set(names) - set(PARTS)
    if unknown:
        raise SystemExit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for name in names or PARTS:
        print(f"{name}:", flush=True)
        for line in PARTS[name]():
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
