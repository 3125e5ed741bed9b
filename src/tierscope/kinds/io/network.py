"""What mounts of NFS and the ports below them did, in words."""

from collections.abc import Sequence

from tierscope.model.network import NfsCounts, PortCounts
from tierscope.model.run import Measurement
from tierscope.report.figures import size_text


def network_lines(measured: Sequence[Measurement]) -> list[str]:
    """Return a line for each mount and port, of all these measurements with their set-up."""
    observed = [m.evidence for m in measured if m.evidence]
    mounts: dict[str, list[NfsCounts]] = {}
    ports: dict[str, list[PortCounts]] = {}
    for evidence in observed:
        for mount in evidence.nfs or []:
            mounts.setdefault(mount.name, []).append(mount)
        for port in evidence.ports or []:
            ports.setdefault(port.name, []).append(port)
    lines = [_mount(name, counts) for name, counts in mounts.items()]
    return [*lines, *(_port(name, counts) for name, counts in ports.items())]


def _mount(name: str, counts: Sequence[NfsCounts]) -> str:
    parts = []
    for word, operations, data, waited in (
        ("READ", "reads", "read_bytes", "read_rtt_ms"),
        ("WRITE", "writes", "write_bytes", "write_rtt_ms"),
    ):
        number = sum(getattr(one, operations) for one in counts)
        if number:
            mean = sum(getattr(one, data) for one in counts) / number
            rtt = sum(getattr(one, waited) for one in counts) / number
            parts.append(f"{number} {word}s of {size_text(mean)}, round trip {rtt:.3g} ms")
    again = sum(one.retransmissions for one in counts)
    return f"NFS at {name}, set-up included: " + "; ".join([*parts, f"{again} sent again"]) + "."


def _port(name: str, counts: Sequence[PortCounts]) -> str:
    received = size_text(sum(one.received_bytes for one in counts))
    sent = size_text(sum(one.sent_bytes for one in counts))
    return f"{name}, set-up included: {received} received, {sent} sent."
