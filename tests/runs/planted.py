"""Runs with names planted wherever real runs have them, for tests of bundles."""

import ipaddress
import json
import random
import string
from collections.abc import Iterator
from typing import Any

from tests import synthetic

COUNT = 20
_HEX = "0123456789abcdef"
WORDS = ("node", "read", "thp", "measured", "a", "user", "gpu", "header", "bandwidth", "memory",
         "local", "host", "run", "io", "kind", "record", "n1", "node12", "status",
         "tierscope")  # fmt: skip
"""Words of the format that machines and people may be called, too."""


class Planted:
    """One secret of each sort."""

    def __init__(self, number: int) -> None:
        made = random.Random(number)

        def letters(count: int, of: str = string.ascii_lowercase) -> str:
            return "".join(made.choice(of) for _ in range(count))

        def pairs(count: int) -> list[str]:
            return ["".join(made.choice(_HEX) for _ in range(2)) for _ in range(count)]

        mac, guid = pairs(6), "".join(pairs(8))
        quads = [guid[at : at + 4] for at in range(0, 16, 4)]
        self.short = made.choice([f"{letters(5)}{number:03}", f"rack{number:02}-{letters(4)}",
                                  letters(7), f"N{letters(3)}0{number}", f"{number}{letters(6)}"]
        )  # fmt: skip
        self.domain = f"{letters(6)}.{letters(7)}.example"
        self.host = made.choice([self.short, f"{self.short}.{self.domain}"])
        self.peer = f"{letters(6)}-{number:03}"
        self.user = made.choice([letters(6), f"{letters(2)}{made.randrange(10**4, 10**5)}",
                                 f"{letters(4)}.{letters(6)}", f"{letters(3)}_{letters(4)}"]
        )  # fmt: skip
        self.serial = made.choice([f"S{letters(14, string.ascii_uppercase + string.digits)}",
                                   f"{made.randrange(10**11, 10**12)}",
                                   f"{letters(4, string.ascii_uppercase)}-{made.randrange(10**7)}"]
        )  # fmt: skip
        self.uuid = "-".join("".join(made.choice(_HEX) for _ in range(n)) for n in (8, 4, 4, 4, 12))
        self.macs = [":".join(mac), "-".join(mac).upper(), ".".join(
            "".join(mac[at : at + 2]) for at in (0, 2, 4))]  # fmt: skip
        self.guids = [f"0x{guid}", ":".join(quads), guid]
        self.gid = f"fe80:0000:0000:0000:{':'.join(quads)}"
        self.ipv4 = str(ipaddress.IPv4Address(made.randrange(10 << 24, 11 << 24)))
        self.ipv6 = str(ipaddress.IPv6Address((0xFD00 << 112) + made.randrange(1 << 60)))
        self.server = f"{letters(5)}-nfs{number}"
        self.project, self.secret = letters(8), f"{letters(5)}_{letters(5)}"
        self.link = f"nvme-{letters(6, string.ascii_uppercase)}_MZ7{letters(5)}_{self.serial}"

    def paths(self) -> list[str]:
        return [f"/home/{self.user}/{self.secret}", f"/users/{self.user}/plan.yaml",
                f"/lustre/projects/{self.project}/data", f"/mnt/{self.secret}",
                f"/scratch/{self.project}/{self.secret} dir/file"]  # fmt: skip

    def texts(self) -> list[str]:
        """Sentences as the engine, the kernel and programs write them."""
        return [
            f"{self.host} was lost: {self.peer}.{self.domain} does not answer",
            f"{self.server}:/export/{self.project} is mounted by {self.ipv4} and {self.ipv6}",
            *(f"'{path}' cannot be opened: Permission denied" for path in self.paths()[:4]),
            f"owner {self.user}, {self.user}@{self.domain}, drive {self.serial}",
            f"{', '.join([*self.macs, *self.guids])} and {self.gid}; uuid={self.uuid}",
            f"dev:/dev/disk/by-id/{self.link} is in use",
            f"set {self.secret.upper()}={self.project} ({self.peer})",
        ]

    def needles(self) -> Iterator[tuple[str, str]]:
        """What must not be left, with its sort."""
        yield "host", self.host
        yield "host", self.short
        yield "host", self.peer
        yield "domain", self.domain
        yield "user", self.user
        yield "serial", self.serial
        yield "uuid", self.uuid
        yield from (("mac", one) for one in self.macs)
        yield from (("guid", one) for one in self.guids)
        yield "gid", self.gid
        yield "ipv4", self.ipv4
        yield "ipv6", self.ipv6
        yield "server", self.server
        yield "path", self.project
        yield "path", self.secret
        yield "link", self.link


