"""The GPUs of an hwloc file: those that a library named, and those that are only on the bus."""

from collections.abc import Mapping, Sequence

from tierscope.model.topology import Gpu, PciDevice
from tierscope.topology.hwloc_file import kibibytes
from tierscope.topology.pci import is_gpu

Named = Mapping[str, tuple[int, dict[str, str]]]
"""What each library (nvml, cuda, ...) says of one device: its number, and <info> pairs."""
_LIBRARIES = ("nvml", "cuda", "rsmi", "ze")
_MEMORY_SIZES = (
    "CUDAGlobalMemorySize",
    "RSMIVRAMSize",
    "LevelZeroHBMSize",
    "OpenCLGlobalMemorySize",
)


def read_gpus(named: Mapping[str, Named], pci: Sequence[PciDevice]) -> tuple[list[Gpu], list[str]]:
    """All GPUs, and what is to be said of their numbers; ``named`` is by PCI address.

    A GPU has its driver's number. Those that no driver's library names follow, in PCI order.
    """
    numbered: dict[int, Gpu] = {}
    others: list[Gpu] = []
    for address, libraries in named.items():
        index, gpu = _of_libraries(address, libraries)
        if index is None or index in numbered:
            others.append(gpu)
        else:
            numbered[index] = gpu.model_copy(update={"index": index})
    bare = [
        Gpu(index=0, name=device.name, address=device.address)
        for device in pci
        if is_gpu(device.class_code, device.vendor) and device.address not in named
    ]
    others = sorted([*others, *bare], key=lambda gpu: gpu.address)
    first = max(numbered, default=-1) + 1
    counted = [gpu.model_copy(update={"index": first + place}) for place, gpu in enumerate(others)]
    notes = []
    if numbered and counted:
        names = ", ".join(f"gpu:{gpu.index}" for gpu in counted)
        notes.append(
            f"the driver's numbers of {names}: NVML, CUDA, ROCm SMI and Level Zero do not name "
            "them in the file; they are counted last, in PCI order"
        )
    return [*(numbered[index] for index in sorted(numbered)), *counted], notes


def _of_libraries(address: str, libraries: Named) -> tuple[int | None, Gpu]:
    """One GPU by what all libraries say, and its number by the most trusted; None of OpenCL's."""
    trusted = [libraries[name] for name in _LIBRARIES if name in libraries]
    ordered = trusted or list(libraries.values())
    about = {key: value for _, pairs in reversed(ordered) for key, value in pairs.items()}
    for pairs in (entry[1] for entry in libraries.values()):
        about = pairs | about
    memory = next((size for key in _MEMORY_SIZES if (size := kibibytes(about.get(key)))), None)
    gpu = Gpu(
        index=0,
        name=about.get("GPUModel", ""),
        address=address if ":" in address else "",
        uuid=about.get("NVIDIAUUID", ""),
        memory_bytes=memory,
    )
    return (trusted[0][0] if trusted else None), gpu
