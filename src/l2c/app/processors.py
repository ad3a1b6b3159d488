"""How many threads may work at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from l2c.errors import InputError

MOST = 16
"""Threads at the most, unless more are asked for: what Python does between compiled loops leaves no use for them."""

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux tells how much of its processors a container may use."""


def threads(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many threads may work at once: as many as `L2C_THREADS` says, or else as many as there are processors.

    `OMP_NUM_THREADS`, which most libraries of numbers obey, is obeyed too.

    >>> threads({"L2C_THREADS": "3", "OMP_NUM_THREADS": "1"}), threads({"OMP_NUM_THREADS": "1"})
    (3, 1)
    """
    told = environment.get("L2C_THREADS")
    if told is not None:
        if not (told.isdecimal() and int(told) > 0):
            raise InputError(f"the environment's L2C_THREADS must be a whole number above 0, not {told!r}")
        return int(told)
    others = environment.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(int(others) if others.isdecimal() and int(others) > 0 else processors(), MOST)


@cache
def processors() -> int:
    """Return how many processors this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text().split()
        return max(1, min(allowed, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no container, or no limit
        return allowed
