"""Run files that are edited: their lines get new numbers and checksums, or none."""

from tierscope.runs.checksum import opened, sealed


def without_seals(content: bytes) -> bytes:
    """Return a run file as tierscope wrote it before lines had checksums."""
    return b"".join(opened(line).record + b"\n" for line in content.splitlines())


def resealed(content: bytes) -> bytes:
    """Return a run file whose lines have been edited as if they had been written so."""
    lines = [opened(line).record for line in content.splitlines()]
    return b"".join(sealed(line, number) + b"\n" for number, line in enumerate(lines, start=1))
