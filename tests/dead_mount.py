"""A file system that never answers, as a dead NFS server's: FUSE without anybody who replies.

Whoever asks it for a name waits in the kernel, and no signal reaches him, SIGKILL included.
"""

import contextlib
import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

_LIBC = ctypes.CDLL(None, use_errno=True)
_FORCE, _DETACH = 1, 2
_INIT = 26
_HEADER = struct.Struct("=IIQQIIII")
"""Of a request: length, opcode, number, node, user, group, process, padding."""


@contextlib.contextmanager
def dead_mount(directory: Path) -> Iterator[Path]:
    """Mount it on a directory; whoever waits there is released at the end."""
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"/dev/fuse: {error.strerror}: no file system can be made to hang here")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if _LIBC.mount(b"dead", bytes(directory), b"fuse", 0, options) != 0:
        why = os.strerror(ctypes.get_errno())
        os.close(device)
        pytest.skip(f"mount of FUSE: {why}: no file system can be made to hang here")
    daemon = threading.Thread(target=_answer_init_only, args=[device], daemon=True)
    daemon.start()
    try:
        yield directory
    finally:
        _LIBC.umount2(bytes(directory), _FORCE | _DETACH)
        daemon.join(10)
        os.close(device)


def _answer_init_only(device: int) -> None:
    """Take requests, without which those who made them could still be killed."""
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError:  # unmounted
            return
        _, opcode, number, *_ = _HEADER.unpack_from(request)
        if opcode == _INIT:
            # version 7.31, no features, writes of up to a page
            body = struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, *[0] * 8)
            os.write(device, struct.pack("=IiQ", 16 + len(body), 0, number) + body)
