"""``tierscope mlc``."""

from datetime import datetime

from tierscope.peers.click_command import drop_in_command


@drop_in_command()
def mlc(arguments: list[str], start_at: datetime | None) -> int:
    """Measure memory with the options and text of Intel's Memory Latency Checker.

    \b
    Examples:
      tierscope mlc
      tierscope mlc --latency_matrix
      tierscope mlc --bandwidth_matrix -W5 -b500m -X
      tierscope mlc --loaded_latency -d0 -t4 --json
    """
    from tierscope.peers.mlc.run import run

    return run(arguments, start_at)
