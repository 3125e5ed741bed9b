"""Options of requests, each written once.

Flags of the command line, keys of YAML plans, ``--help``, docs/cli.md and error messages come from
here. An option that several kinds take stands in this module; one that a single kind takes stands
in that kind's request. Values have the grammar of ``plans.grammar``.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from pydantic import BaseModel

from tierscope.model import property as properties
from tierscope.model.endpoint import EndpointKind
from tierscope.model.property import Declared, Grammar
from tierscope.model.spec import HUGETLB, MeasurementSpec, Placement
from tierscope.plans import grammar

_METAVARS: Mapping[Grammar, str] = {
    "words": "LIST",
    "yes-no": "LIST",
    "sizes": "SIZES",
    "times": "TIMES",
    "counts": "COUNTS",
    "numbers": "NUMBERS",
    "text": "TEXT",
}
OLDER = {"file": "hosts-file", "zipf": "zipf-alpha"}
"""Older names of options that still work, on the command line and in plans."""
PINS = ("cores", "one-a-core", "compact", "spread")
ANY_CPU: Final = "any"
"""Threads that are pinned to all CPUs of the initiator, and run on whichever the kernel chooses."""
BASE_PAGES = {"4k": 4096, "64k": 65536}
"""Names of base pages by their bytes, on machines that have them."""
PAGE_KINDS = ("base", *BASE_PAGES, "thp", *HUGETLB)
FIRST_TOUCH: Final = "first-touch"
BACKINGS = ("file", "pool", "pool-objects")
PREFETCHER_STATES = ("on", "off")
_TARGETS: Mapping[EndpointKind, str] = {
    EndpointKind.NODE: "node:1; node:*; node:0,2@3:1 (interleaved by weight); node:0,2@1..4:1",
    EndpointKind.GPU: "gpu:1",
    EndpointKind.PMEM: "pmem:DIR; pmem:node:0",
    EndpointKind.DAX: "dax:/dev/dax0.0",
    EndpointKind.FILE: "file:/data",
    EndpointKind.DEV: "dev:/dev/nvme0n1",
}


@dataclass(frozen=True)
class Option:
    """One option of a request."""

    name: str
    """After ``--``, and the key in YAML plans: ``access-size``."""
    metavar: str
    """Kind of value: ``SIZES``; empty of flags."""
    help: str
    default: str = ""
    """Meaning of an absent option, in words; empty where the help says so or there is none."""
    flag: bool = False
    """A switch on the command line; yes or no in plans."""
    many: bool = False
    """It may be given again on the command line; its value has a line for each."""
    rest: bool = False
    """On the command line it is what stands behind ``--``, and no flag."""
    words: bool = False
    """On the command line, words without a flag are its values, too: paths."""
    essential: bool = True
    """``--help`` lists it; otherwise only ``--help-all`` does."""

    def joined(self, values: Sequence[str]) -> str:
        """Return several values as one text, as requests take them."""
        if self.rest:
            return shlex.join(values)
        return ("\n" if self.many else ",").join(values)

    def but(self, *, help: str = "", default: str = "") -> "Option":  # noqa: A002 - the field's name
        """The same option with another help or default, of a kind where those differ."""
        return replace(self, help=help or self.help, default=default or self.default)


def option_of(one: Declared) -> Option:
    """Return the option that asks for a property."""
    about = one.about
    if about.switch:
        return Option(one.flag, "", about.help, flag=True, essential=about.essential)
    default = about.default_help or about.default or written(one, one.own_default)
    metavar = about.metavar or _METAVARS[one.grammar].removesuffix("S" if about.single else "")
    text = about.help or ", ".join(map(str, one.choices))
    return Option(one.flag, metavar, text, default, essential=about.essential)


def written(one: Declared, value: Any) -> str:
    """Write a value in the grammar of its option; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        grammar.format_size(value)
        if one.grammar == "sizes"
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def words_of(model: type[BaseModel], field: str) -> tuple[str, ...]:
    """Return the words that a field of a model may have."""
    return get_args(model.model_fields[field].annotation)


POLICIES = tuple(one for one in words_of(Placement, "policy") if one != FIRST_TOUCH)
MECHANISMS = words_of(Placement, "mechanism")


