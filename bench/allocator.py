"""tierscope's allocator against those below and beside it, on usual patterns (allocator.c).

First against jemalloc itself, which is below it: by the same calls (mallocx with an arena and
thread caches), and by its malloc. Those ratios are what tierscope's allocator costs. Then against
malloc of glibc and, where it is installed, of the distribution's libjemalloc.so.2, for information.
Then a full arena that spills, against malloc of glibc, which serves it. Then what the preloaded
library costs a program: where no rule concerns its calls, and with a rule for large blocks, for a
size or a call site. At the end, what weights in user space cost it. Figures are processor time for
an operation, so that other programs disturb them little.
"""

import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pairs import FEWEST, Comparison, alternate, until_narrow
from startup import best

ROOT = Path(__file__).parent.parent
JEMALLOC = ROOT / "build/jemalloc"
INSTALLED = Path(sysconfig.get_path("purelib"), "tierscope")
LIBRARY = INSTALLED / "_lib/libtierscope-alloc.so"
PRELOADED = INSTALLED / "_lib/libtierscope-alloc-preload.so"
PLACING = INSTALLED / "_lib/libtierscope-place.so"
ASKED = 1.05
"""Ratio to jemalloc that is not to be exceeded."""
ALONE = ("small", "sizes", "calloc", "aligned", "large", "fill", "realloc")
TOGETHER = ("fill", "larson", "xmalloc", "cache-scratch", "realloc")
"""Patterns for one thread, and for two."""
SPILLING = ("small", "large", "fill", "larson", "realloc")
"""Patterns for a full arena."""
ASKED_OF_SPILLING = 2.0
"""Ratio to glibc's malloc that is not to be exceeded."""
LARGE_BLOCKS = "size >= 64K -> slow"
WITH_LARGE_BLOCKS = (
    ("small", 1),
    ("realloc", 1),
    ("growth", 1),
    ("churn", 1),
    ("larson", 2),
    ("xmalloc", 2),
    ("sh6bench", 2),
    ("cache-thrash", 2),
    ("cache-scratch", 2),
)
"""Patterns for a rule that takes large blocks, with their threads."""
ASKED_OF_LARGE_BLOCKS = 1.1
"""Ratio to glibc's malloc that such a rule is not to exceed."""
PLACED = ("small", "larson", "churn")
"""Patterns for weights in user space."""
ASKED_OF_PLACING = 2.0
"""Ratio to glibc's malloc that those are not to exceed."""
RULES = {
    "no rule matches": "size >= 1G -> slow",
    "by size": "size >= 1 -> slow",
    "by site": "site malloc-bench:* -> slow",
}


def compare() -> Iterator[Comparison | str]:
    """One comparison for each pattern and peer."""
    patterns = [(name, 1) for name in ALONE] + [(name, 2) for name in TOGETHER]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        ours, libc, below = programs(folder)
        yield from bounded(
            ASKED,
            {
                f"{name}, {threads} threads, {peer}": (
                    cost(ours, name, threads),
                    cost(program, name, threads),
                )
                for name, threads in patterns
                for peer, program in below.items()
            },
        )
        for name, threads in patterns:
            for peer, environment in peers().items():
                yield alternate(
                    f"{name}, {threads} threads, {peer}",
                    "ns",
                    FEWEST,
                    cost(ours, name, threads),
                    cost(libc, name, threads, environment),
                )
        yield from bounded(
            ASKED_OF_SPILLING,
            {
                f"spilling, {name}": (cost(ours, name, 1, full=True), cost(libc, name, 1))
                for name in SPILLING
            },
        )
        yield from preloading(libc)
        yield from bounded(
            ASKED_OF_LARGE_BLOCKS,
            {
                f"large blocks, {name}, {threads} threads": (
                    cost(libc, name, threads, ruled(LARGE_BLOCKS)),
                    cost(libc, name, threads),
                )
                for name, threads in WITH_LARGE_BLOCKS
            },
        )
        placed = {**os.environ, "LD_PRELOAD": str(PLACING), "TIERSCOPE_PLACE": "weights 0@3"}
        yield from bounded(
            ASKED_OF_PLACING,
            {
                f"weights in user space, {name}": (
                    cost(libc, name, 1, placed),
                    cost(libc, name, 1),
                )
                for name in PLACED
            },
        )


