"""Energy that parts of the machine took while rows were measured."""

from typing import Literal

from tierscope.model.base import Amount, Count, Model
from tierscope.model.lacking import LackingCounters

EnergySource = Literal["RAPL", "NVML", "hwmon"]


class EnergyDomain(Model):
    """What one counter of energy, or one sensor of power, is of."""

    name: str
    """``package 0``, ``package 0 dram``, ``gpu 0``, or a sensor's own name."""
    source: EnergySource
    joules: Amount
    """In all windows of the measurement."""
    idle_w: Amount | None = None
    """Watts while the machine was idle, before the run's first visit; None where nobody looked."""
    summed: bool
    """It counts in the measurement's figures. What lies inside another domain does not, nor does a
    GPU that took no part."""


class EnergyEvidence(Model):
    """Energy in the windows of a measurement: from the begin of the headline's first row of each
    visit to the end of its last one. Added by tierscope, never by the engine."""

    seconds: Amount
    """Of all windows."""
    idle_s: Amount
    """How long the machine was idle while ``idle_w`` was measured."""
    readings: Count
    """Of the counters, in all windows."""
    domains: list[EnergyDomain]
    lacking: list[LackingCounters] | None = None
    """What cannot be read here."""
