"""Memory that one batch leaves to the next, instead of handing it back to the system in between."""

from __future__ import annotations

from functools import cache

import numpy as np

LARGE = 31 << 20
"""A block a little smaller than the largest, 32 MiB, from which glibc learns how much to keep."""


@cache
def keep_memory() -> None:
    """Let the process keep the memory of arrays that are freed, for those that follow.

    glibc hands memory back as soon as more than twice the largest block that was ever freed lies idle. A batch of some
    hundred rows leaves more than that, and the next one gets it page by page: of 200 rows with 100 counterfactuals each
    that took as long as all else. Once a large block was freed, up to 62 MiB stay. This one is never written to, so it
    takes no memory itself; where the allocator is another, or was told what to keep (`MALLOC_TRIM_THRESHOLD_`), nothing
    changes.
    """
    np.empty(LARGE, dtype=np.uint8)
