"""How time is taken: a warm-up, some repeats, the median; CPU and wall, one thread; and on what machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = ("numpy", "torch", "numba", "pandas", "pyarrow", "scikit-learn", "xgboost", "xgboost-cpu")
IDLE = 0.05
"""The most that others may use of a machine that is told to be otherwise idle."""


def one_thread() -> None:
    """Let every library work in one thread; to be called before any of them is imported."""
    for name in THREADS:
        os.environ[name] = "1"


@dataclass(frozen=True)
class Asked:
    """What a run of the benchmarks is asked for."""

    repeats: int = 5
    most: int = 100_000
    seeds: int = 3
    rows: int | None = None


class CannotRunError(Exception):
    """A part cannot be run here; the sentence says what to do about it."""


@dataclass(frozen=True)
class Taken:
    """Seconds, as medians over the repeats, and the least CPU seconds of any."""

    cpu: float
    wall: float
    least: float


def taken(work: Callable[[], object], repeats: int = 5) -> Taken:
    """Return how long some work takes once it is warm."""
    return taken_in_turn((work,), repeats)[0]


def taken_in_turn(
    works: Sequence[Callable[[], object]], repeats: int, before_each: Callable[[], object] = lambda: None
) -> list[Taken]:
    """Return how long each of several works takes once it is warm, one after the other again and again.

    What slows the machine for a while then slows all of them, and their differences hold. What is done before each is
    not timed.
    """
    for work in works:
        work()
    seconds: list[list[tuple[float, float]]] = [[] for _ in works]
    for _ in range(repeats):
        for work, each in zip(works, seconds, strict=True):
            before_each()
            start, clock = time.process_time(), time.perf_counter()
            work()
            each.append((time.process_time() - start, time.perf_counter() - clock))
    cpu, wall = ([[both[which] for both in each] for each in seconds] for which in (0, 1))
    return [Taken(median(a), median(b), min(a)) for a, b in zip(cpu, wall, strict=True)]


class Elsewhere:
    """Memory larger than any cache of the processor: once it was written to, they hold nothing else."""

    def __init__(self, megabytes: int = 128) -> None:
        self.memory = bytearray(megabytes << 20)
        self.line = b"\1" * (1 << 20)

    def __call__(self) -> None:
        for start in range(0, len(self.memory), len(self.line)):
            self.memory[start : start + len(self.line)] = self.line


def machine() -> dict[str, Any]:
    """Return what the times depend on: cores, threads, versions, and how busy the machine is as the part begins."""
    used = used_by_others()
    return {
        "begun": time.strftime("%Y-%m-%d %H:%M"),
        "cores": os.cpu_count(),
        "threads": {name: os.environ.get(name) for name in THREADS},
        "load_at_the_start": round(os.getloadavg()[0], 2),
        "used_by_others": round(used, 2),
        "otherwise_idle": used <= IDLE,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def used_by_others(seconds: float = 2.0) -> float:
    """Return the share of the machine that is used while this process sleeps: the load counts what came before, too."""
    before = _ticks()
    time.sleep(seconds)
    idle, whole = (now - then for now, then in zip(_ticks(), before, strict=True))
    return 1.0 - idle / whole


def _ticks() -> tuple[int, int]:
    """Return how long the cores were idle or waited, and in all."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def apart(script: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what a part's script tells of one request in a process of its own, so that its memory is known."""
    words = [sys.executable, script, json.dumps(asked)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def memory_mb() -> tuple[float, float]:
    """Return the memory that this process has taken, and the most that it ever had."""
    told = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, most = (int(told[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return now, most
