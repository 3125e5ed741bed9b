"""What ``tierscope-engine capabilities`` prints."""

from tierscope.model.base import Model


class Capability(Model):
    """One thing that the engine can or cannot measure on this machine."""

    name: str
    available: bool
    detail: str = ""
    """Findings, where available (versions, sizes)."""
    versions: dict[str, str] = {}
    """Versions of its dependencies, where available: {"cuda_driver": "13.1"}."""
    reason: str = ""
    """Reason, where unavailable."""
    remedy: str = ""
    """Remedy, where unavailable."""


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
