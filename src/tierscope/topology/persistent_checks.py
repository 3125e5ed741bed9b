"""Checks of persistent memory for `tierscope doctor`."""

from collections.abc import Iterator

from tierscope.model.finding import Finding
from tierscope.model.topology import Topology

_DOMAINS = {
    "cpu_cache": "stores survive power loss without being flushed (eADR)",
    "memory_controller": "stores survive power loss once they are flushed and fenced (ADR)",
}


def persistent_findings(topology: Topology) -> Iterator[Finding]:
    """What of namespaces and regions limits measurements, or what survives power loss."""
    for space in topology.namespaces:
        subject = f"{space.name} of {space.region or 'unknown region'}"
        if space.bad_blocks:
            yield Finding(
                severity="problem",
                subject=subject,
                found=f"{space.bad_blocks} blocks of 512 bytes are bad",
                meaning="a load from one of them kills the program",
                remedy="as root: ndctl clear-errors, after the data was saved",
            )
        if space.mode not in ("fsdax", "devdax"):
            yield Finding(
                severity="note",
                subject=subject,
                found=f"mode {space.mode or 'unknown'}, without loads and stores (DAX)",
                meaning="programs reach it through the page cache only",
                remedy="if nothing on it is needed, as root: ndctl create-namespace -f -m fsdax "
                f"-e {space.name}",
            )
        yield _domain(subject, space.persistence_domain)


def _domain(subject: str, domain: str) -> Finding:
    if meaning := _DOMAINS.get(domain):
        return Finding(
            severity="good", subject=subject, found=f"persistence domain {domain}", meaning=meaning
        )
    return Finding(
        severity="note",
        subject=subject,
        found="the kernel names no persistence domain",
        meaning="nobody can tell whether stores survive power loss",
    )
