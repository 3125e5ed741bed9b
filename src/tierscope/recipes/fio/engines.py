"""I/O engines of fio, by the backend of tierscope that does the same."""

from dataclasses import dataclass

from tierscope.model.errors import UserError, did_you_mean
from tierscope.recipes.drop_in.given import Given


@dataclass(frozen=True)
class Engine:
    """One of fio's engines."""

    name: str
    backend: str
    remark: str = ""
    """What is done in another way."""


ENGINES = {
    one.name: one
    for one in (
        Engine("psync", "posix"),
        Engine("sync", "posix", "reads by pread and writes by pwrite, without lseek"),
        Engine("pvsync", "posix", "reads by pread and writes by pwrite, of one buffer each"),
        Engine("pvsync2", "posix", "reads by pread and writes by pwrite, of one buffer each"),
        Engine("libaio", "libaio"),
        Engine("io_uring", "io_uring"),
        Engine("mmap", "mmap"),
        Engine("libcufile", "cufile"),
    )
}
DEFAULT = "psync"

_OTHERS = {
    "what it does is no read or write of a file": (
        "null", "cpp_null", "cpuio", "exec", "e4defrag", "falloc", "ftruncate", "filecreate",
        "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "page_fault",
    ),
    "it moves data between hosts, not to storage": ("net", "netsplice", "rdma"),
    "it goes over the network by a library of its own; mount the storage and name a file": (
        "http", "rados", "rbd", "gfapi", "gfapi_async", "libiscsi",
        "libhdfs", "nbd", "nfs", "dfs", "ime_psync", "ime_psyncv", "ime_aio",
    ),
    "it sends commands to a device past its block layer; use io_uring on a block device": (
        "sg", "io_uring_cmd", "xnvme", "libblkio", "libzbc", "mtd", "guasi",
    ),
    "persistent memory is not measured by it; use mmap on a file of it": (
        "libpmem", "dev-dax", "pmemblk", "dev_dax",
    ),
    "GPUs of AMD are not measured": ("libhipfile",),
    "it is a way of doing I/O that tierscope has not; psync and libaio come nearest": (
        "posixaio", "splice", "vsync", "syslet-rw", "external",
    ),
}  # fmt: skip


def parse_engine(given: Given) -> Engine:
    """Parse a value; UserError begins with its place."""
    try:
        return engine(given.value)
    except UserError as error:
        raise UserError(f"{given.place}: {error}") from None


def engine(text: str) -> Engine:
    """Parse ``ioengine``; UserError says why another one is not there."""
    found = ENGINES.get(text)
    if found is not None:
        return found
    for why, names in _OTHERS.items():
        if text.partition(":")[0] in names:
            raise UserError(f"'{text}' is not there: {why}")
    raise UserError(
        f"'{text}' is not one of {', '.join(ENGINES)}{did_you_mean(text, tuple(ENGINES))}"
    )
