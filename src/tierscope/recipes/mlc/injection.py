"""Peak injection: what all CPUs move to and from their own nodes' memory, at five mixes."""

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.topology import Topology
from tierscope.plans.fit import check_memory
from tierscope.recipes.mlc.sections import peak_section
from tierscope.recipes.mlc.settings import Settings
from tierscope.recipes.mlc.traffic import PEAK
from tierscope.recipes.registry import Prepared


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the five measurements of ``tierscope mlc --peak_injection_bandwidth``."""
    specs = [cell.spec for cell in peak_section(Settings(topology, thp)).cells]
    plan = Plan(version=PLAN_VERSION, measurements=specs)
    check_memory(plan, topology)
    ratios = ", ".join(mix.words for mix in PEAK.values())
    note = f"Reads to writes on the bus, in the order of the plan: {ratios}."
    return Prepared(plan, notes=(note,))
