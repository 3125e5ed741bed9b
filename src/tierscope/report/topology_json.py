"""What ``tierscope topo --json`` prints."""

from tierscope.model.path import Path
from tierscope.model.topology import Topology
from tierscope.topology.affinity import advice, devices, matrix
from tierscope.topology.assignment import assign
from tierscope.topology.uplinks import io_devices


def machine_json(topology: Topology) -> dict[str, object]:
    """The machine, every pair of devices, what to pair with each GPU, and what devices share."""
    return {
        "topology": topology.model_dump(mode="json"),
        "devices": [device.model_dump(mode="json") for device in devices(topology)],
        "affinity": [
            [pair.model_dump(mode="json") | {"label": str(pair)} for pair in row]
            for row in matrix(topology)
        ],
        "pcie_affinity": [[str(pair) for pair in row] for row in matrix(topology, nvlink=False)],
        "nearest": [entry.model_dump(mode="json") for entry in advice(topology)],
        "io_devices": [device.model_dump(mode="json") for device in io_devices(topology)],
        "assignment": assign(topology).model_dump(mode="json"),
    }


def path_json(path: Path) -> dict[str, object]:
    """One path, hop by hop."""
    return path.model_dump(mode="json")
