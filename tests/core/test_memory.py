"""Memory that one batch leaves to the next."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is another than glibc's")

ROUNDS = """
import resource
import numpy as np
from l2c.core.memory import keep_memory

keep_memory()

def batch():
    arrays = [np.ones(1 << 17) for _ in range(8)]  # a megabyte each

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

batch()
before = faults()
for _ in range(10):
    batch()
print((faults() - before) // 10)
"""


def pages_a_batch() -> int:
    told = subprocess.run([sys.executable, "-c", ROUNDS], capture_output=True, text=True, check=True)
    return int(told.stdout)


def test_batches_after_the_first_need_no_new_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    assert (
        pages_a_batch() < 100
    )  # of 2,048; without it all of them are needed anew, unless the system hands out large ones


def test_it_takes_no_memory_itself() -> None:
    taken = """
import resource
from l2c.core.memory import keep_memory
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
keep_memory()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    told = subprocess.run([sys.executable, "-c", taken], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 4096  # kilobytes, of a block of 31 megabytes
