"""A model that predicts a number, as a black box of two classes: outside and inside of a range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.frame_model import asked, by_pieces
from l2c.core.blackbox import numbers
from l2c.core.number_range import OUTSIDE_AND_INSIDE, NumberRange
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import ModelError

Predictions = Float64[np.ndarray, " rows"]


@dataclass(frozen=True, slots=True, eq=False)
class RangeModel:
    """A black box behind a function from a frame to one number a row.

    Its two classes are `outside` and `inside`, and a row is inside exactly if its number lies in the range. The
    probabilities between them only say how near it is.

    Parameters
    ----------
    answer
        From a native frame to a number for each row.
    shape
        The frames that the model expects.
    wanted
        The range.
    """

    answer: Callable[[Any], object]
    shape: FrameShape
    wanted: NumberRange

    @property
    def classes(self) -> tuple[Label, ...]:
        return OUTSIDE_AND_INSIDE

    def proba(self, cells: Cells) -> Probabilities:
        """Return how surely each row lies outside and inside."""
        return self.wanted.proba(self.prediction(cells))

    def of_frame(self, frame: Any, rows: int) -> Probabilities:
        """Return how surely each row of a frame lies outside and inside."""
        return self.wanted.proba(self.prediction_of_frame(frame, rows))

    def prediction(self, cells: Cells) -> Predictions:
        """Return the number that the model predicts for each row; for no rows it is not asked."""
        return self.prediction_of_frame(self.shape.build(cells), len(cells)) if len(cells) else np.empty(0)

    def prediction_of_frame(self, frame: Any, rows: int) -> Predictions:
        """Return the number that the model predicts for each row of a frame."""
        return by_pieces(lambda piece, some: finite(asked(self.answer, piece), some), frame, rows)

    def in_units_of(self, rows: Cells) -> RangeModel:
        """Return the same model, its distances measured in how far its predictions for some rows spread."""
        return replace(self, wanted=self.wanted.measured_by(self.prediction(rows)))

    def wanting(self, wanted: NumberRange) -> RangeModel:
        """Return the same model with another range, in the same unit."""
        return replace(self, wanted=replace(wanted, unit=self.wanted.unit))


def finite(answer: object, rows: int) -> Predictions:
    """Return a model's answer as one number a row, or raise naming the promise that it broke.

    >>> finite([[1.5], [float("nan")]], rows=2)
    Traceback (most recent call last):
    l2c.errors.ModelError: the model predicted no finite number for row 1
    """
    found = numbers(answer)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (rows,):
        raise ModelError(f"the model answered {rows} rows with shape {found.shape}; expected one number a row")
    if not np.isfinite(found).all():
        raise ModelError(f"the model predicted no finite number for row {int(np.isfinite(found).argmin())}")
    return found
