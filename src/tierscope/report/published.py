"""What others published of a run's CPU, as a sentence beside the run's own figures."""

from collections.abc import Sequence

from tierscope.machine.published import published_of
from tierscope.model.run import Measurement, Run


def published_text(run: Run, measured: Sequence[Measurement]) -> str:
    """Return published figures of the CPU where its memory was measured; empty where none are."""
    by_cpus = (m for m in measured if m.target.startswith("node:") and "gpu" not in m.initiator)
    if run.header.emulated or run.header.imported or not any(by_cpus):
        return ""
    found = published_of(str(run.header.machine.get("cpu", "")))
    parts = [f"{one.figure}, {one.what} ({one.of}; {one.source})" for one in found]
    return f"Published for {found[0].cpu}: {'; '.join(parts)}." if found else ""
