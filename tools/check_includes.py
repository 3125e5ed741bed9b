"""Check which parts of the engine include which: resources know nothing of kinds.

Run by `make lint`; prints one line for each include that breaks a rule and exits 1.
"""

import re
import sys
from pathlib import Path

FOUNDATION = {
    "errors.h",
    "sizes.h",
    "protocol/constants.h",
    "exchange.h",
    "interrupt.h",
    "splitmix64.h",
}
"""Headers of engine/ itself, which every part may include."""

ALLOWED = {
    "access": {"access", "sampling"},
    "database": {"database", "access"},
    "key_value": {"key_value", "access", "sampling"}
    | {"storage/descriptor.h", "storage/pattern.h"},
    "handover": {"handover", "access", "memory", "sampling", "threads"},
    "sampling": {"sampling"},
    "threads": {"threads", "sampling"},
    "topology": {"topology"},
    "message": {"message"},
    "memory": {"memory", "threads", "storage/descriptor.h", "storage/mounts.h"},
    "storage": {"storage", "access", "memory", "sampling", "threads"}
    | {"protocol/json_text.h", "protocol/object_reader.h"},
    "pmem_check": {"pmem_check", "access", "memory", "storage", "protocol/events.h"},
    "protocol": {"protocol", "memory", "sampling", "threads", "access", "gpu/devices.h"},
    "gpu": {"gpu", "memory", "sampling", "storage", "threads"},
    "harness": {"harness", "protocol", "memory", "sampling", "storage", "threads"},
    "kinds": {
        "kinds",
        "harness",
        "protocol",
        "memory",
        "sampling",
        "storage",
        "threads",
        "access",
        "database",
        "gpu",
        "handover",
    },
    ".": {
        "handover",
        "harness",
        "key_value",
        "pmem_check",
        "protocol",
        "storage",
        "topology",
        "gpu/self_check.h",
    },
}
"""What the files of a folder may include: folders, or single headers. `.` is main.cpp. Resources
(access, database, sampling, threads, memory, storage, gpu, topology) and the protocol never include
the harness or a kind, and a kind includes no other kind: kinds/ has one file for each kind and
headers that kinds share."""

INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.MULTILINE)


def violations(engine: Path) -> list[str]:
    """One line for each include in `engine` that no rule allows."""
    found = []
    for path in sorted(engine.rglob("*")):
        if path.suffix not in {".h", ".cpp", ".cu"} or "tests" in path.parts:
            continue
        where = path.relative_to(engine)
        folder = str(where.parent)
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            allowed = ALLOWED.get(folder, set())
            target = included.rsplit("/", 1)[0] if "/" in included else ""
            if included in FOUNDATION or included in allowed or target in allowed:
                continue
            found.append(f"{path}: {folder}/ may not include {included}")
    return found


def main() -> int:
    """Check engine/ of this repository."""
    engine = Path(__file__).resolve().parent.parent / "engine"
    found = violations(engine)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
