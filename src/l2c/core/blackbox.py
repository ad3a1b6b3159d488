"""The model to be explained, as the one question that L2C asks of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.types import Cells, Label, Mask, Probabilities
from l2c.errors import ModelError

SUM_TOLERANCE = 1e-3
"""How far a row of probabilities may be from adding to one: float32 models are that inexact at worst."""


class BlackBox(Protocol):
    """A classifier of rows; `adapters.models` makes one from a scikit-learn, torch or plain Python model."""

    @property
    def classes(self) -> tuple[Label, ...]: ...

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        ...


class Around:
    """What a black box that stands around another, and asks it in a way of its own, takes over from it."""

    __slots__ = ()

    blackbox: BlackBox

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.blackbox.classes

    @property
    def threshold(self) -> float | None:
        """The probability above which the second of two classes is decided; None for the likelier one."""
        return threshold_of(self.blackbox)

    @property
    def labels_only(self) -> bool:
        """Whether the model names a class and no more."""
        return bool(getattr(self.blackbox, "labels_only", False))


def checked(answer: object, rows: int, classes: int) -> Probabilities:
    """Return a model's answer as probabilities, or raise naming the promise that it broke.

    >>> checked([[0.2, 0.9]], rows=1, classes=2)
    Traceback (most recent call last):
    l2c.errors.ModelError: the model's probabilities do not add to 1: row 0 adds to 1.1
    """
    proba = numbers(answer)
    if proba.shape != (rows, classes):
        raise ModelError(
            f"the model answered {rows} rows with shape {proba.shape}; expected {rows} rows of {classes} classes"
        )
    if compiles() and _adds_up(np.ascontiguousarray(proba), SUM_TOLERANCE):
        return proba
    if np.isnan(proba).any():
        raise ModelError(f"the model answered NaN for row {int(np.isnan(proba).any(axis=1).argmax())}")
    if ((proba < 0) | (proba > 1)).any():
        row = int(((proba < 0) | (proba > 1)).any(axis=1).argmax())
        raise ModelError(f"the model's answer for row {row} is no probability: it is outside 0 to 1")
    off = np.abs(proba.sum(axis=1) - 1)
    if (off > SUM_TOLERANCE).any():
        row = int(off.argmax())
        raise ModelError(f"the model's probabilities do not add to 1: row {row} adds to {proba[row].sum():.4g}")
    return proba


@Compiled
def _adds_up(proba: Probabilities, tolerance: float) -> bool:
    """Return whether all are probabilities that add to about 1; NaN is none."""
    for row in range(len(proba)):
        total = 0.0
        for index in range(proba.shape[1]):
            share = proba[row, index]
            if not 0 <= share <= 1:
                return False
            total += share
        if not abs(total - 1) <= tolerance:
            return False
    return True


def numbers(answer: object) -> Float64[np.ndarray, "*any"]:
    """Return a model's answer as an array of numbers, or raise if it is none.

    >>> numbers(["good", "bad"])
    Traceback (most recent call last):
    l2c.errors.ModelError: the model answered with no array of numbers: could not convert string to float: 'good'
    """
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model answered with no array of numbers: {error}") from error


def plain_labels(classes: Iterable[Any]) -> tuple[Label, ...]:
    """Return class labels as plain Python values, which a file can keep.

    >>> plain_labels(np.array([0, 1]))
    (0, 1)
    """
    return tuple(label.item() if isinstance(label, np.generic) else label for label in classes)


def of_second(second: Float64[np.ndarray, " rows"]) -> Probabilities:
    """Return the probabilities of two classes, given the second's.

    >>> of_second(np.array([0.25, 1.0]))
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    return _beside(second) if compiles() else np.column_stack([1.0 - second, second])


@Compiled
def _beside(second: Float64[np.ndarray, " rows"]) -> Probabilities:
    proba = np.empty((len(second), 2))
    for row in range(len(second)):
        proba[row, 0], proba[row, 1] = 1.0 - second[row], second[row]
    return proba


def threshold_of(blackbox: BlackBox) -> float | None:
    """Return the probability above which a model of two classes decides for the second; None for the likelier one."""
    threshold: float | None = getattr(blackbox, "threshold", None)
    return threshold


def decide(proba: Probabilities, threshold: float | None = None) -> Int64[np.ndarray, " rows"]:
    """Return the class that the model puts each row in: the most probable, the first of equals.

    With a threshold, it is the second class where its probability is above.

    >>> decide(np.array([[0.3, 0.7], [0.5, 0.5]]))
    array([1, 0])
    >>> decide(np.array([[0.6, 0.4], [0.7, 0.3]]), threshold=0.3)
    array([1, 0])
    """
    if threshold is None and proba.shape[1] != 2:
        return proba.argmax(axis=1)
    return (proba[:, 1] > (proba[:, 0] if threshold is None else threshold)).astype(np.int64)


def class_of(blackbox: BlackBox, cells: Cells) -> Int64[np.ndarray, " rows"]:
    """Return the class that a model puts each row in, by its own threshold; for no rows it is not asked."""
    if not len(cells):
        return np.empty(0, dtype=np.int64)
    return decide(blackbox.proba(cells), threshold_of(blackbox))


def puts_in(proba: Probabilities, desired: Int64[np.ndarray, " rows"]) -> Mask:
    """Return which rows the model puts in the desired class; a tie is not enough.

    >>> puts_in(np.array([[0.3, 0.7], [0.5, 0.5]]), np.array([1, 1]))
    array([ True, False])
    """
    own = np.take_along_axis(proba, desired[:, None], axis=1)
    rivals = proba.copy()
    np.put_along_axis(rivals, desired[:, None], -np.inf, axis=1)
    return np.asarray(own[:, 0] > rivals.max(axis=1))
