"""QEMU's command line for a machine."""

from pathlib import Path

from machine import Machine, Node

PROGRAM = "qemu-system-x86_64"
# hypervisor=off: else Linux refuses to commit CXL regions in a guest.
# erms, fsrm off: string moves to emulated CXL memory go a byte at a time.
CPU = "max,la57=off,hypervisor=off,erms=off,fsrm=off"
# DMA to and from CXL memory goes through bounce buffers; the default 4 KiB stalls virtio.
BOUNCE = "bus=pcie.0,x-max-bounce-buffer-size=256M"
VIRTIO = f"{BOUNCE},disable-legacy=on,iommu_platform=on"
KERNEL_ARGUMENTS = (
    "console=ttyS0 loglevel=5 panic=-1 mitigations=off tsc=reliable "
    # The sign by which tierscope knows that figures mean nothing here.
    "tierscope.emulated=1"
)


def arguments(machine: Machine, accelerator: str, kernel: Path) -> list[str]:
    """All that describes the machine itself; what it shares and talks through is left out."""
    boot_memory = sum(node.memory for node in machine.nodes if not node.offline_memory)
    sockets = sum(node.socket is not None for node in machine.nodes)
    return [
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-accel", accelerator, "-cpu", CPU),
        *("-smp", f"{sockets * machine.cores},sockets={sockets},cores={machine.cores},threads=1"),
        *("-m", f"size={boot_memory}B,slots=4,maxmem=16G"),
        *("-M", chipset(machine)),
        *("-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initrd.gz")),
        *("-append", f"{KERNEL_ARGUMENTS} {tsc_frequency()} {machine.kernel_arguments}"),
        *nodes(machine),
        *firmware_tables(machine),
        *cxl(machine),
        *pmem(machine),
    ]


def tsc_frequency(cpu_facts: Path = Path("/proc/cpuinfo")) -> str:
    """The kernel argument that says how fast the guest's time stamp counter runs: as the host's.

    The guest would measure it while it boots. Where the host is loaded and interrupts that, the
    guest's clock may then run several times too fast. Linux makes bogomips of the frequency: twice
    that in MHz. Empty where the counter's speed varies or there is none.
    """
    lines = (line.partition(":") for line in cpu_facts.read_text().splitlines())
    facts = {name.strip(): value.strip() for name, _, value in lines}
    if "constant_tsc" not in facts.get("flags", "").split() or "bogomips" not in facts:
        return ""
    return f"tsc_early_khz={round(float(facts['bogomips']) * 500)}"


def chipset(machine: Machine) -> str:
    """The value of -M."""
    options = ["q35", f"hmat={'on' if machine.paths else 'off'}"]
    if machine.pmem:
        options.append("nvdimm=on")
    if machine.cxl:
        options += ["cxl=on", "cxl-fmw.0.targets.0=cxl.0", "cxl-fmw.0.size=1G"]
    return ",".join(options)


def nodes(machine: Machine) -> list[str]:
    """Every node with its memory and its socket."""
    result = []
    for number, node in enumerate(machine.nodes):
        result += node_arguments(number, node, bool(machine.paths))
    return result


def node_arguments(number: int, node: Node, hmat: bool) -> list[str]:
    """One node."""
    result = []
    numa = f"node,nodeid={number}"
    if node.memory:
        result += ["-object", f"memory-backend-ram,id=m{number},size={node.memory}"]
    if node.memory and not node.offline_memory:
        numa += f",memdev=m{number}"
    near = number if node.socket is not None else node.near
    if hmat and near is not None:
        numa += f",initiator={near}"
    result += ["-numa", numa]
    if node.socket is not None:
        result += ["-numa", f"cpu,node-id={number},socket-id={node.socket}"]
    if node.offline_memory:
        result += ["-device", f"pc-dimm,memdev=m{number},node={number}"]
    if node.accelerator:
        result += ["-device", f"pci-testdev,id=accelerator{number},bus=pcie.0"]
        result += [
            "-object",
            f"acpi-generic-initiator,id=gi{number},pci-dev=accelerator{number},node={number}",
        ]
    return result


