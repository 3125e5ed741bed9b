"""Levels of affinity in words."""

LEGEND = (
    "NVn: n NVLinks; PIX: at most one PCIe switch; PXB: several switches; PHB: a PCIe host bridge; "
    "NODE: between host bridges of one NUMA node; SYS: between NUMA nodes; ?: unknown"
)
