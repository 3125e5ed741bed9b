"""Run a command until it succeeds: ``until.py SECONDS COMMAND...``.

Servers take a while to answer. The command is run again every 50 ms; when it has not succeeded
within the time, what it said last is said, and the exit status is 1.
"""

import subprocess
import sys
import time

_GAP_S = 0.05


def main() -> None:
    """Run it until it succeeds."""
    seconds, command = float(sys.argv[1]), sys.argv[2:]
    give_up = time.monotonic() + seconds
    while True:
        left = max(_GAP_S, give_up - time.monotonic())
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            sys.exit(f"{command[0]} had not ended after {seconds:g} s")
        except OSError as error:
            sys.exit(f"{command[0]}: {error.strerror}")
        if done.returncode == 0:
            return
        if time.monotonic() > give_up:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            why = said[-1] if said else f"exit status {done.returncode}"
            sys.exit(f"{command[0]} did not succeed within {seconds:g} s: {why}")
        time.sleep(_GAP_S)


if __name__ == "__main__":
    main()
