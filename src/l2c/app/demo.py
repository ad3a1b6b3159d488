"""The demonstration: German Credit from raw data to counterfactuals that a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from l2c.adapters import datasets
from l2c.adapters.datasets import Dataset
from l2c.app.display import as_table, sheet
from l2c.app.explainer import Explainer
from l2c.app.explanations import Explanations
from l2c.app.l2c import L2C
from l2c.app.progress import Progress
from l2c.app.service import write_found
from l2c.errors import InputError, MissingExtraError
from l2c.evaluate.scorecard import Scorecard

SHOWN = 5
"""Counterfactuals printed for the one applicant, as many as in the paper's examples."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the demonstration made."""

    data: Dataset
    accuracy: float
    explainer: Explainer
    found: Explanations
    person: int
    scores: Scorecard
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "accuracy": self.accuracy,
            "training": self.explainer.training,
            "scores": self.scores.to_dict(),
            "paper": dict(self.data.paper or {}),
            "files": [str(path) for path in self.files],
        }


def credit_model(data: Dataset) -> Any:
    """Return a logistic regression fitted to a data set's training rows, on the frame as it is."""
    try:
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
    except ImportError as error:
        raise MissingExtraError("the demonstration", "scikit-learn and torch", "demo") from error
    numbers = [feature.name for feature in data.schema.features if feature.numeric]
    others = [feature.name for feature in data.schema.features if not feature.numeric]
    prepared = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), others))
    model = make_pipeline(prepared, LogisticRegression(max_iter=1000))
    return model.fit(data.train[[*numbers, *others]], data.train[data.target])


def run(
    out: Path,
    *,
    n: int,
    seed: int,
    person: int | None = None,
    learning: Progress | None = None,
    explaining: Progress | None = None,
) -> Shown:
    """Train a model on German Credit, explain every test applicant, write what was found, and return it all.

    The `person` to show is by default the first whom the model refuses.
    """
    data = datasets.load("german")
    if person is not None and not 0 <= person < len(data.test):
        raise InputError(f"--person {person}: there are applicants 0 to {len(data.test) - 1}")
    model = credit_model(data)
    fit, dev = data.dev_split(seed)
    explainer = L2C().fit(fit, model, data.schema, dev=dev, seed=seed, progress=learning)
    found = explainer.explain(data.test, n, seed=seed, progress=explaining)
    out.mkdir(parents=True, exist_ok=True)
    files = (out / "found.parquet", out / "found.csv")
    for path in files:
        write_found(found, path)
    names = list(data.schema.names)
    accuracy = float((model.predict(data.test[names]) == data.test[data.target]).mean())
    scores = found.scores(reference=fit, held_out=pd.concat([dev, data.test]))
    row = _refused(data, found) if person is None else person
    return Shown(data, accuracy, explainer, found, row, scores, files)


def tables(shown: Shown) -> Iterator[RenderableType]:
    """Yield what the terminal shows: one applicant, the scorecard, and where the files are."""
    released = shown.found.released
    yield Text(
        f"{shown.data.title}: logistic regression, test accuracy {shown.accuracy:.1%}; {shown.explainer.training}\n"
    )
    yield as_table(sheet(released, shown.person, SHOWN))
    wanted = released.classes[released.desired[shown.person]]
    yield Text(f"▸ a change; · as it is. The model answers “{wanted}” to every counterfactual.\n", "dim")
    yield scorecard_table(shown)
    yield Group(Text("\nwritten:"), *(Text(f"  {path}") for path in shown.files))


def scorecard_table(shown: Shown) -> Table:
    """Return our metrics with the paper's beside them."""
    ours = shown.scores
    paper = shown.data.paper
    title = f"{len(shown.found.outcomes)} test applicants, {shown.found.released.asked} counterfactuals each"
    table = Table("", "L2C here", "the paper", title=title, title_justify="left", box=box.SIMPLE_HEAD)
    lines = (
        ("validity", ours.validity, paper and paper["validity"]),
        ("coverage", ours.coverage, paper and paper["coverage"]),
        ("unary constraints met", ours.unary, paper and paper["unary"]),
        ("binary constraints met", ours.binary, None),
        ("sparsity", ours.sparsity, paper and paper["sparsity"]),
        ("least sparsity allowed", ours.minimum_sparsity, paper and paper["min_sparsity"]),
        ("diversity", ours.diversity, paper and paper["diversity"]),
        ("harmonic mean, H(N)", ours.harmonic_mean, None),
        ("H(N+1), as the paper counts", ours.harmonic_mean_with_target, paper and paper["harmonic_mean"]),
        ("distinct", ours.distinct, None),
        ("plausibility", ours.plausibility, None),
    )
    for name, here, there in lines:
        table.add_row(name, "–" if here is None else f"{100 * here:.2f} %", "–" if there is None else f"{there:.2f} %")
    table.add_row("tries a counterfactual", "–" if ours.tries is None else f"{ours.tries:.2f}", "–")
    return table


def _refused(data: Dataset, found: Explanations) -> int:
    """Return the first applicant whom the model refuses and who has counterfactuals to show."""
    released = found.released
    good = released.classes.index(data.desirable)
    refused = np.flatnonzero((released.desired == good) & np.isin(np.arange(len(released.desired)), released.row))
    return int([*refused, *released.row, 0][0])
