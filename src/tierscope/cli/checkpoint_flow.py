"""From the options of ``tierscope checkpoint`` to measurements."""

from collections.abc import Sequence

from tierscope.cli.flow import carry_out, planned
from tierscope.cli.gpu_flow import gpu_topology
from tierscope.cli.options import Output
from tierscope.kinds.registry import KINDS
from tierscope.model.endpoint import parse_target
from tierscope.plans.request import Request
from tierscope.recipes import checkpoint
from tierscope.topology.discover import discover


def measure_checkpoints(named: Sequence[str], given: dict[str, str], output: Output) -> int:
    """Measure checkpoints to each target that is named, else to all that there are."""
    on_gpu = given.get("from", "").startswith("gpu")
    topology = gpu_topology(output.dry_run) if on_gpu else discover()
    words = [_endpoint(word) for word in named]
    if not words:
        words = checkpoint.targets(topology, given.get("from", ""))
        if any(word.startswith("pmem:") for word in words):
            given = {"backing": ",".join(checkpoint.BACKINGS), **given}
    request = Request(kind="checkpoint", options={**given, "to": ",".join(words)})
    plan = planned([request], topology)
    return carry_out("checkpoint", plan, topology, output)


def _endpoint(word: str) -> str:
    """Return a word that names a target as an endpoint. Raises UserError."""
    target = parse_target(
        checkpoint.endpoint_of(word), KINDS["checkpoint"].spec.targets, "checkpoint"
    )
    return str(target)
