"""Wait for what other processes do; how soon they do it says nothing on a busy machine."""

import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""Time after which something no longer comes."""


def wait_until(done: Callable[[], object], what: str) -> None:
    """Wait until ``done()`` is true; fails with ``what``, a sentence, where it does not come."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"in {PATIENCE_S:g} s it did not come that {what}"
        time.sleep(0.02)
