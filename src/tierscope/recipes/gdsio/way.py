"""Which way the data took, in a line."""

from tierscope.model.event import Evidence, IoEvidence
from tierscope.model.run import Measurement
from tierscope.recipes.gdsio.workload import Workload

_THROUGH_HOST = "in compatibility mode, through host memory"
_WAYS = {
    "p2p": "by PCI P2PDMA",
    "nvfs": "by nvidia-fs",
    "posix": _THROUGH_HOST,
    "aio": f"{_THROUGH_HOST} (aio)",
    "io_uring": f"{_THROUGH_HOST} (io_uring)",
    "mixed": f"{_THROUGH_HOST} (several)",
}
"""What cuFile counts."""
_MIB = 1 << 20
_MISSING = 0.95
"""Share of the bytes below which drives moved less than was asked."""


def way_taken(work: Workload, found: Measurement) -> str:
    """Say by which way operations of cuFile went, and what the drives moved of what was asked."""
    evidence = found.evidence
    if evidence is None or evidence.storage_io is None:
        return ""
    parts = [_ways(evidence.storage_io)] if work.transfer.cufile else []
    return "; ".join(filter(None, [*parts, _drives(evidence, evidence.storage_io)]))


def _ways(io: IoEvidence) -> str:
    ways = {name: count for name, count in (io.ways or {}).items() if count}
    total = sum(ways.values())
    if not total:
        return "way not proven: cuFile counted no operations"
    return "way: " + ", ".join(
        f"{count / total:.1%} of {total} operations {_WAYS.get(name, name)}"
        for name, count in sorted(ways.items(), key=lambda way: -way[1])
    )


def _drives(evidence: Evidence, io: IoEvidence) -> str:
    """Compare what drives moved with what was asked; empty where nobody counted."""
    names = [drive.name for one in evidence.storage or [] for drive in one.drives]
    who = ", ".join(dict.fromkeys(names)) or "the drives"
    pairs = (
        ("read", evidence.device_bytes_read, io.bytes_read),
        ("wrote", evidence.device_bytes_written, io.bytes_written),
    )
    said = []
    for verb, moved, asked in pairs:
        if moved is None or not asked:
            continue
        short = verb == "read" and moved < _MISSING * asked
        why = ", so a cache or holes served the rest" if short else ""
        said.append(f"{who} {verb} {moved // _MIB} MiB of {asked // _MIB} MiB asked{why}")
    return "; ".join(said)
