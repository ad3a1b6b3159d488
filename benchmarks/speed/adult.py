"""All of Adult's test rows, a hundred counterfactuals each, chosen from the default pool; the paper's time beside."""

from __future__ import annotations

import time
from typing import Any

from models import case
from rich.table import Table

PAPER_SECONDS = 444.0


def run(_: int) -> list[dict[str, Any]]:
    known = case("adult", "paper")
    known.explainer.explain(known.rows[:50], 100, reasons=False)
    results = []
    for select, dial in (("first", 0.0), ("balanced", 0.0), ("balanced", 0.5)):
        cpu, wall = time.process_time(), time.perf_counter()
        found = known.explainer.explain(known.rows, 100, select=select, plausibility=dial, reasons=False)
        found.to_frame()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        results.append({
            "part": "adult", "select": select, "dial": dial, "rows": len(known.rows), "found": len(found),
            "wall_s": wall, "cpu_s": cpu, "a_second": len(found) / cpu, "paper_s": PAPER_SECONDS,
            "tries": found.released.tries / len(found),
        })  # fmt: skip
    return results


def table(results: list[dict[str, Any]]) -> Table:
    table = Table("select", "dial", "counterfactuals", "wall s", "CPU s", "a CPU second", "tries", "the paper, s")
    for row in results:
        table.add_row(
            row["select"], f"{row['dial']:g}", f"{row['found']:,}", f"{row['wall_s']:.1f}", f"{row['cpu_s']:.1f}",
            f"{row['a_second']:,.0f}", f"{row['tries']:.2f}", f"{row['paper_s']:.0f}",
        )  # fmt: skip
    return table
