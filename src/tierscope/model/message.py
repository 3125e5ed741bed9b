"""What was observed of messages between hosts."""

from tierscope.model.base import Count, Model


class MessageEvidence(Model):
    """What ranks said of messages that they sent, and of what carried them."""

    mpi: str
    """The MPI library, as it calls itself."""
    count: Count
    """Messages of all pairs, in all rows."""
    bytes: Count
    """Bytes of their contents."""
    wire_bytes: Count | None = None
    """Bytes that network ports of all hosts of the measurement sent meanwhile, for everybody; less
    than ``bytes`` where messages took another way, such as shared memory. None where no port can
    be read."""
