"""From a hundred inputs to a million, streamed from a Parquet file: time for each, and the most memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from models import case
from rich.table import Table

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
MOST = SIZES[-1]
N = 10

RUN = """
import resource, sys, time
sys.path.insert(0, {here!r})
from measuring import one_thread
one_thread()
import torch
torch.set_num_threads(1)
from models import case
known = case("german", "paper")
known.explainer.explain_stream([known.rows[:20]], {warm!r}, {n}, select={select!r}, reasons=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cpu, wall = time.process_time(), time.perf_counter()
told = known.explainer.explain_stream({data!r}, {out!r}, {n}, select={select!r}, reasons=False)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
import json
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([cpu, wall, most / 1024, before / 1024, told.counterfactuals]))
"""


def run(most: int = MOST, select: str = "first") -> list[dict[str, Any]]:
    """Return the figures of each size; every size is a process of its own, so that its memory is known."""
    known = case("german", "paper")
    rows = known.rows.drop(columns=known.data.target)
    results = []
    for size in (size for size in SIZES if size <= most):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "rows.parquet"
            rows.iloc[np.arange(size) % len(rows)].reset_index(drop=True).to_parquet(data)
            code = RUN.format(
                here=str(Path(__file__).parent), warm=f"{folder}/warm", out=f"{folder}/out", data=str(data), n=N,
                select=select,
            )  # fmt: skip
            told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        cpu, wall, peak, before, found = json.loads(told.splitlines()[-1])
        results.append({
            "part": "scaling", "select": select, "rows": size, "n": N, "cpu_s": cpu, "wall_s": wall,
            "cpu_ms_an_input": 1e3 * cpu / size, "peak_mb": peak, "warm_mb": before, "found": found,
        })  # fmt: skip
        print(f"{size:,} inputs: {1e3 * cpu / size:.3f} ms each, {peak:.0f} MB at the most", flush=True)
    return results


def table(results: list[dict[str, Any]]) -> Table:
    table = Table("inputs", "CPU ms an input", "wall s", "most memory, MB", "before it began, MB", "counterfactuals")
    for row in results:
        table.add_row(
            f"{row['rows']:,}", f"{row['cpu_ms_an_input']:.3f}", f"{row['wall_s']:.1f}", f"{row['peak_mb']:.0f}",
            f"{row['warm_mb']:.0f}", f"{row['found']:,}",
        )  # fmt: skip
    return table
