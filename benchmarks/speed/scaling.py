"""From a hundred inputs to a million, streamed from a Parquet file: time for each, and the most memory.

The inputs are the 200 test rows of German Credit, over and over; equal rows get equal answers, and cost as much. Every
size is a process of its own, so that its memory is known. It is timed after a stream of one chunk, or of as many rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import Asked, apart, memory_mb, one_thread

one_thread()

import altair as alt  # noqa: E402  (the number of threads comes first)
import numpy as np  # noqa: E402
import torch  # noqa: E402
from models import case  # noqa: E402

from l2c.app.streams import CHUNK  # noqa: E402

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
N = 10
WARM = 10
"""Chunks that are explained before anything is measured: the first ones load and settle."""
SELECT = "first"


def run(asked: Asked) -> list[dict[str, Any]]:
    """Return the figures of each size."""
    known = case("german", "paper")
    rows = known.rows.drop(columns=known.data.target)
    results = []
    for size in (size for size in SIZES if size <= asked.most):
        with tempfile.TemporaryDirectory() as folder:
            for name, count in (("rows", size), ("warm", min(size, CHUNK))):
                many = rows.iloc[np.arange(count) % len(rows)].reset_index(drop=True)
                many.to_parquet(Path(folder) / f"{name}.parquet")
            results.append(apart(__file__, {"folder": folder, "size": size}))
        print(f"{size:,} inputs: {results[-1]['cpu_ms_an_input']:.3f} ms each", flush=True)
    return results


def measured(folder: str, size: int) -> dict[str, Any]:
    """Return the figures of one size in this process."""
    torch.set_num_threads(1)
    explainer, place = case("german", "paper").explainer, Path(folder)
    dial = explainer.bundle.counterer.recipe.plausibility
    loaded, _ = memory_mb()
    ask = {"n": N, "select": SELECT, "reasons": False}
    for time_over in range(WARM):
        explainer.explain_stream(place / "warm.parquet", place / f"warm{time_over}", **ask)
    cpu, wall = time.process_time(), time.perf_counter()
    told = explainer.explain_stream(place / "rows.parquet", place / "found", **ask)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "part": "scaling", "select": SELECT, "dial": dial, "rows": size, "n": N,
        "cpu_s": cpu, "wall_s": wall, "cpu_ms_an_input": 1e3 * cpu / size, "wall_ms_an_input": 1e3 * wall / size,
        "loaded_mb": loaded, "peak_mb": memory_mb()[1], "found": told.counterfactuals, "parts": told.parts,
    }  # fmt: skip


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Write the figure: time for an input, and memory, over the number of inputs."""
    times = _panel(results, {"CPU": "cpu_ms_an_input", "wall": "wall_ms_an_input"}, "ms an input")
    memory = _panel(results, {"at the most": "peak_mb", "before the stream": "loaded_mb"}, "memory, MB")
    (times | memory).resolve_scale(color="independent").save(str(path))


def _panel(results: list[dict[str, Any]], lines: dict[str, str], title: str) -> alt.Chart:
    values = [
        {"inputs": row["rows"], "line": line, "number": row[name]} for row in results for line, name in lines.items()
    ]
    axis = alt.Axis(format="~s", values=[row["rows"] for row in results], grid=False)
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X("inputs:Q", scale=alt.Scale(type="log"), axis=axis, title="inputs"),
            y=alt.Y("number:Q", scale=alt.Scale(zero=True), title=title),
            color=alt.Color("line:N", sort=list(lines), title=None),
            # Thick under thin: CPU and wall time are mostly the same.
            strokeWidth=alt.StrokeWidth("line:N", sort=list(lines), legend=None, scale=alt.Scale(range=[5, 1.5])),
        )
        .properties(width=300, height=200)
    )


TITLE = f"streams of German Credit's test rows over and over, n = {N}"
COLUMNS = {
    "inputs": lambda row: f"{row['rows']:,}",
    "CPU ms an input": lambda row: f"{row['cpu_ms_an_input']:.3f}",
    "wall ms an input": lambda row: f"{row['wall_ms_an_input']:.3f}",
    "wall s": lambda row: f"{row['wall_s']:.1f}",
    "memory before, at the most, MB": lambda row: f"{row['loaded_mb']:.0f}, {row['peak_mb']:.0f}",
    "counterfactuals": lambda row: f"{row['found']:,}",
    "parts": lambda row: f"{row['parts']:,}",
}

if __name__ == "__main__":
    print(json.dumps(measured(**json.loads(sys.argv[1]))))
