"""The figures of the paper preset on four data sets, five black boxes and seeds, as one table.

    python benchmarks/paper_preset.py [--data german student ...] [--seeds 5] [--n 100] [--out FILE]

For each data set and seed: a black box, then L2C as the paper's text trains it and the same networks untrained, each
asked for `n` counterfactuals for every test row. Every released row is then judged again from
scratch by the black box on the released frame, by code that the package does not share. Results are added to a
JSON file as they come; what it holds already is not run again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from blackboxes import answers_from_scratch, train
from results import grouped, spread, store, stored
from rich.console import Console
from rich.table import Table

import l2c

PRESETS = {
    "paper": l2c.L2C.paper(),
    "paper, untrained": l2c.L2C.paper(epochs=0),
}
METRICS = ("validity", "coverage", "unary", "sparsity", "diversity", "harmonic_mean", "plausibility", "distinct")
RESULTS = Path(__file__).parent / "results" / "paper_preset.json"


def run(name: str, seed: int, n: int) -> list[dict[str, Any]]:
    """Return the figures of every preset on one data set with one seed."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    model = train(data, fit, dev, seed)
    # The paper's main table knows no binary rules.
    schema = replace(data.schema, rules=())
    predicted = answers_from_scratch(model, fit, schema, data.test)
    accuracy = float((predicted == data.test[data.target].to_numpy()).mean())
    held_out = pd.concat([dev, data.test])
    results = []
    for preset, method in PRESETS.items():
        start = time.process_time()
        explainer = method.fit(fit, model, schema, dev=dev, seed=seed)
        fitted = time.process_time()
        found = explainer.explain(data.test, n, seed=seed)
        explained = time.process_time()
        frame = found.to_frame()
        again = answers_from_scratch(model, fit, schema, frame)
        card = found.scores(reference=fit, held_out=held_out).to_dict()
        results.append(
            {
                "data": name,
                "preset": preset,
                "seed": seed,
                "n": n,
                **card,
                "invalid_from_scratch": int((again != frame["prediction"].to_numpy()).sum()),
                "fit_cpu_s": fitted - start,
                "explain_cpu_s": explained - fitted,
                "accuracy": accuracy,
                "predicted": "".join(str(int(label == model.classes[1])) for label in predicted),
            }
        )
    return results


def figures_table(results: list[dict[str, Any]]) -> Table:
    """Return mean ± spread over the seeds, a line for each data set and preset."""
    heads = ("validity", "coverage", "unary", "S", "D", "H(N)", "plausible", "distinct")
    table = Table("data", "preset", *heads, "tries", "H(N+1)", "broken", "fit s", "explain s")
    for (name, preset), rows in grouped(results).items():
        shares = [spread([100 * row[metric] for row in rows]) for metric in METRICS]
        broken = sum(row["immutable_violations"] + row["invalid_from_scratch"] for row in rows)
        times = [spread([row[key] for row in rows], 1) for key in ("fit_cpu_s", "explain_cpu_s")]
        tries = spread([row["tries"] for row in rows])
        with_target = spread([100 * row["harmonic_mean_with_target"] for row in rows])
        table.add_row(name, f"{preset} ×{len(rows)}", *shares, tries, with_target, str(broken), *times)
    return table


def blackbox_table(results: list[dict[str, Any]]) -> Table:
    """Return the black boxes' accuracy beside the paper's, and how much the five differ."""
    table = Table("data", "test accuracy, %", "the paper, %", "rows on which two of them differ, %")
    for (name, preset), rows in grouped(results).items():
        if preset != "paper":
            continue
        pairs = [_differing(a["predicted"], b["predicted"]) for a, b in combinations(rows, 2)]
        printed = l2c.datasets.load(name).paper
        differ = f"{min(pairs):.2f} to {max(pairs):.2f}" if pairs else "–"
        accuracy = spread([100 * row["accuracy"] for row in rows])
        table.add_row(name, accuracy, f"{printed['test_accuracy']:.2f}" if printed else "–", differ)
    return table


def _differing(a: str, b: str) -> float:
    return 100 * sum(x != y for x, y in zip(a, b, strict=True)) / len(a)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["german", "student", "admission", "adult"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    done = {(row["data"], row["seed"], row["n"]) for row in results}
    for name in asked.data:
        for seed in range(asked.seeds):
            if (name, seed, asked.n) not in done:
                results += run(name, seed, asked.n)
                store(results, asked.out)
                print(f"{name}, seed {seed}: done", flush=True)
    shown = [row for row in results if row["data"] in asked.data and row["n"] == asked.n]
    console = Console(width=220)
    console.print(blackbox_table(shown))
    console.print(figures_table(shown))


if __name__ == "__main__":
    main()