def bounded(
    limit: float, pairs: Mapping[str, tuple[Callable[[], float], Callable[[], float]]]
) -> Iterator[Comparison | str]:
    """A comparison of each pair, and which of them are above a ratio."""
    exceeded = []
    for name, (ours, theirs) in pairs.items():
        found = until_narrow(name, "ns", ours, theirs)
        if found.ratio.ratio > limit:
            exceeded.append(name)
        yield found
    yield f"above {limit}: {'; '.join(exceeded) or 'none'}"


def peers() -> dict[str, Mapping[str, str]]:
    """Environments in which malloc is another one."""
    found = {"glibc": os.environ}
    for library in Path("/usr/lib").glob("*/libjemalloc.so.2"):
        found[library.name] = {**os.environ, "LD_PRELOAD": str(library)}
    return found


def preloading(program: Path) -> Iterator[Comparison]:
    """A program that calls malloc, with the preloaded library and without it."""
    for label, rule in RULES.items():
        rules = ruled(rule)
        for name in ("small", "larson"):
            yield until_narrow(
                f"preloaded, {label}, {name}",
                "ns",
                cost(program, name, 1, rules),
                cost(program, name, 1),
            )
        yield until_narrow(f"preloaded, {label}, start", "ms", start(rules), start(os.environ))


def ruled(rule: str) -> Mapping[str, str]:
    """Environment in which a rule applies."""
    return {
        **os.environ,
        "LD_PRELOAD": str(PRELOADED),
        "TIERSCOPE_ALLOC": "strict",
        "TIERSCOPE_ALLOC_RULES": f"arena slow 0; {rule}",
    }


def start(environment: Mapping[str, str]) -> Callable[[], float]:
    """Least wall time of several starts of a program that does nothing, in ms."""
    return lambda: best(["true"], environment)[1] * 1e3


def programs(folder: Path) -> tuple[Path, Path, dict[str, Path]]:
    """Build allocator.c for tierscope's allocator, for malloc, and for jemalloc in two ways."""
    jemalloc = folder / "libbench-jemalloc.so"
    archive = JEMALLOC / "lib/libjemalloc_pic.a"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    call("cc", "-shared", "-o", jemalloc, *whole, "-pthread", "-ldl", "-lm")
    header = f"-I{JEMALLOC / 'include/jemalloc'}"
    return (
        built(folder / "arena-bench", "-DUSE_ARENA", f"-I{ROOT / 'alloc'}", library=LIBRARY),
        built(folder / "malloc-bench"),
        {
            "mallocx": built(folder / "mallocx", "-DUSE_JEMALLOC", header, library=jemalloc),
            "je_malloc": built(folder / "je-malloc", "-DUSE_JE_MALLOC", header, library=jemalloc),
        },
    )


def built(program: Path, *options: str, library: Path | None = None) -> Path:
    """Compile allocator.c, linked with a shared library where one is named."""
    linked = [library, f"-Wl,-rpath,{library.parent}"] if library else []
    source = Path(__file__).with_name("allocator.c")
    call("cc", "-O2", "-pthread", *options, "-o", program, source, *linked)
    return program


def call(*command: str | Path) -> None:
    """Run a compiler."""
    subprocess.run(command, check=True)


def cost(
    program: Path,
    pattern: str,
    threads: int,
    environment: Mapping[str, str] = os.environ,
    *,
    full: bool = False,
) -> Callable[[], float]:
    """What runs a pattern once, on so many CPUs, and returns ns for an operation."""
    cpus = sorted(os.sched_getaffinity(0))[-threads:]

    def run() -> float:
        done = subprocess.run(
            [program, pattern, str(threads), *(["full"] if full else [])],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
        return float(done.stdout)

    return run


if __name__ == "__main__":
    for line in compare():
        print(line)