def to_of(
    spec: type[MeasurementSpec], default: str = "the initiator's node", what: str = "Targets"
) -> Option:
    """Return the option ``to`` of a kind; its help has the targets that the kind takes."""
    taken = [text for kind, text in _TARGETS.items() if kind in spec.targets]
    words = EndpointKind.FILE in spec.targets
    return Option("to", "ENDPOINTS", f"{what}: {'; '.join(taken)}", default, words=words)


FROM = Option(
    "from",
    "ENDPOINTS",
    "Initiators: node:0, cpus:0-7,16 or node:*",
    "the first node with CPUs",
)
SIZE = option_of(Declared("size", properties.SIZE, "sizes"))
PAGES = option_of(Declared("pages", properties.PAGES, "words"))
THREADS = option_of(Declared("threads", properties.THREADS, "counts"))
RATED = Option(
    "rated", "FILE", "Data-sheet figures of drive models to compare with", essential=False
)
POLICY = Option(
    "policy",
    "LIST",
    ", ".join(POLICIES),
    "bind; interleave for several nodes, weighted if they have weights",
    essential=False,
)
MECHANISM = Option(
    "mechanism",
    "LIST",
    "Placed by: user (the engine), kernel (its policy)",
    "user",
    essential=False,
)
BACKING = Option(
    "backing",
    "LIST",
    "Backing of pmem:DIR: file, pool (libpmemobj), pool-objects (object ids translated for "
    "each element)",
    "file",
    essential=False,
)
BACKED_BY = Option(
    "backed-by", "WHAT", "battery: declare the memory battery-backed (unverified)", essential=False
)
PRECISION = Option(
    "precision",
    "SHARE",
    "Half-width of the 95% confidence interval to reach, at most 50%",
    "1%",
    essential=False,
)
BUDGET = Option(
    "budget",
    "TIME",
    "Longest time of each measurement, as in 500ms, at most 24h",
    "2s",
    essential=False,
)
SAMPLE = Option("sample", "TIME", "Length of one sample, at most 60s", "10ms", essential=False)
PIN = Option(
    "pin",
    "HOW",
    "Order: cores (siblings last), one-a-core, compact, spread (over sockets, nodes, L3 caches)",
    "cores",
    essential=False,
)
PIN_OR_ANY = PIN.but(help=f"{PIN.help}; any: each thread on any CPU of --from")
MIX = Option("mix", "LIST", "Reads:writes: 67:33, 2:1; 50:50nt has non-temporal stores", "100:0")

PREFETCHERS = Option(
    "prefetchers",
    "LIST",
    "Hardware prefetchers of the CPUs that measure: on, off (needs root, restored afterwards)",
    "as they are",
    essential=False,
)

PLACEMENT = (POLICY, MECHANISM)
DAX_OFFSET = Option("dax-offset", "SIZE", "First byte used of dax: devices", "0", essential=False)
DESTROY_DAX = Option(
    "destroy-data",
    "NAME",
    "Overwrite the device of dax: targets: its name (dax0.0) or its namespace's UUID",
    essential=False,
)
PERSISTENT = (BACKING, BACKED_BY, DAX_OFFSET, DESTROY_DAX)
"""Options of targets on persistent memory."""
SAMPLING = (PRECISION, BUDGET, SAMPLE)
"""When a measurement is precise enough."""

GPU_FROM = Option("from", "GPUS", "gpu:0 or gpu:*", "gpu:*")
HOST_MEMORY = Option(
    "memory",
    "LIST",
    "Host memory: pinned, write-combined, registered, pageable, managed, managed-prefetch, "
    "managed-advised",
    "pinned",
)
HOST_PAGES = Option(
    "pages",
    "LIST",
    "Pages of pageable and registered host memory: base, thp, 2m, 512m, 1g",
    "base",
    essential=False,
)
TRACE = Option(
    "trace",
    "",
    "Show where the time went: calls, copies, kernels (CUPTI)",
    flag=True,
    essential=False,
)
GPU_SAMPLING = (PRECISION, BUDGET.but(default="1s"), SAMPLE.but(default="5ms"))
