"""A model that is asked with data frames: a scikit-learn estimator or pipeline, or any function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from l2c.adapters.frames import FrameShape, kind_of
from l2c.core.blackbox import checked, numbers, plain_labels
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import ModelError


@dataclass(frozen=True, slots=True, eq=False)
class FrameModel:
    """A black box behind a function from a frame to probabilities."""

    answer: Callable[[Any], object]
    shape: FrameShape
    classes: tuple[Label, ...]

    @classmethod
    def of_estimator(cls, model: Any, shape: FrameShape) -> FrameModel:
        """Return the black box of a fitted scikit-learn classifier or pipeline."""
        classes = getattr(model, "classes_", None)
        if classes is None:
            raise ModelError(f"{type(model).__name__} has no classes_: fit it before it is explained")
        names = getattr(model, "feature_names_in_", None)

        def answer(frame: Any) -> object:
            if kind_of(frame) == "arrow":
                frame = frame.to_pandas()  # scikit-learn knows pandas and polars
            # An estimator that was fitted on an array takes an array, in the frame's column order.
            if names is None and hasattr(model, "n_features_in_"):
                return model.predict_proba(np.asarray(frame))
            # One that it was fitted on and does not use, such as the target, it can do without.
            ordered = frame if names is None else frame[[name for name in names if name in frame.columns]]
            return model.predict_proba(ordered)

        return cls(answer, shape, plain_labels(classes))

    @classmethod
    def of_function(cls, function: Callable[[Any], object], shape: FrameShape, examples: Cells) -> FrameModel:
        """Return the black box of a function that answers a frame with probabilities.

        One number a row is the probability of class 1; several are those of classes 0, 1, …; the labels can be
        named by an attribute `classes` of the function.
        """

        def answer(frame: Any) -> object:
            return _two_columns(function(frame))

        columns = np.asarray(_asked(answer, shape.build(examples))).shape[1:2] or (2,)
        return cls(answer, shape, plain_labels(getattr(function, "classes", range(*columns))))

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.of_frame(self.shape.build(cells), len(cells))

    def of_frame(self, frame: Any, rows: int) -> Probabilities:
        """Return the probability of each class for each row of a frame."""
        return checked(_asked(self.answer, frame), rows, len(self.classes))


def _asked(function: Callable[[Any], object], frame: Any) -> object:
    try:
        return function(frame)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the model raised {type(error).__name__}: {error}") from error


def _two_columns(answer: object) -> np.ndarray:
    """Return the probabilities of both classes where only class 1's were given."""
    array = numbers(answer)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return np.stack([1 - array, array], axis=1) if array.ndim == 1 else array
