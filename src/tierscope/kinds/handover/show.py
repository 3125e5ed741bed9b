"""How hand-overs are shown."""

from collections.abc import Iterator

from tierscope.kinds.handover.spec import HandoverEvidence
from tierscope.model.run import Measurement, Run
from tierscope.report.view import View


def _said(measured: list[Measurement], _run: Run) -> Iterator[str]:
    found = [m.evidence.own(HandoverEvidence).handover for m in measured if m.evidence]
    ways = dict.fromkeys(one.instructions for one in found if one)
    if ways:
        yield f"cache instructions: {'; or '.join(ways)}"
    if any(m.pattern.get("coherence") == "flags-only" for m in measured):
        yield (
            "flags-only was verified: the hardware keeps the caches of these sides coherent, so "
            "that a missing flush cannot show here"
        )


VIEW = View(
    title="Hand-overs in shared memory",
    method="Half the time of a round trip: a side fills a block and publishes it, the other one "
    "compares every byte and hands a block back; medians and their 95% intervals.",
    notes=_said,
    represents_path=False,
)
