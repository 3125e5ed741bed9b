"""``tierscope nvbandwidth``."""

from datetime import datetime

from tierscope.peers.click_command import drop_in_command


def _serves() -> bool:
    from tierscope.fleet.messenger import served
    from tierscope.model.errors import UserError

    try:
        return served()
    except UserError:  # rank 0 says why its test cases are waived
        return False


@drop_in_command(serves=_serves)
def nvbandwidth(arguments: list[str], start_at: datetime | None) -> int:
    """Run nvbandwidth's test cases, with its options and its output.

    \b
    Examples:
      tierscope nvbandwidth
      tierscope nvbandwidth -t host_to_device_memcpy_ce 4 -b 256
      tierscope nvbandwidth -p device_to_device --json
      mpirun -n 8 tierscope nvbandwidth -p multinode
    """
    from tierscope.peers.nvbandwidth.run import run

    return run(arguments, start_at)
