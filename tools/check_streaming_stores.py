"""Check that the non-temporal operations of the Arm build have non-temporal stores.

Highway's ``Stream`` compiles to an ordinary store where a target has none of its own, and no test
of what is written can tell. Reads a disassembly of the kernels, as `objdump -d -C` writes it.
"""

import re
import sys
from pathlib import Path

KERNEL_H = Path(__file__).parents[1] / "engine/access/kernel.h"
STORES = {"N_NEON": "stnp", "N_SVE": "stnt1d"}
"""Non-temporal stores of vectors, by the namespace of an instruction set's kernels."""
_FUNCTION = re.compile(r"^[0-9a-f]+ <.*(N_NEON|N_SVE)::.*::walk_\w+<\(tierscope::Operation\)(\d+)")


def faults(disassembly: str) -> list[str]:
    """Return what is wrong, a line for each operation."""
    names = re.findall(r"\{Operation::k\w+, \"([a-z-]+)\"", KERNEL_H.read_text())
    kernels: dict[tuple[str, str], list[bool]] = {}
    for body in disassembly.split("\n\n"):
        if match := _FUNCTION.match(body.lstrip("\n")):
            isa, operation = match[1], names[int(match[2])]
            kernels.setdefault((isa, operation), []).append(f"\t{STORES[isa]}\t" in body)
    return [
        f"{isa}: {len(found) - sum(found)} of {len(found)} kernels of {name} lack {STORES[isa]}"
        for isa in STORES
        for name in names
        if name.endswith("-nt")
        for found in [kernels.get((isa, name), [])]
        if not found or not all(found)
    ]


def main() -> int:
    """Print the faults; exit with 1 where there are any."""
    found = faults(sys.stdin.read())
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
