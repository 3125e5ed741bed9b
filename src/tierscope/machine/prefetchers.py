"""The hardware prefetchers of CPUs: which bits of which register switch them, and their state.

A set bit disables a prefetcher. Sources:

- Intel, MSR 0x1A4: "Disclosure of Hardware Prefetcher Control on Some Intel Processors" (2014), and
  MSR_MISC_FEATURE_CONTROL or MSR_PREFETCH_CONTROL in the Software Developer's Manual, volume 4.
  Bits 0 to 3 mean the same on all cores listed here (Intel's tool pepc has the same list). Hybrid
  CPUs are not listed, since their E-cores have further registers (Intel document 357930).
- AMD, MSR C000_0108h, PrefetchControl: Processor Programming References of families 19h (documents
  55898 and 56713) and 1Ah. CPUID Fn8000_0021_EAX[13] says that a CPU has it.

Other bits of these registers, such as Intel's bit 5 (the L2 AMP prefetcher of newer cores) and
AMD's profiles of aggressiveness, are never written.
"""

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.model.cause import Cause
from tierscope.model.endpoint import format_ranges

_INTEL_FAMILY = 6
_INTEL_MODELS = frozenset(
    {
        *(0x1A, 0x1E, 0x1F, 0x2E),  # Nehalem
        *(0x25, 0x2C, 0x2F),  # Westmere
        *(0x2A, 0x2D),  # Sandy Bridge
        *(0x3A, 0x3E),  # Ivy Bridge
        *(0x3C, 0x3F, 0x45, 0x46),  # Haswell
        *(0x3D, 0x47, 0x4F, 0x56),  # Broadwell
        *(0x4E, 0x5E, 0x55),  # Skylake; 0x55 is Cascade Lake and Cooper Lake, too
        *(0x8E, 0x9E, 0xA5, 0xA6),  # Kaby Lake, Coffee Lake, Comet Lake
        *(0x7D, 0x7E, 0x6A, 0x6C),  # Ice Lake
        *(0x8C, 0x8D),  # Tiger Lake
        0xA7,  # Rocket Lake
        *(0x8F, 0xCF),  # Sapphire Rapids, Emerald Rapids
        *(0xAD, 0xAE),  # Granite Rapids
    }
)
_AMD_FAMILIES = (0x19, 0x1A)
_AMD_LEAF = 0x80000021
_AMD_BIT = 13


@dataclass(frozen=True)
class Control:
    """The register of one make of CPU."""

    register: int
    prefetchers: Mapping[int, str]
    """By bit."""

    @property
    def mask(self) -> int:
        """All bits that are known."""
        return sum(1 << bit for bit in self.prefetchers)

    def state(self, value: int) -> str:
        """Return ``on``, or the prefetchers that are off, by name."""
        off = [name for bit, name in self.prefetchers.items() if value >> bit & 1]
        return f"off: {', '.join(off)}" if off else "on"


_INTEL = Control(
    0x1A4, {0: "L2 streamer", 1: "L2 adjacent line", 2: "L1 next line", 3: "L1 IP stride"}
)
_AMD = Control(
    0xC0000108,
    {0: "L1 stream", 1: "L1 stride", 2: "L1 region", 3: "L2 stream", 5: "L2 up/down"},
)


class PrefetcherError(Exception):
    """The register cannot be read or written; str() says why, ``remedy`` what to do."""

    def __init__(self, cause: Cause, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.cause = cause
        self.remedy = remedy


def find_control(root: str | Path = "/") -> Control:
    """Return the register of this machine's CPUs; raises PrefetcherError where none is known."""
    found = _find(str(root))
    if isinstance(found, PrefetcherError):
        raise PrefetcherError(found.cause, str(found), found.remedy)
    return found


@functools.cache  # /proc/cpuinfo of many CPUs takes longer than a repetition's set-up
def _find(root: str) -> Control | PrefetcherError:
    try:
        return _identify(root)
    except PrefetcherError as error:
        return error


def _identify(root: str) -> Control:
    files = Files(root)
    fields: dict[str, set[str]] = {}
    for line in (files.text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), set()).add(value.strip())
    vendor, family, model = (
        "/".join(sorted(fields.get(key, {""}))) for key in ("vendor_id", "cpu family", "model")
    )
    if any("hypervisor" in flags.split() for flags in fields.get("flags", ())):
        raise PrefetcherError(
            Cause.PREFETCHERS,
            "this machine is virtual, and its registers are not those of the CPU",
            "measure on the host",
        )
    if vendor == "GenuineIntel" and family == str(_INTEL_FAMILY) and model.isdigit():
        if int(model) in _INTEL_MODELS:
            return _INTEL
    elif vendor == "AuthenticAMD" and family.isdigit() and int(family) in _AMD_FAMILIES:
        if _cpuid_eax(root, _AMD_LEAF) >> _AMD_BIT & 1:
            return _AMD
    elif not vendor:
        raise PrefetcherError(Cause.PREFETCHERS, "only prefetchers of x86 CPUs can be switched")
    raise PrefetcherError(
        Cause.PREFETCHERS,
        f"no register is known for {vendor or 'CPUs'} family {family}, model {model}",
    )


def read_msr(root: str | Path, cpu: int, register: int) -> int:
    """Return a model-specific register of one CPU; raises PrefetcherError."""
    return _read(root, f"/dev/cpu/{cpu}/msr", register, 8, f"MSR {register:#x} of CPU {cpu}", "msr")


def _cpuid_eax(root: str | Path, leaf: int) -> int:
    return _read(root, "/dev/cpu/0/cpuid", leaf, 16, f"CPUID leaf {leaf:#x}", "cpuid") & 0xFFFFFFFF


def _read(root: str | Path, path: str, at: int, size: int, what: str, module: str) -> int:
    """Read a number through a device of the kernel module ``msr`` or ``cpuid``."""
    try:
        descriptor = os.open(str(root).rstrip("/") + path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.pread(descriptor, size, at)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refused(f"cannot read {what}", module, error) from None
    if len(data) != size:
        raise PrefetcherError(Cause.PREFETCHERS, f"cannot read {what}: {path} ends before it")
    return int.from_bytes(data, "little")


def refused(what: str, module: str, error: OSError) -> PrefetcherError:
    """Return the error that says why the kernel refused, and what to do."""
    if isinstance(error, FileNotFoundError):
        return PrefetcherError(
            Cause.KERNEL, f"{what}: the module {module} is not loaded", f"sudo modprobe {module}"
        )
    if isinstance(error, PermissionError):
        return PrefetcherError(
            Cause.PERMISSION,
            f"{what}: needs root (CAP_SYS_RAWIO)",
            "run it as root, outside of containers",
        )
    return PrefetcherError(Cause.PREFETCHERS, f"{what}: {error.strerror}")


def state_of(root: str | Path, cpus: Iterable[int]) -> str:
    """Return the state of these CPUs' prefetchers now; raises PrefetcherError.

    ``on``, or the names of those that are off; by CPU where CPUs differ.
    """
    control = find_control(root)
    found: dict[str, list[int]] = {}
    for cpu in sorted(cpus):
        found.setdefault(control.state(read_msr(root, cpu, control.register)), []).append(cpu)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"CPUs {format_ranges(tuple(own))} {state}" for state, own in found.items())


def observed(root: str | Path, cpus: Iterable[int]) -> str:
    """Return the same, or ``unknown`` and why."""
    try:
        return state_of(root, cpus)
    except PrefetcherError as error:
        return f"unknown: {error}"
