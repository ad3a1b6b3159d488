"""Counterfactuals under retrained black boxes: plain, by a margin, and robust to five versions, on German Credit.

    python benchmarks/robust.py [--seeds 5] [--n 20] [--rows 200] [--out FILE]

For each seed a black box is trained, and ten more versions of it, each on a bootstrap sample of its training rows. What
is found for the first is judged by all of them from scratch: by five that the robust mode is given, and by five that
nobody was shown. The latter is the honest figure: for the five that were given it is 100 % by construction. Results are
added to a JSON file as they come; what it holds already is not run again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from blackboxes import answers_from_scratch, train
from results import grouped, spread, store, stored
from rich.console import Console
from rich.table import Table

import l2c

RESULTS = Path(__file__).parent / "results" / "robust.json"
VERSIONS = 5
"""How many retrained black boxes are given, and how many more are kept back."""


def retrained(
    data: l2c.datasets.Dataset, fit: pd.DataFrame, dev: pd.DataFrame, seed: int
) -> list[tuple[l2c.TorchModel, pd.DataFrame]]:
    """Return twice as many versions as are given, each with the bootstrap sample that it was trained on."""
    samples = [fit.sample(frac=1.0, replace=True, random_state=1000 * seed + k) for k in range(2 * VERSIONS)]
    return [(train(data, sample, dev, 1000 * seed + k), sample) for k, sample in enumerate(samples)]


def held(
    versions: list[tuple[l2c.TorchModel, pd.DataFrame]], schema: l2c.Schema, frame: pd.DataFrame
) -> tuple[float, float]:
    """Return the share of counterfactuals that hold under all versions, and the mean share under each."""
    wanted = frame["prediction"].to_numpy()
    holds = np.array([answers_from_scratch(model, sample, schema, frame) == wanted for model, sample in versions])
    return float(holds.all(axis=0).mean()), float(holds.mean())


def run(seed: int, n: int, rows: int) -> list[dict[str, Any]]:
    """Return the figures of one black box in every mode."""
    data = l2c.datasets.load("german")
    fit, dev = data.dev_split(seed)
    model = train(data, fit, dev, seed)
    versions = retrained(data, fit, dev, seed)
    given, kept_back = versions[:VERSIONS], versions[VERSIONS:]
    schema = replace(data.schema, rules=())
    explainer = l2c.L2C().fit(fit, model, schema, dev=dev, seed=seed)
    modes: dict[str, Any] = {
        "plain": None,
        "margin 0.1": 0.1,
        "margin 0.2": 0.2,
        "margin 0.3": 0.3,
        "five models": [version for version, _ in given],
    }
    results = []
    for preset, robust in modes.items():
        start = time.process_time()
        found = explainer.explain(data.test[:rows], n, seed=seed, robust=robust)
        seconds = time.process_time() - start
        frame = found.to_frame()
        again = answers_from_scratch(model, fit, schema, frame)
        all_given, each_given = held(given, schema, frame)
        all_others, each_other = held(kept_back, schema, frame)
        results.append(
            {
                "data": "german",
                "preset": preset,
                "seed": seed,
                "n": n,
                "rows": rows,
                **found.scores(fit, held_out=pd.concat([dev, data.test])).to_dict(),
                "all_given": all_given,
                "each_given": each_given,
                "all_others": all_others,
                "each_other": each_other,
                "invalid_from_scratch": int((again != frame["prediction"].to_numpy()).sum()),
                "explain_cpu_s": seconds,
            }
        )
    return results


def figures_table(results: list[dict[str, Any]]) -> Table:
    """Return mean ± spread over the seeds, a line for each mode."""
    names = ("all_given", "all_others", "each_other", "validity", "coverage", "harmonic_mean", "plausibility")
    heads = ("all five given", "all five others", "one other", "validity", "coverage", "H(N)", "plausible")
    table = Table("mode", *heads, "tries", "changes", "explain s", "invalid")
    for (_, preset), rows in grouped(results).items():
        shares = [spread([100 * row[name] for row in rows], 1) for name in names]
        rest = [spread([row[name] for row in rows], 1) for name in ("tries", "mean_changes", "explain_cpu_s")]
        table.add_row(f"{preset} ×{len(rows)}", *shares, *rest, str(sum(row["invalid_from_scratch"] for row in rows)))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    done = {(row["seed"], row["n"], row["rows"]) for row in results}
    for seed in range(asked.seeds):
        if (seed, asked.n, asked.rows) not in done:
            results += run(seed, asked.n, asked.rows)
            store(results, asked.out)
    shown = [row for row in results if (row["n"], row["rows"]) == (asked.n, asked.rows)]
    Console(width=200).print(figures_table(shown))


if __name__ == "__main__":
    main()
