"""Results of benchmarks: kept as JSON as they come, and shown as mean ± spread over the seeds."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]


def stored(path: Path) -> list[Row]:
    """Return what an earlier run left in a file."""
    rows: list[Row] = json.loads(path.read_text()) if path.exists() else []
    return rows


def store(results: list[Row], path: Path) -> None:
    """Write all results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def grouped(results: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each data set and preset."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in results:
        groups.setdefault((row["data"], row["preset"]), []).append(row)
    return groups


def spread(values: list[float], digits: int = 2) -> str:
    """Return the mean of some values, and their standard deviation."""
    around = f" ±{stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{around}"
