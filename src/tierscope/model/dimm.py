"""Memory modules, as firmware lists them."""

from tierscope.model.base import Amount, Count, Model


class Dimm(Model):
    """One populated memory slot."""

    slot: str
    type: str
    """DDR4, DDR5, HBM, ..."""
    size_bytes: Count
    speed: Amount | None
    """Configured transfer rate in transfers/s."""
    bits: Count | None = None
    """Data width without ECC."""
    package: Count | None = None
    manufacturer: str = ""
    part_number: str = ""
    firmware: str = ""
    """Version of the firmware of modules that have any."""