def firmware_tables(machine: Machine) -> list[str]:
    """SLIT and HMAT."""
    result = []
    for source, row in enumerate(machine.distances):
        for target, distance in enumerate(row):
            result += ["-numa", f"dist,src={source},dst={target},val={distance}"]
    for path in machine.paths:
        ends = f"hmat-lb,initiator={path.source},target={path.target},hierarchy=memory"
        result += ["-numa", f"{ends},data-type=access-latency,latency={path.ns}"]
        result += ["-numa", f"{ends},data-type=access-bandwidth,bandwidth={path.mb_s}M"]
    for cache in machine.side_caches:
        what = f"hmat-cache,node-id={cache.node},size={cache.memory},level=1"
        result += ["-numa", f"{what},associativity=direct,policy=write-back,line=64"]
    return result


def cxl(machine: Machine) -> list[str]:
    """A host bridge, a root port and a type-3 device with volatile memory."""
    if machine.cxl is None:
        return []
    return [
        # Only for its ACPI table: QEMU pads the table loader's script to 4 KiB (32 commands), and
        # where MCFG, which appears after PCI set-up, makes it cross a multiple, SeaBIOS falls back
        # to its own tables, without SRAT, HMAT, CEDT and NFIT. 34 commands fail, 38 do not.
        *("-device", "vmgenid,guid=auto"),
        *("-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.0"),
        *("-object", f"acpi-generic-port,id=gp0,pci-bus=cxl.0,node={machine.cxl.port}"),
        *("-device", "cxl-rp,port=0,bus=cxl.0,id=rp0,chassis=0,slot=2"),
        *("-object", f"memory-backend-ram,id=cxlmem,share=on,size={machine.cxl.memory}"),
        *("-device", "cxl-type3,bus=rp0,volatile-memdev=cxlmem,sn=1"),
    ]


def pmem(machine: Machine) -> list[str]:
    """An NVDIMM, forgotten when the machine goes unless it is on a file."""
    if machine.pmem is None:
        return []
    kind = "memory-backend-ram"
    if machine.pmem.file:
        kind = f"memory-backend-file,mem-path={escaped(machine.pmem.file)}"
    return [
        *("-object", f"{kind},id=pmem,share=on,size={machine.pmem.memory}"),
        *("-device", f"nvdimm,memdev=pmem,node={machine.pmem.node}"),
    ]


def drive(number: int, descriptor: int) -> list[str]:
    """An NVMe drive on a file that is open as this descriptor."""
    file = f"file.driver=file,file.filename=/dev/fdset/{number}"
    return [
        *("-add-fd", f"fd={descriptor},set={number}"),
        *("-blockdev", f"driver=raw,node-name=nvme{number},{file}"),
        *("-device", f"nvme,{BOUNCE},serial=testbed{number},drive=nvme{number}"),
    ]


def escaped(path: str) -> str:
    """A path as a value of QEMU's options."""
    return path.replace(",", ",,")


def shares(project: Path) -> list[str]:
    """This machine's root file system, read-only, and the project's folder."""
    result = []
    for tag, path, options in (("root", Path("/"), ",readonly=on"), ("project", project, "")):
        where = f"id={tag},path={escaped(str(path))}"
        share = f"local,{where},security_model=none,multidevs=remap{options}"
        result += [
            "-fsdev",
            share,
            "-device",
            f"virtio-9p-pci,{VIRTIO},fsdev={tag},mount_tag={tag}",
        ]
    return result


def channels(control: int, output: int, errors: int, console: int) -> list[str]:
    """The guest's console and its three ports, each on a socket open as this descriptor."""
    result = ["-chardev", f"socket,id=console,fd={console}", "-serial", "chardev:console"]
    result += ["-device", f"virtio-serial-pci,{VIRTIO}"]
    for port, descriptor in enumerate((control, output, errors), start=1):
        result += ["-chardev", f"socket,id=port{port},fd={descriptor}"]
        result += ["-device", f"virtserialport,chardev=port{port},nr={port}"]
    return result
