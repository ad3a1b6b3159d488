"""A model that is asked with data frames, whatever stands behind the function that answers them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.chunks import in_pieces
from l2c.core.blackbox import checked, numbers, of_second
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import L2CError, ModelError

Answer = TypeVar("Answer")

TOGETHER = 1 << 17
"""The most rows that a model is asked about in one call: what it makes of them has to fit in the memory."""

STACK_TRACE = "\nStack trace:"
"""Where XGBoost's messages stop being about what went wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class FrameModel:
    """A black box behind a function from a frame to probabilities.

    Parameters
    ----------
    answer
        From a native frame to the probabilities of each class.
    shape
        The frames that the model expects.
    classes
        The labels, in the order of the answers' columns.
    labels_only
        Whether the model names a class and no more: its probabilities are then 0 and 1.
    threshold
        The probability above which the second of two classes is decided; None for the likelier one.
    built
        The frames that are built for it, where it takes others with less ado than those it expects.
    """

    answer: Callable[[Any], object]
    shape: FrameShape
    classes: tuple[Label, ...]
    labels_only: bool = False
    threshold: float | None = None
    built: FrameShape | None = None

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.of_frame((self.built or self.shape).build(cells), len(cells))

    def of_frame(self, frame: Any, rows: int) -> Probabilities:
        """Return the probability of each class for each row of a frame."""
        return by_pieces(lambda piece, some: checked(asked(self.answer, piece), some, len(self.classes)), frame, rows)


def by_pieces(answer: Callable[[Any, int], np.ndarray], frame: Any, rows: int) -> np.ndarray:
    """Return what a model answers about a frame of any length; `answer` takes a piece and its number of rows."""
    if rows <= TOGETHER:
        return answer(frame, rows)
    return np.concatenate([answer(piece, len(piece)) for piece in in_pieces(frame, TOGETHER)])


def asked(function: Callable[[Any], Answer], frame: Any) -> Answer:
    """Return what a model answers, or raise with what it raised."""
    try:
        return function(frame)
    except L2CError:
        raise
    except Exception as error:
        told = str(error).partition(STACK_TRACE)[0]
        raise ModelError(f"the model raised {type(error).__name__}: {told}") from error


def two_columns(answer: object) -> np.ndarray:
    """Return the probabilities of both classes where only class 1's were given.

    >>> two_columns([0.25, 1.0]).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    array = numbers(answer)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return of_second(np.ascontiguousarray(array)) if array.ndim == 1 else array
