"""A plain function as a model: from a frame to probabilities, or to labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.frame_model import FrameModel, asked, two_columns
from l2c.adapters.models.labels import label_column, one_hot
from l2c.core.blackbox import plain_labels
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import ModelError


def function_model(function: Callable[[Any], object], shape: FrameShape, examples: Cells) -> FrameModel:
    """Return the black box of a function that answers a frame with probabilities or with labels.

    Fractions are probabilities: one a row is that of class 1, several are those of classes 0, 1, …; an attribute
    `classes` of the function names the labels. Fractions are never labels.

    Texts, booleans and arrays of whole numbers, one a row, are labels: the black box then knows no more than them.
    `classes` must name every text that can be answered, for a few rows do not show them all; booleans do without
    it, and so do the numbers 0 and 1. Whole numbers are classes that equal them, or places among classes that are
    texts. Which of the two a function answers is settled on the examples, and it must keep to it.
    """
    given = getattr(function, "classes", None)
    classes = None if given is None else plain_labels(given)
    first = asked(function, shape.build(examples))
    labels = _labels(first, classes)
    if labels is None:
        columns = two_columns(first).shape[1:2] or (2,)
        return FrameModel(lambda frame: two_columns(function(frame)), shape, classes or tuple(range(*columns)))
    known = classes or _plain_classes(labels)
    return FrameModel(lambda frame: _judged(function(frame), known), shape, known, labels_only=True)


def _labels(answer: object, classes: tuple[Label, ...] | None) -> np.ndarray | None:
    """Return an answer's labels, or None if it holds probabilities."""
    labels = label_column(answer)
    # A list of whole numbers may be one of probabilities that all happen to be 0 or 1.
    certain = labels is not None and (labels.dtype.kind not in "iu" or hasattr(answer, "dtype") or classes is not None)
    return labels if certain else None


def _plain_classes(labels: np.ndarray) -> tuple[Label, ...]:
    """Return the classes of labels that need no names: booleans, 0 and 1."""
    if labels.dtype.kind in "iu" and np.isin(labels, (0, 1)).all():
        return 0, 1
    if labels.dtype.kind == "b" or (labels.dtype.kind == "O" and not isinstance(labels[0], str)):
        return False, True
    raise ModelError(
        "the model answers with labels, and a few rows need not show them all: "
        "name every label in an attribute of the function, as in model.classes = ('bad', 'good')"
    )


def _judged(answer: object, classes: tuple[Label, ...]) -> Probabilities:
    labels = label_column(answer)
    if labels is None and np.size(np.asarray(answer, dtype=object)):
        raise ModelError("the model answered with labels before, and now with something else")
    return np.zeros((0, len(classes))) if labels is None else one_hot(labels, classes)
