"""What is known of mounts over the network, and what they and the ports below them moved."""

from tierscope.model.base import Count, Model


class NfsFacts(Model):
    """A mount of NFS: how it reaches its server."""

    server: str
    """Address, as the mount's option ``addr`` has it: mounts of one server may share one."""
    version: str = ""
    """3, 4.1, 4.2, ..."""
    transport: str = ""
    """tcp, rdma, ..."""
    connections: Count = 1
    """As asked for by ``nconnect``."""
    rsize: Count | None = None
    """Most bytes of one READ."""
    wsize: Count | None = None
    """Most bytes of one WRITE."""
    interface: str = ""
    """By which the server is reached; ``lo``: the server is this machine."""
    ports: list[str] = []
    """Interfaces that carry its packets; several of a bond."""
    mtu: Count | None = None
    """Of that interface, bytes."""


class NfsCounts(Model):
    """What one mount asked its server, for everybody (/proc/self/mountstats)."""

    name: str
    """Directory that it is mounted on."""
    reads: Count = 0
    """READ operations."""
    read_bytes: Count = 0
    """Received by them, headers included."""
    read_rtt_ms: Count = 0
    """Time from the sending of READs to their replies, all together."""
    read_ms: Count = 0
    """The same from when they were made, with the wait for a slot."""
    writes: Count = 0
    write_bytes: Count = 0
    write_rtt_ms: Count = 0
    write_ms: Count = 0
    operations: Count = 0
    """Of all kinds."""
    retransmissions: Count = 0
    """Requests that were sent again."""
    timeouts: Count = 0
    """Major timeouts: no reply after all retries."""
    errors: Count = 0
    """READ, WRITE and COMMIT that ended with an error; 0 where the kernel does not count them."""


class PortCounts(Model):
    """What one network port moved, for everybody."""

    name: str
    """eth0, or an RDMA device and port: mlx5_0/1."""
    received_bytes: Count = 0
    """Of InfiniBand, 4 times ``port_rcv_data``, which counts words."""
    sent_bytes: Count = 0
    errors: Count = 0
    """Packets received or sent in error, or dropped."""
