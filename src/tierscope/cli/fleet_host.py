"""The measuring process that each rank of ``tierscope fleet run`` starts; no command of its own."""

import signal

from tierscope.cli.run import prepared_file, prepared_profile
from tierscope.fleet.host import Prepared, serve
from tierscope.fleet.transport import Message


def _prepare(order: Message) -> Prepared:
    if order["text"] is not None:
        return Prepared(*prepared_file(order["plan"], order["text"], order["time_limit"]))
    return Prepared(*prepared_profile(order["plan"], order["time_limit"]))


if __name__ == "__main__":
    # While it measures, the engine's handlers end the repetition in order; before, there is none.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(_prepare)
