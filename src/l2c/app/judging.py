"""The last word on what leaves: the models that must agree, asked about the very frame that is released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.adapters import frames
from l2c.adapters.frames import FrameShape
from l2c.adapters.models import FrameModel
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.watch import probe_steadiness
from l2c.core.blackbox import BlackBox
from l2c.core.explanation import Measured, Released
from l2c.core.types import Cells, Probabilities
from l2c.release.explain import confirm
from l2c.release.search import judged_by_all

PROBED = 64
"""The most rows, of those that a model took back, that are asked again to see whether it is steady."""


TOGETHER = 1 << 17
"""The most rows that a model is asked about in one call."""


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """The model that is explained, and the other versions of it under which a counterfactual must hold too."""

    model: BlackBox
    also: tuple[BlackBox, ...] = ()

    def confirmed(self, released: Released, features: Any, shape: FrameShape) -> Released:
        """Return the release as all models judge its frame, without what one of them takes back.

        Raises
        ------
        ModelError
            If something is taken back by a model that does not answer the same row alike.
        """
        cells = released.cells if frames.keeps_numbers(features, shape.schema) else None
        told = [_judged_in_pieces(judge, shape, features, cells) for judge in (self.model, *self.also)]
        answers, (_, numbers) = [proba for proba, _ in told], told[0]
        if numbers is not None and released.measured is not None:
            released = replace(released, measured=Measured(released.measured.before, numbers))
        stands, *_ = judged_by_all(released.goal.take(released.row), answers)
        if not stands.all():
            for judge in (self.model, *self.also):
                probe_steadiness(judge, released.cells[~stands][:PROBED])
        return confirm(released, answers[0], answers[1:])


def _judged_in_pieces(
    blackbox: BlackBox, shape: FrameShape, features: Any, cells: Cells | None
) -> tuple[Probabilities, Float64[np.ndarray, " rows"] | None]:
    """Return `judged_on` for a frame of any length: what a model makes of its rows has to fit in the memory."""
    pieces = list(frames.in_pieces(features, TOGETHER))
    if len(pieces) == 1:
        return judged_on(blackbox, shape, features, cells)
    starts = range(0, TOGETHER * len(pieces), TOGETHER)
    held = [None if cells is None else cells[start : start + TOGETHER] for start in starts]
    told = [judged_on(blackbox, shape, piece, some) for piece, some in zip(pieces, held, strict=True)]
    numbers = [number for _, number in told if number is not None]
    return np.concatenate([proba for proba, _ in told]), np.concatenate(numbers) if numbers else None


def judged_on(
    blackbox: BlackBox, shape: FrameShape, features: Any, cells: Cells | None = None
) -> tuple[Probabilities, Float64[np.ndarray, " rows"] | None]:
    """Return a model's answers on a frame of counterfactuals, and the numbers behind them if it predicts numbers.

    A model that takes frames of this kind is asked about the frame itself, and any other about what it holds: the
    cells, where it is known which they are.
    """
    same, rows = frames.kind_of(features) == shape.kind, frames.height(features)
    if isinstance(blackbox, RangeModel):
        own = shape.arrange(features) if same else shape.build(frames.strict(frames.read(features, shape.schema)))
        numbers = blackbox.prediction_of_frame(own, rows)
        return blackbox.wanted.proba(numbers), numbers
    if isinstance(blackbox, FrameModel) and same:
        return blackbox.of_frame(shape.arrange(features), rows), None
    return blackbox.proba(frames.strict(frames.read(features, shape.schema)) if cells is None else cells), None
