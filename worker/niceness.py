"""Workers give way: who polls a job waits for no sweep, on a host that the API and the workers share."""

import os
from contextlib import suppress
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")


def give_way(niceness: int) -> None:
    """Let processes with less niceness have the processor first; one that is as nice already stays so.

    Linux, unless told otherwise, shares processors among sessions before it looks at processes, and supervisors give
    each worker a session of its own: so that is as nice, too. Where neither can be said, a worker works all the same.
    """
    more = niceness - os.getpriority(os.PRIO_PROCESS, 0)
    if more > 0:
        os.nice(more)
        if os.getsid(0) == os.getpid():  # else others, such as a shell, would give way with it
            with suppress(OSError):
                AUTOGROUP.write_text(str(niceness), encoding="ascii")
