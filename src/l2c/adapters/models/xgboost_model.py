"""XGBoost models: a booster as it was trained or read from a file, or one of the library's own classifiers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.kinds import KINDS
from l2c.adapters.models.columns import all_columns, as_pandas, by_category, columns_of, in_order
from l2c.adapters.models.estimators import classes_of, task_of
from l2c.adapters.models.frame_model import FrameModel, two_columns
from l2c.core.types import Label, Probabilities
from l2c.errors import InputError, nearest

PROBABILITIES = ("binary:logistic", "reg:logistic", "multi:softprob")
"""Objectives whose predictions are probabilities."""

LOG_ODDS = ("binary:logitraw", "multi:softmax")
"""Objectives whose margins become probabilities by one more step."""

NUMBERS = ("reg:", "count:")
"""How the names of objectives begin whose predictions are numbers."""


def xgboost_model(model: Any, shape: FrameShape) -> FrameModel:
    """Return the black box of an `XGBClassifier` or a `Booster`, whose classes are then 0, 1, …."""
    if callable(getattr(model, "predict_proba", None)):
        classes = classes_of(model)
        booster = model.get_booster()
        takes = _takes(booster, shape)
        answer = lambda frame: model.predict_proba(takes(frame))  # noqa: E731
        return FrameModel(answer, shape, classes, built=_built(booster, shape))
    if not hasattr(model, "save_config"):
        raise InputError(f"{type(model).__name__} is no classifier: expected XGBClassifier or a Booster of one")
    objective, count = _task(model)
    takes = _takes(model, shape)
    return FrameModel(
        lambda frame: _answer(model, objective, takes(frame)),
        shape,
        tuple(range(count)),
        labels_only=objective == "binary:hinge",
        built=_built(model, shape),
    )


def xgboost_regressor(model: Any, shape: FrameShape) -> Callable[[Any], object] | None:
    """Return the function from a frame to the numbers that a model predicts, or None if it tells classes apart."""
    if hasattr(model, "save_config"):
        objective = _objective(model)
        if not objective.startswith(NUMBERS) or objective in PROBABILITIES:
            return None
        takes = _takes(model, shape)
        return lambda frame: _predicted(model, takes(frame))
    if task_of(model) != "regressor":
        return None
    takes = _takes(model.get_booster(), shape)
    return lambda frame: model.predict(takes(frame))


def _objective(booster: Any) -> str:
    return str(json.loads(booster.save_config())["learner"]["learner_train_param"]["objective"])


def _task(booster: Any) -> tuple[str, int]:
    """Return a booster's objective and how many classes it tells apart."""
    learner = json.loads(booster.save_config())["learner"]
    objective = learner["learner_train_param"]["objective"]
    if objective not in (*PROBABILITIES, *LOG_ODDS, "binary:hinge"):
        raise InputError(f"the XGBoost model is no classifier: its objective is {objective}")
    return objective, max(2, int(learner["learner_model_param"]["num_class"]))


def _takes(booster: Any, shape: FrameShape) -> Callable[[Any], Any]:
    """Return the function from a frame to what the booster was trained on: its columns, in its order and types."""
    names, who = booster.feature_names, "the XGBoost model"
    if names is None:
        columns = all_columns(booster.num_features(), shape, who)
        return lambda frame: as_pandas(frame)[columns].to_numpy(dtype=np.float64, na_value=np.nan)
    columns, categorical = columns_of(names, shape, who), _by_column(booster, shape)
    if problems := list(_unknown_levels(categorical, shape)):
        raise InputError(problems)

    def taken(frame: Any) -> Any:
        ordered = in_order(frame, columns)
        # XGBoost finds the codes of categories by itself, but asks that they are declared as such.
        stored = zip(columns, KINDS["pandas"].columns(ordered), strict=True)
        plain = [name for name, column in stored if name in categorical and not isinstance(column, pd.Categorical)]
        return ordered.astype(dict.fromkeys(plain, "category")) if plain else ordered

    return taken


def _by_column(booster: Any, shape: FrameShape) -> dict[str, list[Label]]:
    """Return the categories that the booster remembers, by column."""
    if booster.feature_names is None:
        return {}
    columns = columns_of(booster.feature_names, shape, "the XGBoost model")
    return {columns[place]: known for place, known in categories_of(booster).items()}


def _built(booster: Any, shape: FrameShape) -> FrameShape:
    """Return the frames that the booster takes with the least ado: with its categories declared."""
    there = {name for name, dtype in shape.columns if dtype.categories is None}
    return by_category(shape, {name: known for name, known in _by_column(booster, shape).items() if name in there})


def categories_of(booster: Any) -> dict[int, list[Label]]:
    """Return the categories that the booster remembers, by the place of their feature; before XGBoost 3.1 none."""
    if not hasattr(booster, "get_categories"):  # pragma: no cover - an older XGBoost than the tests'
        return {}
    from xgboost.core import XGBoostError

    try:
        categories = booster.get_categories(export_to_arrow=True)
    except XGBoostError:  # so says one that is no trees, and has none
        return {}
    if categories.empty():
        return {}
    return {place: known.to_pylist() for place, (_, known) in enumerate(categories.to_arrow()) if known is not None}


def _unknown_levels(categorical: Mapping[str, list[Label]], shape: FrameShape) -> Iterator[str]:
    """Yield the levels that the model was not trained on: XGBoost may take them for another without a word."""
    for name, known in categorical.items():
        feature = shape.schema[name]
        if feature.numeric:
            yield f"the XGBoost model takes {name!r} by category, and the schema declares it numeric"
        for level in feature.levels:
            if level not in known:
                yield f"the XGBoost model was not trained on the level {level!r} of {name!r}{nearest(level, known)}"


def _predicted(booster: Any, rows: Any, *, output_margin: bool = False) -> np.ndarray:
    from xgboost import DMatrix

    names = None if isinstance(rows, np.ndarray) else booster.feature_names
    matrix = DMatrix(rows, feature_names=names, enable_categorical=True)
    return np.asarray(booster.predict(matrix, output_margin=output_margin), dtype=np.float64)


def _answer(booster: Any, objective: str, rows: Any) -> Probabilities:
    raw = _predicted(booster, rows, output_margin=objective in LOG_ODDS)
    if objective == "multi:softmax":
        mass = np.exp(raw - raw.max(axis=1, keepdims=True))
        return np.asarray(mass / mass.sum(axis=1, keepdims=True))
    return two_columns(1 / (1 + np.exp(-raw)) if objective == "binary:logitraw" else raw)
