"""The table of a fleet's hosts."""

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.fleet import ClockOffset, FleetHost, FleetIndex
from tierscope.report.style import new_table, note, title


def show_hosts(console: Console, index: FleetIndex, dry_run: bool = False) -> None:
    """Print a row for each host."""
    said = "what each host would do" if dry_run else "what became of each host"
    title(console, f"{index.plan}: {said}")
    table = new_table()
    for heading in ("rank", "host", "state"):
        table.add_column(heading, justify="right" if heading == "rank" else "left")
    table.add_column("clock ahead", justify="right", no_wrap=True)
    table.add_column("what" if dry_run else "why")
    for host in index.hosts:
        state = "can measure" if dry_run and host.state == "waiting" else host.state
        rank = "" if host.rank is None else str(host.rank)
        clock = _clock(host)
        table.add_row(*map(Text, (rank, host.host, state, clock, host.reason)))
    console.print(table)
    if any(host.clock and host.clock.round_trips for host in index.hosts):
        note(console, "clock ahead: of rank 0's when the run began, by the quickest round trip")
    if not dry_run:
        measured = sum(host.state == "measured" for host in index.hosts)
        note(console, f"{measured} of {counted(len(index.hosts), 'host')} measured")


def _clock(host: FleetHost) -> str:
    clock: ClockOffset | None = host.clock
    if clock is None:
        return "unknown"
    if not clock.round_trips:
        return "0"
    half = (clock.high_ns - clock.low_ns) / 2
    return f"{clock.offset_ns / 1000:.1f} ± {half / 1000:.1f} µs"
