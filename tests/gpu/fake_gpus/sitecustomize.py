"""On PYTHONPATH, gives this machine four GPUs, those of the fake CUDA of the engine's tests."""

from tierscope.machine import discover
from tierscope.model.topology import Gpu

_discover = discover.discover


def _with_gpus(*given, **named):
    gpus = [
        Gpu(
            index=number,
            name="Fake GPU",
            address=f"0000:{0x17 + number:02x}:00.0",
            uuid=f"GPU-{number}",
        )
        for number in range(4)
    ]
    return _discover(*given, **named).model_copy(update={"gpus": gpus})


discover.discover = _with_gpus
