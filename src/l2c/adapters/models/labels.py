"""Models that name a class and no more: their labels as probabilities of 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from l2c.core.types import Label, Probabilities
from l2c.errors import ModelError


def label_column(answer: object) -> np.ndarray | None:
    """Return an answer as one label a row, or None if it holds anything but texts, booleans or whole numbers.

    >>> label_column([[True], [False]])
    array([ True, False])
    >>> label_column([0.5, 1.0]) is None
    True
    """
    try:
        array = np.asarray(answer)
    except ValueError:  # rows of different lengths
        return None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        return None
    if array.dtype.kind == "O":
        return array if len(array) and _alike(array) else None
    return array if array.dtype.kind in "biuUT" else None


def one_hot(labels: np.ndarray, classes: tuple[Label, ...]) -> Probabilities:
    """Return 1 for the class that each label names and 0 for the others.

    Numbers and booleans name a class that equals them; where the classes are texts, they name its place.

    >>> one_hot(np.array(["paid", "late"]), ("late", "paid")).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> one_hot(np.array([2, 1]), (1, 2)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> one_hot(np.array([1, 0]), ("late", "paid")).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    places = labels.dtype.kind in "biu" and any(isinstance(label, str) for label in classes)
    named = np.empty(len(classes), dtype=object)
    named[:] = range(len(classes)) if places else classes
    found = labels.astype(object)[:, None] == named
    if not found.any(axis=1).all():
        row = int(found.any(axis=1).argmin())
        raise ModelError(
            f"the model's label for row {row}, {_plain(labels[row])!r}, is none of its classes: "
            f"{', '.join(map(repr, classes))}"
        )
    return found.astype(np.float64)


def _alike(values: np.ndarray) -> bool:
    """Return whether all values are texts, or all are booleans."""
    kinds = {type(value) for value in values.tolist()}
    return kinds <= {str, np.str_} or kinds <= {bool, np.bool_}


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def listed(labels: Iterable[Label]) -> str:
    """Return labels one after the other, to be read."""
    return ", ".join(map(repr, labels))
