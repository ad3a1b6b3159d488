"""The models whose explanations are timed, each with what it costs by itself on ready rows."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import pandas as pd
import torch
from blackboxes import train, untrained
from safetensors.torch import load_file, save_file
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
"""Fitted explainers and networks, so that a second run need not learn again; it may be removed at any time."""


Alone = Callable[[np.ndarray], Callable[[], object]]
"""From cells to the model's own work on them, with the rows put together beforehand."""


@dataclass(frozen=True)
class Made:
    """A model, its own work, and what frames must be made for it to take them as they are."""

    model: Any
    alone: Alone
    typed: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


@dataclass(frozen=True)
class Case:
    """A data set and a model of it, explained."""

    name: str
    kind: str
    data: l2c.datasets.Dataset
    model: Any
    explainer: l2c.Explainer
    alone: Alone
    typed: Callable[[pd.DataFrame], pd.DataFrame]
    fit_cpu_s: float
    """How long fitting took, whenever that was."""

    @property
    def title(self) -> str:
        return f"{self.name}, {self.kind}"

    @property
    def seen(self) -> bool:
        """Whether the model is seen into."""
        return self.explainer._twin is not None

    @property
    def rows(self) -> pd.DataFrame:
        return self.typed(self.data.test)


def case(name: str, kind: str, seed: int = 0) -> Case:
    """Return a data set with a model of a kind, and its explainer."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    schema = replace(data.schema, rules=())
    made = KINDS[kind](data, fit, dev, schema, seed)
    folder = CACHE / f"{name}-{kind.replace(',', '').replace(' ', '-')}-{seed}-{_learning_code()}"
    took = folder.with_suffix(".json")
    try:
        explainer, seconds = l2c.load(folder, model=made.model), json.loads(took.read_text())
    except (L2CError, OSError):
        start = time.process_time()
        explainer = l2c.L2C().fit(made.typed(fit), made.model, schema, dev=made.typed(dev), seed=seed)
        seconds = time.process_time() - start
        CACHE.mkdir(exist_ok=True)
        explainer.save(folder)
        took.write_text(json.dumps(seconds))
    return Case(name, kind, data, made.model, explainer, made.alone, made.typed, seconds)


def _learning_code() -> str:
    """Return a mark of the code that learns: what other code learned is not taken for its own."""
    package = Path(l2c.__file__).parent
    learning = ("answered", "fitting", "lessons", "pooling", "trials")
    files = [*sorted((package / "engine").glob("*.py")), *(package / "app" / f"{name}.py" for name in learning)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def paper(data: Any, fit: pd.DataFrame, dev: pd.DataFrame, _: l2c.Schema, seed: int) -> Made:
    """Return the paper's black box: a logistic regression, or a network of three layers, in torch."""
    model = _trained(data, fit, dev, seed)

    def alone(cells: np.ndarray) -> Callable[[], object]:
        blocks = torch.from_numpy(model.inputs.of_cells(cells)).split(model.block)

        def work() -> None:
            with torch.no_grad():
                for block in blocks:
                    torch.sigmoid(model.module(block))

        return work

    return Made(model, alone)


def _trained(data: Any, fit: pd.DataFrame, dev: pd.DataFrame, seed: int) -> l2c.TorchModel:
    path = CACHE / f"{data.name}-network-{seed}.safetensors"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        save_file(train(data, fit, dev, seed).module.state_dict(), path)
    module, inputs, labels = untrained(data, fit, torch.Generator())
    module.load_state_dict(load_file(path))
    return l2c.TorchModel(module, inputs, classes=labels)


def linear(data: Any, fit: pd.DataFrame, _: pd.DataFrame, schema: l2c.Schema, seed: int) -> Made:
    return _sklearn(data, fit, schema, LogisticRegression(max_iter=1000, random_state=seed))


def pipeline(data: Any, fit: pd.DataFrame, _: pd.DataFrame, schema: l2c.Schema, seed: int) -> Made:
    return _sklearn(data, fit, schema, HistGradientBoostingClassifier(max_iter=100, random_state=seed))


def _sklearn(data: Any, fit: pd.DataFrame, schema: l2c.Schema, last: Any) -> Made:
    numbers = [feature.name for feature in schema.features if feature.numeric]
    texts = [feature.name for feature in schema.features if not feature.numeric]
    encoder = OneHotEncoder(categories=[list(schema[name].levels) for name in texts], sparse_output=False)
    steps = make_column_transformer((StandardScaler(), numbers), (encoder, texts))
    model = make_pipeline(steps, last).fit(fit[list(schema.names)], fit[data.target])
    return Made(model, _on_frames(model, fit, schema))


def xgboost(data: Any, fit: pd.DataFrame, _: pd.DataFrame, schema: l2c.Schema, seed: int) -> Made:
    rows = fit[list(schema.names)].astype(_categories(schema))
    model = XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, enable_categorical=True, random_state=seed)
    model.fit(rows, (fit[data.target] == data.desirable).astype(int))
    return Made(model, _on_frames(model, rows, schema))


def _categories(schema: l2c.Schema) -> dict[str, pd.CategoricalDtype]:
    return {one.name: pd.CategoricalDtype(list(one.levels)) for one in schema.features if not one.numeric}


def unseen(kind: Callable[..., Made], *, by_category: bool = False) -> Callable[..., Made]:
    """Return a kind of model behind a function, so that nothing of it can be seen."""

    def made(data: Any, fit: pd.DataFrame, dev: pd.DataFrame, schema: l2c.Schema, seed: int) -> Made:
        inside, types = kind(data, fit, dev, schema, seed), _categories(schema) if by_category else {}

        def answer(frame: pd.DataFrame) -> Any:
            return inside.model.predict_proba(frame)

        answer.classes = inside.model.classes_.tolist()
        return Made(answer, inside.alone, lambda frame: frame.astype(types))

    return made


def _on_frames(model: Any, fit: pd.DataFrame, schema: l2c.Schema) -> Alone:
    shape = frames.shape_of(fit[list(schema.names)], schema)

    def alone(cells: np.ndarray) -> Callable[[], object]:
        rows = shape.build(cells)
        return lambda: model.predict_proba(rows)

    return alone


KINDS = {
    "paper": paper, "linear pipeline": linear, "boosted pipeline": pipeline, "xgboost": xgboost,
    "boosted pipeline, unseen": unseen(pipeline), "xgboost, unseen": unseen(xgboost, by_category=True),
}  # fmt: skip
