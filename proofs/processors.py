"""How many processors this process may use."""

import os


def cores() -> int:
    """Return the number of cores this process may use: those it is bound to, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
