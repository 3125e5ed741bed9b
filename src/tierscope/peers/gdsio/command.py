"""``tierscope gdsio``."""

from datetime import datetime

from tierscope.peers.click_command import drop_in_command


@drop_in_command()
def gdsio(arguments: list[str], start_at: datetime | None) -> int:
    """Measure storage with gdsio's flags, job files and result line.

    \b
    Examples:
      tierscope gdsio -D /data -d 0 -w 8 -s 500M -i 1M -x 0 -I 1
      tierscope gdsio -D /data -d 0 -w 8 -s 500M -i 1M -x 0 -I 0 -T 10
      tierscope gdsio -f /data/x -x 1 -w 2 -s 64M -i 4K -I 2 -T 5 --json
      tierscope gdsio jobs.gdsio
    """
    from tierscope.peers.gdsio.run import run

    return run(arguments, start_at)
