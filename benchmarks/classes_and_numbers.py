"""Three classes and predicted numbers, on the wines, irises and diabetes patients that come with scikit-learn.

    python benchmarks/classes_and_numbers.py [--seeds 5] [--n 10]

Of each data set three tenths of the rows, drawn by the seed, are explained, and the models are trained on the others. A
flower or a wine should get any other class, or the one named; a patient's predicted progression should come to lie in a
range. What is released is predicted again from scratch by the estimator itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from results import grouped, spread
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

import l2c

TREES = 100
WISHES: dict[str, tuple[Any, ...]] = {
    "wine": (None, 0),
    "iris": (None, 0),
    "diabetes": ((None, 120), (100, 130), (200, None)),
}
"""What is asked for: any other class or the first one; ranges of the prediction, None being an open end."""


@dataclass(frozen=True)
class Source:
    """A data set of scikit-learn, and what is known of its features."""

    load: Callable[..., Any]
    immutable: tuple[str, ...] = ()
    rises: tuple[str, ...] = ()
    number: bool = False

    def models(self, seed: int) -> dict[str, Any]:
        """Return estimators that are not fitted yet: one that gradients flow through, and two of trees."""
        settings = {"n_estimators": TREES, "random_state": seed, "n_jobs": 1}
        if self.number:
            return {
                "ridge": make_pipeline(StandardScaler(), Ridge()),
                "forest": RandomForestRegressor(**settings),
                "xgboost": XGBRegressor(max_depth=3, **settings),
            }
        return {
            "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
            "forest": RandomForestClassifier(**settings),
            "xgboost": XGBClassifier(max_depth=3, **settings),
        }


SOURCES = {
    "wine": Source(load_wine),
    "iris": Source(load_iris),
    "diabetes": Source(load_diabetes, immutable=("sex",), rises=("age",), number=True),
}


def parted(source: Source, seed: int) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Return the rows to train on with their targets, and the rows to explain."""
    settings = {"scaled": False} if source.number else {}
    data = source.load(as_frame=True, **settings)
    rows = data.data.rename(columns=lambda name: name.replace("/", " of "))
    held_out = np.random.default_rng(seed).random(len(rows)) < 0.3
    return rows[~held_out], data.target[~held_out], rows[held_out]


def run(name: str, seed: int, n: int) -> list[dict[str, Any]]:
    """Return the figures of all models of a data set with one seed, for each wish."""
    source = SOURCES[name]
    train, target, rows = parted(source, seed)
    schema = l2c.Schema.infer(train, immutable=source.immutable, rises=source.rises)
    results = []
    for kind, model in source.models(seed).items():
        model.fit(train, target)
        # What is learned for a range serves that range best; the classes are all learned at once.
        fitted = None if source.number else l2c.L2C().fit(train, model, schema, seed=seed)
        for wish in WISHES[name]:
            explainer = fitted or l2c.L2C().fit(train, model, schema, desired=wish, seed=seed)
            found = explainer.explain(rows, n, desired=wish, seed=seed)
            card, statuses = found.scores(), [outcome.status for outcome in found.outcomes]
            results.append(
                {
                    "data": name,
                    "preset": f"{kind}, {told(wish)}",
                    **card.to_dict(),
                    "asked": len(statuses) - statuses.count("already"),
                    "partial": statuses.count("partial"),
                    "none": sum(status in ("none_valid", "infeasible") for status in statuses),
                    "model_rows": explainer.bundle.notes["model_rows"],
                    "broken": broken(model, rows, found.to_frame(), wish),
                }
            )
    return results


def told(wish: Any) -> str:
    """Return what is asked for, in words."""
    if isinstance(wish, tuple):
        return f"{'' if wish[0] is None else wish[0]}…{'' if wish[1] is None else wish[1]}"
    return "any other" if wish is None else f"class {wish}"


def broken(model: Any, rows: pd.DataFrame, long: pd.DataFrame, wish: Any) -> int:
    """Return how many of the released rows the estimator does not put where they should be."""
    predicted = model.predict(long[[*rows.columns]])
    if isinstance(wish, tuple):
        low, high = (
            limit if limit is not None else default for limit, default in zip(wish, (-np.inf, np.inf), strict=True)
        )
        return int(((predicted < low) | (predicted > high)).sum())
    before = model.predict(rows)[long["row"]]
    return int((predicted == before if wish is None else predicted != wish).sum())


def figures_table(results: list[dict[str, Any]]) -> Table:
    """Return mean ± spread over the seeds, a line for each data set, model and wish."""
    shares = ("validity", "coverage", "sparsity", "diversity", "harmonic_mean")
    heads = ("validity", "coverage", "S", "D", "H(N)")
    table = Table("data", "model, wish", "rows", *heads, "tries", "partial", "none", "rows asked in fit", "broken")
    for (name, preset), rows in grouped(results).items():
        cells = [spread([100 * row[metric] for row in rows]) for metric in shares]
        sums = {metric: str(sum(row[metric] for row in rows)) for metric in ("asked", "partial", "none", "broken")}
        asked = spread([row["model_rows"] for row in rows], 0)
        tries = spread([row["tries"] for row in rows], 1)
        table.add_row(
            name, f"{preset} ×{len(rows)}", sums["asked"], *cells, tries, sums["partial"], sums["none"], asked,
            sums["broken"],
        )  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=SOURCES, default=[*SOURCES])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=10)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = [row for name in asked.data for seed in range(asked.seeds) for row in run(name, seed, asked.n)]
    Console(width=200).print(figures_table(results))


if __name__ == "__main__":
    main()
