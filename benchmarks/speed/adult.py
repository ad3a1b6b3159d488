"""All of Adult's test rows, a hundred counterfactuals each, in one call, frames in and out; the paper's time beside.

Each request is a process of its own, so that its memory is known: in one thread, and in as many as there are cores,
while torch itself has one. Of several such processes the one that took the median time is told of.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from measuring import Asked, apart, memory_mb, one_thread

one_thread()

import torch  # noqa: E402  (the number of threads comes first)
from models import case  # noqa: E402

PAPER_SECONDS = 444.0
REQUESTS = (("first", 0.0), ("balanced", 0.0), ("balanced", 0.5))
N, WARM_ROWS, PROCESSES = 100, 50, 5


def run(asked: Asked) -> list[dict[str, Any]]:
    """Return the figures of each request, of all rows or of the first ones."""
    case("adult", "paper")  # learned here, so that the processes need not
    return [
        _median([apart(__file__, request) for _ in range(PROCESSES)])
        for threads in dict.fromkeys((1, os.cpu_count() or 1))
        for select, dial in REQUESTS
        for request in ({"select": select, "dial": dial, "threads": threads, "rows": asked.rows},)
    ]


def _median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run whose time is in the middle: how soon a process gets its memory differs by half a second."""
    return sorted(runs, key=lambda run: run["wall_s"])[len(runs) // 2]


def measured(select: str, dial: float, threads: int, rows: int | None) -> dict[str, Any]:
    """Return the figures of one request in this process."""
    os.environ["L2C_THREADS"] = str(threads)
    torch.set_num_threads(1)
    known = case("adult", "paper")
    people = known.rows[:rows]
    ask = {"select": select, "plausibility": dial, "reasons": False}
    known.explainer.explain(people[:WARM_ROWS], N, **ask).to_frame()
    before, _ = memory_mb()
    cpu, wall = time.process_time(), time.perf_counter()
    found = known.explainer.explain(people, N, **ask)
    found.to_frame()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "part": "adult", "select": select, "dial": dial, "threads": threads, "rows": len(people), "n": N,
        "found": len(found), "wall_s": wall, "cpu_s": cpu, "a_second": len(found) / wall,
        "a_cpu_second": len(found) / cpu,
        "cpu_ms_an_input": 1e3 * cpu / len(people), "tries": found.released.tries / len(found),
        "before_mb": before, "peak_mb": memory_mb()[1], "paper_s": PAPER_SECONDS,
    }  # fmt: skip


COLUMNS = {
    "select": lambda row: row["select"],
    "dial": lambda row: f"{row['dial']:g}",
    "threads": lambda row: f"{row['threads']}",
    "inputs": lambda row: f"{row['rows']:,}",
    "counterfactuals": lambda row: f"{row['found']:,}",
    "wall s": lambda row: f"{row['wall_s']:.1f}",
    "CPU s": lambda row: f"{row['cpu_s']:.1f}",
    "a second": lambda row: f"{row['a_second']:,.0f}",
    "tries each": lambda row: f"{row['tries']:.2f}",
    "memory before, at the most, MB": lambda row: f"{row['before_mb']:,.0f}, {row['peak_mb']:,.0f}",
    "the paper, s": lambda row: f"{row['paper_s']:.0f}",
}
TITLE = "all of Adult's test set in one call, frames in and out"

if __name__ == "__main__":
    print(json.dumps(measured(**json.loads(sys.argv[1]))))
