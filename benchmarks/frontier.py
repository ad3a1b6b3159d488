"""The dial on four data sets, five black boxes and seeds: H against plausibility, learned and not.

    python benchmarks/frontier.py [--data german ...] [--seeds 5] [--places 0 0.25 0.5 0.75 1] [--default-pools]
                                  [--out FILE]

For each data set and seed a black box is trained, then L2C with its defaults (and the median of a bin as its value),
and the same without learning: the reference law alone, under the same pool, balance and dial. Everything is chosen on
the dev rows and measured on the test rows; of Adult's 9,045 test rows the first 300 are explained. Results are added
to a JSON file as they come; what it holds already is not run again.
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
from l2c.adapters.frames import read
from l2c.core.blackbox import decide
from l2c.core.explanation import Released
from l2c.evaluate.plausibility import Reference
from l2c.evaluate.scorecard import scorecard

RESULTS = Path(__file__).parent / "results" / "frontier.json"
TEST_ROWS = {"adult": 300}
POOL = {"german": 10_000, "student": 4000, "admission": 2000, "adult": 2000}
"""Valid ones to choose 100 from, where there are as many; by default it is 1,000."""

UNLEARNED_PLACES = (0.0, 0.5, 1.0)
SMALL = (5, 10)


def without_learning(explainer: l2c.Explainer) -> l2c.Explainer:
    """Return the explainer with the reference law alone: even weights and a constant selection."""
    counterer = explainer.bundle.counterer
    recipe = replace(counterer.recipe, selector="constant", selection=counterer.recipe.reference_selection)
    even = replace(counterer, recipe=recipe, generator=(), selector=(), foresight=None)
    return replace(explainer, bundle=replace(explainer.bundle, counterer=even))


def first_ranks(released: Released, count: int) -> Released:
    """Return the release with the first ranks of every set alone."""
    keep = released.rank <= count
    parts = {name: getattr(released, name)[keep] for name in ("row", "rank", "levels", "cells", "chance", "valid")}
    return replace(released, asked=count, **parts)


def copies(released: Released, levels: np.ndarray) -> float:
    """Return the share of counterfactuals that equal a training row by level."""
    real = {row.tobytes() for row in np.ascontiguousarray(levels)}
    return float(np.mean([row.tobytes() in real for row in np.ascontiguousarray(released.levels)]))


def run(name: str, seed: int, n: int, places: list[float], pool: int | None) -> list[dict[str, Any]]:
    """Return the figures of one data set with one seed, along the dial."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    model = train(data, fit, dev, seed)
    schema = replace(data.schema, rules=())
    start = time.process_time()
    explainer = l2c.L2C(decode="median").fit(fit, model, schema, dev=dev, seed=seed)
    fit_s = time.process_time() - start
    print(f"{name}, seed {seed}: {explainer.training}; {explainer.bundle.counterer.dial}", flush=True)
    real, held_out = (read(frame, schema).cells for frame in (fit, pd.concat([dev, data.test])))
    reference = Reference(real, decide(model.proba(real)), held_out, decide(model.proba(held_out)))
    results = []
    for kind, asked in (("learned", explainer), ("not learned", without_learning(explainer))):
        for place in places if kind == "learned" else UNLEARNED_PLACES:
            start = time.process_time()
            found = asked.explain(data.test[: TEST_ROWS.get(name)], n, seed=seed, plausibility=place, pool=pool)
            seconds = time.process_time() - start
            frame, released = found.to_frame(), found.released
            again = answers_from_scratch(model, fit, schema, frame)
            few = {f"first_{count}": scorecard(first_ranks(released, count), reference).to_dict() for count in SMALL}
            results.append(
                {
                    "data": name,
                    "preset": f"{kind}, dial {place:g}",
                    "seed": seed,
                    "n": n,
                    **scorecard(released, reference).to_dict(),
                    "acceptance": released.pooled / released.tries,
                    "pool": found.notes["pool"],
                    "copies": copies(released, explainer.layout.levels(real)),
                    "invalid_from_scratch": int((again != frame["prediction"].to_numpy()).sum()),
                    "fit_cpu_s": fit_s,
                    "explain_cpu_s": seconds,
                    **few,
                }
            )
    return results


def figures_table(results: list[dict[str, Any]]) -> Table:
    """Return mean ± spread over the seeds, a line for each data set and place of the dial."""
    names = ("validity", "coverage", "unary", "distinct", "sparsity", "diversity", "harmonic_mean", "plausibility")
    heads = ("validity", "coverage", "unary", "distinct", "S", "D", "H(N)", "plausible", "accepted", "copies")
    table = Table("data", "dial", *heads, "tries", "broken", "fit s", "explain s")
    for (name, preset), rows in grouped(results).items():
        shares = [spread([100 * row[metric] for row in rows]) for metric in (*names, "acceptance", "copies")]
        broken = sum(row["immutable_violations"] + row["invalid_from_scratch"] for row in rows)
        times = [spread([row[key] for row in rows], 1) for key in ("fit_cpu_s", "explain_cpu_s")]
        tries = spread([row["tries"] for row in rows])
        table.add_row(name, f"{preset} ×{len(rows)}", *shares, tries, str(broken), *times)
    return table


def small_table(results: list[dict[str, Any]]) -> Table:
    """Return what the first five and ten of a set are like."""
    table = Table("data", "dial", *(f"first {count}: {what}" for count in SMALL for what in ("S", "D", "plausible")))
    for (name, preset), rows in grouped(results).items():
        cells = [
            spread([100 * row[f"first_{count}"][metric] for row in rows])
            for count in SMALL
            for metric in ("sparsity", "diversity", "plausibility")
        ]
        table.add_row(name, preset, *cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["german", "student", "admission", "adult"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--places", type=float, nargs="+", default=[0.0, 0.25, 0.5, 0.75, 1.0])
    parser.add_argument("--default-pools", action="store_true", help="choose from what is found by default")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    done = {(row["data"], row["seed"], row["n"]) for row in results}
    for name in asked.data:
        for seed in range(asked.seeds):
            if (name, seed, asked.n) not in done:
                results += run(name, seed, asked.n, asked.places, None if asked.default_pools else POOL.get(name))
                store(results, asked.out)
    shown = [row for row in results if row["data"] in asked.data and row["n"] == asked.n]
    console = Console(width=240)
    console.print(figures_table(shown))
    console.print(small_table(shown))


if __name__ == "__main__":
    main()
