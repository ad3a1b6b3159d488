"""A fitted scikit-learn classifier or pipeline, or anything that looks like one, as a black box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from l2c.adapters.frames import FrameShape, kind_of
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.models.columns import column_named
from l2c.adapters.models.frame_model import FrameModel
from l2c.adapters.models.labels import one_hot
from l2c.core.blackbox import plain_labels
from l2c.core.types import Label
from l2c.errors import ModelError


def estimator_model(model: Any, shape: FrameShape) -> FrameModel:
    """Return the black box of a fitted classifier that has `predict_proba`, or only `predict`."""
    classes, takes = classes_of(model), taken_by(model)
    if callable(getattr(model, "predict_proba", None)):
        return FrameModel(lambda frame: model.predict_proba(takes(frame)), shape, classes)
    return FrameModel(
        lambda frame: one_hot(np.asarray(model.predict(takes(frame))), classes), shape, classes, labels_only=True
    )


def estimator_regressor(model: Any) -> Callable[[Any], object] | None:
    """Return the function from a frame to what a scikit-learn regressor predicts, or None if it is none."""
    if task_of(model) != "regressor" or not callable(getattr(model, "predict", None)):
        return None
    takes = taken_by(model)
    return lambda frame: model.predict(takes(frame))


def task_of(model: Any) -> str | None:
    """Return what an estimator says that it is: a `classifier`, a `regressor`, …; None if it says nothing."""
    declared = getattr(model, "_estimator_type", None)
    tags = getattr(model, "__sklearn_tags__", None)
    if declared is not None or not callable(tags) or isinstance(model, type):
        return declared
    return getattr(tags(), "estimator_type", None)


def classes_of(model: Any) -> tuple[Label, ...]:
    """Return the labels of a fitted classifier, in the order of its probabilities."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise ModelError(f"{type(model).__name__} has no classes_: fit it before it is explained")
    labels = plain_labels(classes)
    if not labels or not all(isinstance(label, Label) for label in labels):
        raise ModelError(f"{type(model).__name__} does not tell rows of one class from those of another")
    return labels


def taken_by(model: Any) -> Callable[[Any], Any]:
    """Return the function from a frame to what the estimator was fitted on: a frame or an array."""
    names = getattr(model, "feature_names_in_", None)
    as_given = None if names is None else list(names)

    def taken(frame: Any) -> Any:
        if kind_of(frame) == "arrow":
            frame = frame.to_pandas()  # scikit-learn knows pandas and polars
        # An estimator that was fitted on an array takes an array, in the frame's column order.
        if names is None and hasattr(model, "n_features_in_"):
            return np.asarray(frame)
        if library_of(frame).names(frame) == as_given:
            return frame
        # A column that it was fitted on and does not use, such as the target, it can do without.
        found = [column_named(name, frame.columns) for name in ([] if names is None else names)]
        return frame if names is None else frame[[name for name in found if name is not None]]

    return taken
