"""Rows equal by level to a training row, with and without `no_copies`, and what holding them back costs.

    python benchmarks/copies.py [--data german ...] [--seeds 5] [--out FILE]

Every test row (of Adult the first 300) gets 100 counterfactuals at dial 0.5 and 1. A copy equals a training row in
every level: it is looked for in the frames alone, with pandas, by the cut points. The training rows are all that the
explainer was given, fit and dev.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from blackboxes import train
from results import spread, store, stored
from rich.console import Console
from rich.table import Table

import l2c

RESULTS = Path(__file__).parent / "results" / "copies.json"
DATA = ("german", "student", "admission", "adult")
DIALS = (0.5, 1.0)
N = 100
TEST_ROWS = {"adult": 300}
SEEDS = {"adult": 2}
"""Seeds, where they are fewer than asked."""


def combinations(explainer: l2c.Explainer, rows: pd.DataFrame) -> pd.MultiIndex:
    """Return each row's combination of levels: a number by its place among the cut points, any other by its value."""
    columns = []
    for feature, axis in zip(explainer.schema.features, explainer.layout.axes, strict=True):
        column = rows[feature.name]
        columns.append(np.searchsorted(axis.cuts, column) if feature.kind == "numeric" else column.to_numpy())
    return pd.MultiIndex.from_arrays(columns)


def run(name: str, seed: int) -> list[dict[str, Any]]:
    """Return the figures of one black box."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    explainer = l2c.L2C().fit(fit, train(data, fit, dev, seed), data.schema, dev=dev, seed=seed)
    rows = data.test[: TEST_ROWS.get(name)].drop(columns=data.target)
    known = combinations(explainer, data.train)
    figures = []
    for dial in DIALS:
        for no_copies in (False, True):
            found = explainer.explain(rows, N, seed=seed, plausibility=dial, no_copies=no_copies)
            scores = found.scores(reference=fit, held_out=pd.concat([dev, data.test]))
            copies = combinations(explainer, found.features()).isin(known)
            figures.append(
                {
                    "data": name,
                    "seed": seed,
                    "dial": dial,
                    "no_copies": no_copies,
                    "released": len(found),
                    "copies": int(copies.sum()),
                    "validity": 100 * scores.validity,
                    "harmonic_mean": 100 * scores.harmonic_mean,
                    "plausibility": 100 * scores.plausibility,
                    "tries": found.released.tries / len(found),
                    "statuses": dict(Counter(outcome.status for outcome in found.outcomes)),
                }
            )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    for name in asked.data:
        for seed in range(min(asked.seeds, SEEDS.get(name, asked.seeds))):
            if (name, seed) not in {(row["data"], row["seed"]) for row in results}:
                results += run(name, seed)
                store(results, asked.out)
    table = Table("data", "dial", "no_copies", "released", "copies", "%", "validity", "H(N)", "plausibility", "tries")
    for name in asked.data:
        for dial in DIALS:
            for no_copies in (False, True):
                key = (name, dial, no_copies)
                rows = [row for row in results if (row["data"], row["dial"], row["no_copies"]) == key]
                copies, released = (sum(row[what] for row in rows) for what in ("copies", "released"))
                figures = (
                    spread([row[what] for row in rows])
                    for what in ("validity", "harmonic_mean", "plausibility", "tries")
                )
                share = f"{100 * copies / released:.2f}"
                table.add_row(name, f"{dial:g}", str(no_copies), f"{released:,}", f"{copies:,}", share, *figures)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
