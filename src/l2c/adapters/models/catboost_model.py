"""CatBoost models: `CatBoostClassifier`, or a `CatBoost` as it was trained or read from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.kinds import KINDS
from l2c.adapters.models.columns import all_columns, columns_of, in_order
from l2c.adapters.models.estimators import task_of
from l2c.adapters.models.frame_model import FrameModel
from l2c.core.blackbox import numbers, plain_labels
from l2c.core.types import Probabilities
from l2c.errors import InputError, ModelError

ONE_VS_ALL = "MultiClassOneVsAll"
"""Asks of each class by itself: CatBoost leaves it to us to make them add to 1."""

LOGARITHMS = ("Poisson", "Tweedie")
"""Losses whose raw answers are the logarithms of the numbers that are predicted."""


def catboost_model(model: Any, shape: FrameShape) -> FrameModel:
    """Return the black box of a CatBoost classifier."""
    if not model.is_fitted():
        raise ModelError(f"{type(model).__name__} has no classes_: fit it before it is explained")
    classes, loss = plain_labels(model.classes_), model.get_all_params().get("loss_function")
    if not classes:
        raise InputError(f"the CatBoost model is no classifier: its loss is {loss}")
    takes = _takes(model, shape)

    def answer(frame: Any) -> Probabilities:
        proba = numbers(model.predict(takes(frame), prediction_type="Probability"))
        return proba / proba.sum(axis=1, keepdims=True) if loss == ONE_VS_ALL else proba

    return FrameModel(answer, shape, classes)


def catboost_regressor(model: Any, shape: FrameShape) -> Callable[[Any], object] | None:
    """Return the function from a frame to the numbers that a model predicts, or None if it tells classes apart."""
    if not model.is_fitted() or len(model.classes_) or task_of(model) != "regressor":
        return None
    takes, loss = _takes(model, shape), str(model.get_all_params().get("loss_function"))
    kind = "Exponent" if loss.startswith(LOGARITHMS) else "RawFormulaVal"
    return lambda frame: model.predict(takes(frame), prediction_type=kind)


def _takes(model: Any, shape: FrameShape) -> Callable[[Any], pd.DataFrame]:
    """Return the function from a frame to the columns that the model was trained on, in its order."""
    names, who = model.feature_names_, "the CatBoost model"
    unnamed = names == [str(place) for place in range(len(names))]
    columns = all_columns(len(names), shape, who) if unnamed else columns_of(names, shape, who)
    categorical = [columns[place] for place in model.get_cat_feature_indices()]

    def taken(frame: Any) -> pd.DataFrame:
        ordered = in_order(frame, columns)
        there = dict(zip(columns, KINDS["pandas"].columns(ordered), strict=True))
        for name in categorical:
            if pd.isna(there[name]).any():
                raise ModelError(
                    f"CatBoost takes no missing value in the categorical column {name!r}: fill it in with the word "
                    "that the model was trained with, or give a function that does"
                )
        return ordered

    return taken
