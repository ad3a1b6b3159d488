"""The models whose explanations are timed, each with what it costs by itself on ready rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import pandas as pd
import torch
from blackboxes import train
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import l2c
from l2c.adapters import frames
from l2c.errors import L2CError

CACHE = Path(__file__).parent / "cache"
"""Fitted explainers, so that a second run need not learn again; it may be removed at any time."""


@dataclass(frozen=True)
class Case:
    """A data set and a model of it, explained."""

    name: str
    kind: str
    data: l2c.datasets.Dataset
    model: Any
    explainer: l2c.Explainer
    alone: Callable[[np.ndarray], Callable[[], object]]
    """From cells to the model's own work on them, with the rows put together beforehand."""
    seen: bool

    @property
    def title(self) -> str:
        return f"{self.name}, {self.kind}"

    @property
    def rows(self) -> pd.DataFrame:
        return self.data.test


def case(name: str, kind: str, seed: int = 0) -> Case:
    """Return a data set with a model of a kind, and its explainer."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    schema = replace(data.schema, rules=())
    model, alone, seen = KINDS[kind](data, fit, dev, schema)
    folder = CACHE / f"{name}-{kind.replace(' ', '-')}-{seed}"
    try:
        explainer = l2c.load(folder, model=model)
    except L2CError:
        explainer = l2c.L2C().fit(fit, model, schema, dev=dev, seed=seed)
        folder.parent.mkdir(exist_ok=True)
        explainer.save(folder)
    return Case(name, kind, data, model, explainer, alone, seen)


def paper(data: Any, fit: pd.DataFrame, dev: pd.DataFrame, _: l2c.Schema) -> tuple[Any, Any, bool]:
    """Return the paper's black box: a logistic regression, or a network of three layers, in torch."""
    model = train(data, fit, dev, 0)

    def alone(cells: np.ndarray) -> Callable[[], object]:
        blocks = torch.from_numpy(model.inputs.of_cells(cells)).split(1024)

        def work() -> None:
            with torch.no_grad():
                for block in blocks:
                    torch.sigmoid(model.module(block))

        return work

    return model, alone, True


def linear(data: Any, fit: pd.DataFrame, _: pd.DataFrame, schema: l2c.Schema) -> tuple[Any, Any, bool]:
    return _sklearn(data, fit, schema, LogisticRegression(max_iter=1000), seen=True)


def pipeline(data: Any, fit: pd.DataFrame, _: pd.DataFrame, schema: l2c.Schema) -> tuple[Any, Any, bool]:
    return _sklearn(data, fit, schema, HistGradientBoostingClassifier(max_iter=100, random_state=0), seen=False)


def _sklearn(data: Any, fit: pd.DataFrame, schema: l2c.Schema, last: Any, *, seen: bool) -> tuple[Any, Any, bool]:
    numbers = [feature.name for feature in schema.features if feature.numeric]
    texts = [feature.name for feature in schema.features if not feature.numeric]
    encoder = OneHotEncoder(categories=[list(schema[name].levels) for name in texts], sparse_output=False)
    steps = make_column_transformer((StandardScaler(), numbers), (encoder, texts))
    model = make_pipeline(steps, last).fit(fit[list(schema.names)], fit[data.target])
    return model, _on_frames(model, fit, schema), seen


def xgboost(data: Any, fit: pd.DataFrame, _: pd.DataFrame, schema: l2c.Schema) -> tuple[Any, Any, bool]:
    levels = {feature.name: list(feature.levels) for feature in schema.features if not feature.numeric}
    rows = fit[list(schema.names)].astype({name: pd.CategoricalDtype(known) for name, known in levels.items()})
    model = XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, enable_categorical=True, random_state=0)
    model.fit(rows, (fit[data.target] == data.desirable).astype(int))
    return model, _on_frames(model, rows, schema), False


def _on_frames(model: Any, fit: pd.DataFrame, schema: l2c.Schema) -> Callable[[np.ndarray], Callable[[], object]]:
    shape = frames.shape_of(fit[list(schema.names)], schema)

    def alone(cells: np.ndarray) -> Callable[[], object]:
        rows = shape.build(cells)
        return lambda: model.predict_proba(rows)

    return alone


KINDS = {"paper": paper, "linear pipeline": linear, "boosted pipeline": pipeline, "xgboost": xgboost}
