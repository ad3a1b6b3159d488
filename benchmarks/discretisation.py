"""Ways to cut numbers against privacy: the paper's appendix tables, German by strategy and Adult with mixed ones.

    python benchmarks/discretisation.py [--data german adult] [--seeds 5] [--out FILE]

Each strategy cuts every number of German alike; on Adult a strategy is drawn for each number and seed, beside the
paper's cuts. 100 counterfactuals for each test row, of Adult's the first 300, at dial 0.5. The attacker knows the
bins: German is attacked with the Penn State file, Adult with its dev rows, both with the model's own answers for
them. Ungated: what leaves here is what the discretisation alone protects.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from blackboxes import answers_from_scratch, train
from results import spread, store, stored
from rich.console import Console
from rich.table import Table

import l2c

RESULTS = Path(__file__).parent / "results" / "discretisation.json"
N = 100
TEST_ROWS = {"adult": 300}
PAPER = {
    ("german", "equal frequency"): "62.15 / 67.09, 71.60 / 0.21",
    ("german", "minimal entropy"): "59.03 / 66.52, 68.40 / 0.10",
    ("german", "tree"): "65.88 / 69.24, 74.25 / 0.18",
    ("german", "domain"): "60.85 / 65.84, 70.07 / 0.23",
    ("adult", "the paper's cuts"): "5.07 / 14.90, 39.58 / 0.00",
    ("adult", "mixed"): "5.53 / 15.39, 38.43 / 0.00",
}
"""1-anonymity, 1-diversity of the two most sensitive attributes, 1-map."""


def strategies(data: l2c.datasets.Dataset) -> dict[str, l2c.Schema]:
    """Return the schema of each strategy that cuts all numbers alike."""
    numbers = [feature.name for feature in data.schema.features if feature.kind == "numeric"]
    cut = {"minimal entropy": l2c.MinimalEntropy(), "tree": l2c.Tree(30)}
    named = {"equal frequency" if data.name == "german" else "the paper's cuts": data.schema}
    for name, binning in cut.items():
        schema = data.schema
        for number in numbers:
            schema = schema.edit(number, binning=binning)
        named[name] = schema
    return named | {"domain": data.domain_schema}


def asked_schemas(data: l2c.datasets.Dataset, seed: int) -> Iterator[tuple[str, l2c.Schema]]:
    """Yield what is run on a data set: every strategy on German, the paper's cuts and mixed ones on Adult."""
    every = strategies(data)
    if data.name == "german":
        yield from every.items()
        return
    yield "the paper's cuts", data.schema
    rng, mixed = np.random.default_rng(seed), data.schema
    for feature in data.schema.features:
        if feature.kind == "numeric":
            chosen = list(every.values())[int(rng.integers(len(every)))]
            mixed = mixed.edit(feature.name, binning=chosen[feature.name].binning)
    yield "mixed", mixed


@cache
def blackbox(name: str, seed: int) -> tuple[l2c.TorchModel, pd.DataFrame, pd.DataFrame]:
    """Return the black box of a seed, and the rows that it was trained on and stopped by."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    return train(data, fit, dev, seed), fit, dev


def run(data: l2c.datasets.Dataset, seed: int, strategy: str, schema: l2c.Schema) -> dict[str, Any]:
    """Return the figures of one strategy with one black box."""
    model, fit, dev = blackbox(data.name, seed)
    explainer = l2c.L2C().fit(fit, model, schema, dev=dev, seed=seed)
    rows = data.test[: TEST_ROWS.get(data.name)].drop(columns=data.target)
    found = explainer.explain(rows, N, seed=seed)
    attacker: pd.DataFrame = l2c.datasets.load("german_psu").frame if data.name == "german" else dev
    attacker = attacker.drop(columns=data.target)
    predicted = answers_from_scratch(model, fit, data.schema, attacker)
    seen = found.audit(attacker, population_prediction=predicted).figures.levels
    scores = found.scores(reference=fit, held_out=pd.concat([dev, data.test]))
    return {
        "data": data.name,
        "seed": seed,
        "strategy": strategy,
        "levels": {
            feature.name: axis.known
            for feature, axis in zip(schema.features, explainer.layout.axes, strict=True)
            if feature.kind == "numeric"
        },
        "validity": 100 * scores.validity,
        "harmonic_mean": 100 * scores.harmonic_mean,
        "plausibility": 100 * scores.plausibility,
        "tries": found.released.tries / len(found),
        "anonymity": _percent(seen.sets.by_samples.one.classes),
        "anonymity_release": _percent(seen.release.by_samples.one.classes),
        "anonymity_people": _percent(seen.release.by_people.one.classes),
        "diversity": {name: _percent(one.one.classes) for name, one in seen.sets.sensitive.items()},
        "map": _percent(seen.release.population.one.samples),
        "map_matched": _percent(seen.release.population.one_of_matched.samples),
        "matched": _percent(seen.release.population.matched.samples),
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=("german", "adult"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    for name in asked.data:
        data = l2c.datasets.load(name)
        for seed in range(asked.seeds):
            for strategy, schema in asked_schemas(data, seed):
                if (name, seed, strategy) not in {(row["data"], row["seed"], row["strategy"]) for row in results}:
                    results.append(run(data, seed, strategy, schema))
                    store(results, asked.out)
    table = Table(
        "data", "strategy", "seeds", "H(N)", "plausible", "tries", "1-anon. (set)", "(release)", "(people)",
        "1-diversity (set)", "1-map", "of matched", "the paper",
    )  # fmt: skip
    for (name, strategy), paper in PAPER.items():
        rows = [row for row in results if (row["data"], row["strategy"]) == (name, strategy)]
        if rows:
            table.add_row(name, strategy, str(len(rows)), *_cells(rows), paper)
    Console(width=220).print(table)


def _cells(rows: list[dict[str, Any]]) -> Iterator[str]:
    for what in ("harmonic_mean", "plausibility", "tries", "anonymity", "anonymity_release", "anonymity_people"):
        yield spread([row[what] for row in rows])
    yield ", ".join(spread([row["diversity"][name] for row in rows]) for name in rows[0]["diversity"])
    yield spread([row["map"] for row in rows])
    yield spread([row["map_matched"] for row in rows])


if __name__ == "__main__":
    main()
