"""Signals that end commands."""

import signal


def termination_signals() -> list[signal.Signals]:
    """Return the signals, beside Ctrl-C's, that are to end a command.

    SIGHUP is left out under ``nohup``, so that the command and the programs that it starts keep
    ignoring it.
    """
    numbers = (signal.SIGTERM, signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
