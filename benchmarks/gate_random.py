"""Counterfactuals released under random schemas and privacy policies, and how many classes of them break theirs.

    python benchmarks/gate_random.py [--rows 100000] [--seed 0]

Each world has a random schema with rules and limits, random quasi-identifiers and sensitive features, a random table
and a cheap black box. Each call asks for a random gate: k, l, t, a population, either scope, either count, coarser
levels or not. Classes are counted by `tests/counter.py`, which shares no code with the package.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from results import store
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from gates import counter_of, gated_world, random_gate

RESULTS = Path(__file__).parent / "results" / "gate_random.json"
CALLS = 3
"""Calls of `explain` in each world, each with another gate."""

N = 50
"""Counterfactuals that are asked for each row."""

SELECTS = ("first", "first", "balanced", "diverse", "sparse", "cheap")


def run(rows: int, seed: int, out: Path) -> None:
    console, rng, began = Console(), np.random.default_rng(seed), time.monotonic()
    asked, statuses, broken = Counter[str](), Counter[str](), Counter[str]()
    released = classes = worlds = 0
    while released < rows:
        world, explainer, gate = gated_world(rng)
        counter, worlds = counter_of(explainer), worlds + 1
        for _ in range(CALLS):
            found = explainer.explain(
                world.rows, N, gate=gate.gate, seed=int(rng.integers(2**31)), tries=1500, reasons=False,
                select=SELECTS[rng.integers(len(SELECTS))], plausibility=float(rng.choice([0.0, 0.5, 1.0])),
            )  # fmt: skip
            released += len(found)
            statuses.update(outcome.status for outcome in found.outcomes)
            asked.update(name for name, value in gate.plain.items() if value)
            asked[f"{gate.gate.scope}, {gate.gate.count}"] += 1
            frame = found.to_frame()
            tables = counter.tables(frame.to_dict("records"), gate.plain)
            classes += sum(len(table) for table in tables.values())
            told = counter.broken(frame, gate.plain, gate.population)
            broken.update(line.split(": ", 1)[1] for line in told)
            gate = random_gate(rng, world, explainer)
        figures = {"rows": released, "classes": classes, "worlds": worlds, "seed": seed, "violations": broken.total()}
        store([figures | {"asked": dict(asked), "outcomes": dict(statuses)}], out)
        if worlds % 10 == 0:
            console.print(f"{worlds} worlds, {released:,} rows, {broken.total()} violations", style="dim")
    table = Table(title=f"{released:,} rows in {classes:,} classes of {worlds} worlds, seed {seed}")
    for name in ("what", "count"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for counts in (asked, statuses):
        for name, count in counts.most_common():
            table.add_row(name, f"{count:,}")
        table.add_section()
    table.add_row("violations", f"{broken.total():,}")
    for name, count in broken.most_common():
        table.add_row(f"  {name}", f"{count:,}")
    console.print(table)
    console.print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    run(given.rows, given.seed, given.out)
