"""What one hop of a path allows of an operation, by the bytes that go each way.

A full-duplex link carries its rate in each direction at the same time, so that the busier one
limits. On a half-duplex one, the data bus of DRAM, reads and writes take turns.
"""

from tierscope.model.limit import Limit
from tierscope.model.path import Hop
from tierscope.model.traffic import Traffic


def limit_of(hop: Hop, traffic: Traffic) -> Limit | None:
    """Limit of an operation by one hop, in bytes that the program counts; None where the hop's rate
    is not known."""
    rate = hop.limit
    if rate is None or not traffic.name:
        return rate
    value = rate.value / _load(hop, traffic)
    fetches = traffic.fetched > 0
    avoided = rate.value / _load(hop, traffic.without_fetched()) if fetches else None
    return rate.model_copy(
        update={
            "value": value,
            "formula": f"{rate.formula}{_each_way(hop)}; {_said(hop, traffic, rate.value)}",
            "without_write_allocate": avoided,
        }
    )


def _load(hop: Hop, traffic: Traffic) -> float:
    """Bytes that the busier direction, or the bus, carries for each that the program counts."""
    return traffic.both if hop.half_duplex else max(traffic.reads, traffic.writes)


def _each_way(hop: Hop) -> str:
    return "" if hop.half_duplex else " each way"


def _said(hop: Hop, traffic: Traffic, rate: float) -> str:
    """The operation's share of the formula, with its numbers and the direction that limits."""
    load = _load(hop, traffic)
    if hop.half_duplex:
        where = "on the bus"
    elif traffic.reads == traffic.writes:
        where = "in each direction"
    else:
        where = "in the direction of " + ("reads" if traffic.reads > traffic.writes else "writes")
    part = ""
    if traffic.fetched and (hop.half_duplex or traffic.reads >= traffic.writes):
        part = " (write-allocate included)"
    result = "" if load == 1 else f": / {load:.4g} = {rate / load / 1e9:.2f} GB/s"
    return f"{traffic.name} has {load:.4g} B{part} {where} for each byte counted{result}"
