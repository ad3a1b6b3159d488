"""What it costs to know labels alone: a linear support vector machine on German Credit, with and without its scores.

    python benchmarks/labels_only.py [--seeds 3] [--n 10] [--rows 100]

One machine is explained twice: by its labels, and by a probability that decides exactly alike (the logistic function of
its decision function). Every row that the model is asked about is counted, in fitting and in explaining, and what was
found is judged again by the machine itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from results import spread
from rich.console import Console
from rich.table import Table
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import l2c

SELECTS = ("first", "balanced")


class Counted:
    """A function of a frame that counts the rows that it is asked about."""

    def __init__(self, answer: Callable[[Any], np.ndarray], classes: tuple[str, str]) -> None:
        self.answer, self.classes, self.rows = answer, classes, 0

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        self.rows += len(frame)
        return self.answer(frame)


def machine(data: l2c.datasets.Dataset, seed: int) -> Any:
    """Return a machine trained on a bootstrap sample of the training rows."""
    rows = data.train.sample(frac=1.0, replace=True, random_state=seed)
    numbers = [feature.name for feature in data.schema.features if feature.numeric]
    words = [name for name in data.schema.names if name not in numbers]
    prepared = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words))
    return make_pipeline(prepared, LinearSVC(C=0.1)).fit(rows[list(data.schema.names)], rows[data.target])


def run(seed: int, n: int, rows: int) -> list[dict[str, Any]]:
    """Return the figures of one machine in both modes."""
    data = l2c.datasets.load("german")
    trained, names = machine(data, seed), list(data.schema.names)
    classes = tuple(trained.classes_.tolist())
    modes = {
        "labels": lambda frame: trained.predict(frame[names]),
        "probabilities": lambda frame: 1 / (1 + np.exp(-trained.decision_function(frame[names]))),
    }
    results = []
    for mode, answer in modes.items():
        for select in SELECTS:
            model = Counted(answer, classes)
            explainer = l2c.L2C(select=select).fit(data.train, model, data.schema, seed=seed)
            fitted = model.rows
            found = explainer.explain(data.test[:rows], n, seed=seed)
            explained = model.rows - fitted  # before the scores ask about the training rows
            long = found.to_frame()
            card = found.scores(data.train).to_dict()
            results.append(
                {
                    "mode": mode,
                    "select": select,
                    "fit": fitted,
                    "explain": explained,
                    "invalid": int((trained.predict(long[names]) != long["prediction"].to_numpy()).sum()),
                    **{name: card[name] for name in ("validity", "coverage", "harmonic_mean", "plausibility")},
                }
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100)
    asked = parser.parse_args()
    results = [row for seed in range(asked.seeds) for row in run(seed, asked.n, asked.rows)]
    heads = ("validity", "coverage", "H(N)", "plausible")
    table = Table("mode", "select", "rows asked in fit", "rows asked in explain", *heads, "invalid from scratch")
    for mode, select in dict.fromkeys((row["mode"], row["select"]) for row in results):
        mine = [row for row in results if (row["mode"], row["select"]) == (mode, select)]
        costs = [spread([row[name] for row in mine], 0) for name in ("fit", "explain")]
        shares = ("validity", "coverage", "harmonic_mean", "plausibility")
        table.add_row(
            mode,
            select,
            *costs,
            *(spread([100 * row[name] for row in mine]) for name in shares),
            str(sum(row["invalid"] for row in mine)),
        )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
