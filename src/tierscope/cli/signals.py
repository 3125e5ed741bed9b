"""Signals that end commands."""

import signal


def endings() -> list[signal.Signals]:
    """Return the signals, beside Ctrl-C, by which others end a command.

    What ``nohup`` has ignored stays so, here and in the programs that the command starts.
    """
    numbers = (signal.SIGTERM, signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
