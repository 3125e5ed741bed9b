"""What ``tierscope-engine capabilities`` prints."""

from tierscope.model.base import Model


class Capability(Model):
    """One thing that the engine can or cannot measure on this machine."""

    name: str
    available: bool
    detail: str = ""
    """Where available: what was found (versions, sizes)."""
    versions: dict[str, str] = {}
    """Where available: versions of what it stands on: {"cuda_driver": "13.1"}."""
    reason: str = ""
    """Where not: why."""
    remedy: str = ""
    """Where not: what to do about it."""


class Capabilities(Model):
    """What ``tierscope-engine capabilities`` prints."""

    engine: str
    """Version of the engine."""
    plan_version: int
    git_commit: str
    compiler: str
    isas: list[str]
    """Instruction sets that this CPU runs and this build has; the best one first."""
    capabilities: list[Capability]