def storage_evidence(one: Planted) -> dict[str, Any]:
    """Evidence of storage as Linux describes it."""
    path = one.paths()[2]
    mount = {"id": 7, "point": f"/mnt/{one.secret}", "type": "nfs4",
             "source": f"{one.server}:/export/{one.project}",
             "options": f"rw,addr={one.ipv4},clientaddr={one.ipv6}"}  # fmt: skip
    facts = {"path": path, "kind": "file", "real": path, "device": "0:47", "page_bytes": 4096,
             "mount": mount, "open_error": one.texts()[2]}  # fmt: skip
    drive = {"name": "nvme0n1", "kind": "nvme", "model": "EXAMPLE MZQL2", "serial": one.serial,
             "server": one.ipv4, "interfaces": ["ib0"],
             "backing_file": f"/var/lib/{one.secret}.img"}  # fmt: skip
    nfs = {"server": one.ipv6, "version": "4.2", "transport": "rdma", "interface": "ib0"}
    return {
        "storage": [{"path": facts, "drives": [drive], "nfs": nfs, "note": one.texts()[1]}],
        "nfs": [{"name": f"/mnt/{one.secret}"}],
        "ports": [{"name": f"{one.peer}/1"}],
        "notes": one.texts(),
        "storage_io": {"files": [path, *one.paths()], "reads": 1, "writes": 0, "bytes_read": 4096,
                       "bytes_written": 0, "set_up_s": 0.1,
                       "targets": [{"name": path, "reads": 1, "writes": 0, "bytes_read": 4096,
                                    "bytes_written": 0}]},
    }  # fmt: skip


def measurements(number: int, one: Planted) -> list[dict[str, Any]]:
    """A measured file, a link that was skipped, and messages between two hosts."""
    maker = synthetic.Maker()
    target = f"file:{one.paths()[2]}"
    name = f"io.node:0.{target[:30].replace('/', '_')}.{number}"
    measured = synthetic.storage_measurement(maker, 1e5 + number, target=target, id=name)
    first = json.loads(measured.model_dump_json())
    first["evidence"] = storage_evidence(one)
    skipped = {
        "record": "measurement", "id": f"io.{one.serial}.{number}"[:64], "kind": "io",
        "initiator": "node:0", "target": f"dev:/dev/disk/by-id/{one.link}", "cpus": [0],
        "pattern": {"operation": "read", "size": 4096, "file": one.paths()[0]}, "status": "skipped",
        "cause": "other", "reason": " ".join(one.texts()), "remedy": one.texts()[-2],
    }  # fmt: skip
    messages = json.loads(measured.model_dump_json())
    messages |= {
        "id": f"message.{one.short}-{one.peer}.{number}"[:64], "kind": "message",
        "initiator": f"host:{one.host}", "target": f"host:{one.peer}",
        "pattern": {"operation": "bandwidth", "size": 8, "threads": 1,
                    "together": f"host:{one.host} → host:{one.peer}"},
    }  # fmt: skip
    messages["figures"] = [{**figure, "part": f"{one.host}>{one.peer}"} if at else figure
                           for at, figure in enumerate(messages["figures"])]  # fmt: skip
    return [first, skipped, messages]


def records() -> tuple[list[dict[str, Any]], list[Planted]]:
    """A run with every secret wherever it may be."""
    secrets = [Planted(number) for number in range(1, COUNT + 1)]
    first = secrets[0]
    header = json.loads(synthetic.header().model_dump_json())
    found = [record for at, one in enumerate(secrets) for record in measurements(at, one)]
    words = [word for one in secrets for text in one.texts() for word in text.split()]
    header |= {"host": first.host, "name": f"{first.project}-nightly",
               "command": ["tierscope", "io", "--to", f"dev:/dev/disk/by-id/{first.link}",
                           f"--out={first.paths()[0]}", f"host:{first.host},{first.peer}",
                           *words]}  # fmt: skip
    header["plan"]["measurements"] = [
        {"id": one["id"], "kind": one["kind"], "initiator": one["initiator"],
         "target": one["target"], "files": {"path": one["target"].partition(":")[2]},
         "pairs": [{"source": {"host": one["initiator"].partition(":")[2], "rank": 0,
                               "machine": first.host}}]}
        for one in found
    ]  # fmt: skip
    header["environment"] |= {"mounts": first.texts()[1]}
    topology = header["topology"]
    topology |= {"host": first.host, "unreadable": [t for one in secrets for t in one.texts()],
                 "source": f"{first.paths()[0]}/{first.host}.xml"}  # fmt: skip
    topology["blocks"] = [{"name": f"nvme{at}n1", "kind": "nvme", "server": one.ipv4,
                           "interfaces": [one.peer]} for at, one in enumerate(secrets)]  # fmt: skip
    topology["mounts"] = [{"path": one.paths()[4], "type": "nfs4", "block": None,
                           "server": one.server} for one in secrets]  # fmt: skip
    topology["cxl_memories"] = [{"name": f"mem{at}", "address": None, "ram_bytes": 1,
                                 "pmem_bytes": 0, "serial": one.serial}
                                for at, one in enumerate(secrets)]  # fmt: skip
    topology["namespaces"] = [{"name": f"namespace{at}.0", "mode": "fsdax", "size_bytes": 1,
                               "uuid": one.uuid} for at, one in enumerate(secrets)]  # fmt: skip
    for at, gpu in enumerate(topology["gpus"]):
        gpu["uuid"] = f"GPU-{secrets[at].uuid}"
    header["cases"] = [
        {"file": one.paths()[1], "benchmark": one.secret, "matrix": {one.project: one.user},
         "config": {"path": one.paths()[0], "cmd": one.texts()[0]}, "measurements": [],
         "refused": one.texts()[3], "notes": one.texts()}
        for one in secrets
    ]  # fmt: skip
    footer = {"record": "footer", "finished": "2026-01-05T14:13:07+00:00", "interrupted": False,
              "measured": 2 * COUNT, "skipped": COUNT, "failed": 0}  # fmt: skip
    return [header, *found, footer], secrets
