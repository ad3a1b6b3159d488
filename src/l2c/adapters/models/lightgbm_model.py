"""LightGBM models: a booster as it was trained or read from a file, or one of the library's own classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.columns import all_columns, as_pandas, by_category, columns_of, in_order, is_text
from l2c.adapters.models.estimators import classes_of, task_of
from l2c.adapters.models.frame_model import FrameModel, two_columns
from l2c.core.types import Label, Probabilities
from l2c.errors import InputError

ONE_VS_ALL = "multiclassova"
"""Asks of each class by itself: LightGBM leaves it to us to make them add to 1."""

OBJECTIVES = ("binary", "cross_entropy", "multiclass", ONE_VS_ALL)

NUMBERS = ("regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie")
"""Objectives whose predictions are numbers."""


def lightgbm_model(model: Any, shape: FrameShape) -> FrameModel:
    """Return the black box of an `LGBMClassifier` or a `Booster`, whose classes are then 0, 1, …."""
    if callable(getattr(model, "predict_proba", None)):
        classes = classes_of(model)
        answer = _answer(model.predict_proba, model.booster_, shape)
        return FrameModel(answer, shape, classes, built=_built(model.booster_, shape))
    if not hasattr(model, "dump_model"):
        raise InputError(f"{type(model).__name__} is no classifier: expected LGBMClassifier or a Booster of one")
    objective = _objective(model)
    if objective not in OBJECTIVES:
        raise InputError(f"the LightGBM model is no classifier: its objective is {objective}")
    classes = tuple(range(max(2, model.num_model_per_iteration())))
    return FrameModel(_answer(model.predict, model, shape), shape, classes, built=_built(model, shape))


def lightgbm_regressor(model: Any, shape: FrameShape) -> Callable[[Any], object] | None:
    """Return the function from a frame to the numbers that a model predicts, or None if it tells classes apart."""
    if hasattr(model, "dump_model"):
        if _objective(model) not in NUMBERS:
            return None
        takes = _takes(model, shape)
    elif task_of(model) == "regressor":
        takes = _takes(model.booster_, shape)
    else:
        return None
    return lambda frame: model.predict(takes(frame))


def _answer(ask: Callable[[Any], object], booster: Any, shape: FrameShape) -> Callable[[Any], Probabilities]:
    takes, alone = _takes(booster, shape), _objective(booster) == ONE_VS_ALL

    def answer(frame: Any) -> Probabilities:
        proba = two_columns(ask(takes(frame)))
        return proba / proba.sum(axis=1, keepdims=True) if alone else proba

    return answer


def _objective(booster: Any) -> str:
    return str(booster.dump_model(num_iteration=1).get("objective", "unknown")).partition(" ")[0]


def _takes(booster: Any, shape: FrameShape) -> Callable[[Any], Any]:
    """Return the function from a frame to what the booster was trained on: its columns, in its order and types."""
    names, who = booster.feature_name(), "the LightGBM model"
    if is_unnamed(names):
        columns = all_columns(len(names), shape, who)
        return lambda frame: as_pandas(frame)[columns].to_numpy(dtype=np.float64, na_value=np.nan)
    columns = columns_of(names, shape, who)
    categories = _undeclared(booster, columns)

    def taken(frame: Any) -> pd.DataFrame:
        # By their names: LightGBM itself goes by the place of a column alone.
        ordered = in_order(frame, columns)
        types = {name: pd.CategoricalDtype(known) for name, known in categories(ordered).items()}
        return ordered.astype(types) if types else ordered

    return taken


def categories_of(booster: Any, columns: list[str]) -> Callable[[pd.DataFrame], dict[str, list[Label]]]:
    """Return the function from a frame to the categories of those columns that the booster knows by them."""
    names, known = booster.feature_name(), booster.pandas_categorical or []
    ranges = booster.dump_model(num_iteration=1)["feature_infos"]
    coded = {column for column, name in zip(columns, names, strict=True) if ranges.get(name, {}).get("values")}

    def categories(frame: pd.DataFrame) -> dict[str, list[Label]]:
        types = dict(zip(columns, frame.dtypes.tolist(), strict=True))
        declared = [name for name in columns if name in coded or _is_categorical(types[name])]
        if len(declared) != len(known):
            return {}  # LightGBM says what it makes of them
        return dict(zip(declared, known, strict=True))

    return categories


def _undeclared(booster: Any, columns: list[str]) -> Callable[[pd.DataFrame], dict[str, list[Label]]]:
    """Return the same function, which leaves out the columns that are declared by category already."""
    known = categories_of(booster, columns)

    def undeclared(frame: pd.DataFrame) -> dict[str, list[Label]]:
        types = dict(zip(columns, frame.dtypes.tolist(), strict=True))
        return {name: found for name, found in known(frame).items() if types[name] != "category"}

    return undeclared


def _built(booster: Any, shape: FrameShape) -> FrameShape:
    """Return the frames that the booster takes with the least ado: with its categories declared."""
    names = booster.feature_name()
    if is_unnamed(names):
        return shape
    columns = columns_of(names, shape, "the LightGBM model")
    empty = in_order(shape.build(np.empty((0, len(shape.schema.features)))), columns)
    return by_category(shape, _undeclared(booster, columns)(empty))


def is_unnamed(names: list[str]) -> bool:
    """Return whether a booster knows no names of its columns, and goes by places."""
    return names == [f"Column_{place}" for place in range(len(names))]


def _is_categorical(dtype: Any) -> bool:
    return dtype == "category" or is_text(dtype)
