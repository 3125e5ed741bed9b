"""Settings of a cufile.json, and the way that a file's data would take."""

from typing import Any, Literal

from tierscope.model.base import Model
from tierscope.model.finding import Finding

Verdict = Literal["default", "changed", "unknown", "wrong", "absent"]


class CufileSetting(Model):
    """One key."""

    key: str
    """With its sections, as the file spells it."""
    line: int | None = None
    """Where the file has it; None where the file does not."""
    value: Any = None
    verdict: Verdict
    """default: as documented; changed: another value; unknown: no key that tierscope knows; wrong:
    of another type, or out of range; absent: the file does not have it."""
    default: Any = None
    """None where no default is documented, or documents differ."""
    default_from: str = ""
    built_in: dict[str, Any] = {}
    """Default of libcufile where the file lacks the key, where known."""
    note: str = ""
    """Note on the default or the range."""
    meaning: str = ""
    since: str = ""
    """Release of GPUDirect Storage that brought it."""
    advice: str = ""
    advised_by: str = ""
    overridden_by: str = ""
    """Environment variable that counts before it, with its value."""


class CufileAudit(Model):
    """One file, looked through."""

    file: str
    """Empty where there is none."""
    named_by: str
    """How it was found: "named by --cufile-json", "the usual place"."""
    settings: list[CufileSetting]
    findings: list[Finding]


class Way(Model):
    """Which way data goes between a file and a GPU."""

    path: str
    way: Literal["p2p", "nvfs", "compatibility", "refused", "unknown"]
    """p2p: PCI P2PDMA; nvfs: nvidia-fs; compatibility: through host memory."""
    why: str
    """In one line."""
