"""What testbed/setup left here, and whether KVM works.

/dev/kvm being there proves little: under nested virtualisation it may be there, make guests, and
fail inside their first instructions. So a kernel is booted with it, once, and the answer kept.
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import qemu
from lifetime import die_with_parent
from machine import Machine, MachineError

# thread=single: parallel CPUs (thread=multi) lost about 4% of boots.
EMULATION = "tcg,thread=single"
KVM = "kvm"
PROBE_S = 20  # a kernel that works is there in 2


def cache() -> Path:
    """The folder that testbed/setup fills."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tierscope-testbed"
    return Path(os.environ.get("TESTBED_CACHE") or default)


def kernel_folder(version: str) -> Path:
    """Where this kernel is unpacked."""
    folder = cache() / version
    if not (folder / "initrd.gz").exists():
        raise MachineError(f"no kernel {version} in {cache()}; run `make testbed` once")
    if shutil.which(qemu.PROGRAM) is None:
        raise MachineError(f"{qemu.PROGRAM} is not installed; run `make testbed` once")
    return folder


def choose(machine: Machine, kernel: Path) -> str:
    """The value of QEMU's -accel.

    CXL memory is emulated a load and a store at a time, which KVM does for few instructions:
    a guest that touches such memory with a vector instruction dies. So never KVM there.
    """
    asked = os.environ.get("TESTBED_ACCELERATOR", "")
    if asked not in ("", "kvm", "tcg"):
        raise MachineError(f"TESTBED_ACCELERATOR is {asked}; allowed: kvm, tcg, or nothing")
    if asked:
        return KVM if asked == "kvm" else EMULATION
    if machine.cxl or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return EMULATION
    return KVM if kvm_works(kernel) else EMULATION


def kvm_works(kernel: Path) -> bool:
    """Whether this kernel boots under KVM on this host; kept until the host's kernel changes."""
    answers = kernel / "kvm"
    answers.mkdir(exist_ok=True)
    answer = answers / platform.release()
    if not answer.exists():
        part = answer.with_suffix(f".{os.getpid()}")
        part.write_text("yes" if probe(kernel) else "no")
        part.rename(answer)
    return answer.read_text() == "yes"


def probe(kernel: Path) -> bool:
    """Boot as far as the first program."""
    arguments = [
        *(qemu.PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-M", "q35", "-accel", KVM, "-cpu", qemu.CPU, "-m", "512M", "-serial", "stdio"),
        *("-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initrd.gz")),
        *("-append", "console=ttyS0 panic=-1 testbed.probe"),
    ]
    try:
        result = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
            preexec_fn=die_with_parent,
        )
    except subprocess.TimeoutExpired:
        return False
    return b"testbed: alive" in result.stdout
