"""How time is taken: a warm-up, some repeats, the median; CPU and wall, one thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def one_thread() -> None:
    """Let every library work in one thread; to be called before any of them is imported."""
    for name in THREADS:
        os.environ[name] = "1"


@dataclass(frozen=True)
class Taken:
    """Seconds, as medians over the repeats."""

    cpu: float
    wall: float


def taken(work: Callable[[], object], repeats: int = 5) -> Taken:
    """Return how long some work takes once it is warm."""
    work()
    cpu, wall = [], []
    for _ in range(repeats):
        start, clock = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - clock)
    return Taken(median(cpu), median(wall))
