"""Whether this machine's clock is that of other machines: the kernel's NTP state, adjtimex(2)."""

import ctypes
import errno

from tierscope.model.run import ClockState

_STA_UNSYNC, _STA_NANO = 0x0040, 0x2000
_TIME_ERROR = 5


class _Timeval(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_long), ("usec", ctypes.c_long))


class _Timex(ctypes.Structure):
    """struct timex of <sys/timex.h>; what is not read is left out of the names."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", _Timeval),
        ("rest", ctypes.c_long * 32),
    )


def clock_state() -> ClockState | None:
    """Return what the kernel knows of the wall clock; None where it does not tell."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return None
    found = _Timex(modes=0)  # reads only, which needs no privilege
    state = adjtimex(ctypes.byref(found))
    if state < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
        return None
    return state_of(state, found.status, found.offset, found.maxerror, found.esterror)


def state_of(state: int, status: int, offset: int, most_us: int, estimated_us: int) -> ClockState:
    """Return what adjtimex's values say; ``offset`` is in ns with STA_NANO, else in µs."""
    synchronized = state not in (-1, _TIME_ERROR) and not status & _STA_UNSYNC
    return ClockState(
        synchronized=synchronized,
        offset_s=offset * (1e-9 if status & _STA_NANO else 1e-6) if synchronized else None,
        max_error_s=most_us * 1e-6 if synchronized else None,
        estimated_error_s=estimated_us * 1e-6 if synchronized else None,
    )
