"""A program that makes cgroups below its own, and hands controllers on, as container runtimes do.

Usage: makes_cgroups.py FILE end|domain|threaded; the file gets its process once it is in them. It
ends and leaves its cgroups, or waits in them.
"""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Make the cgroups, say so, and wait or end."""
    file, kind = Path(sys.argv[1]), sys.argv[2]
    path = Path("/proc/self/cgroup").read_text().strip().removeprefix("0::")
    own = Path(f"/sys/fs/cgroup{path}")
    if not path.startswith("/tierscope-"):
        sys.exit("tiering has ended before this program began")
    inner = own / "one" / "two"
    for folder in (own / "one", inner, own / "other"):
        folder.mkdir()
    if kind == "threaded":
        for folder in (own / "one", inner):
            (folder / "cgroup.type").write_text("threaded")
        (inner / "cgroup.threads").write_text(str(os.getpid()))
    else:
        (inner / "cgroup.procs").write_text(str(os.getpid()))
        for folder in (own, own / "one"):
            (folder / "cgroup.subtree_control").write_text("+memory")
    whole = file.with_suffix(".new")
    whole.write_text(str(os.getpid()))
    whole.replace(file)
    if kind != "end":
        signal.pause()


if __name__ == "__main__":
    main()
