"""The last word on what leaves: the models that must agree, asked about the very frame that is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from l2c.adapters import frames
from l2c.adapters.frames import FrameShape, Given
from l2c.adapters.frames.kinds import KINDS
from l2c.adapters.models import FrameModel, TorchModel
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.watch import probe_steadiness
from l2c.core.blackbox import BlackBox
from l2c.core.explanation import Measured, Released
from l2c.core.goal import judged_by_all
from l2c.core.types import Cells, Probabilities
from l2c.release.explain import confirm

APART = 1 << 14
"""Counterfactuals beyond which the rows themselves are asked about apart, where no frame holds both: to put them in
front copies all of what follows."""

PROBED = 64
"""The most rows, of those that a model took back, that are asked again to see whether it is steady."""


@dataclass(frozen=True, eq=False)
class Shown:
    """Rows to be judged: the counterfactuals of a release, behind some of the rows themselves.

    Parameters
    ----------
    given, shape
        The frame of features that they start from, and its shape.
    released
        The counterfactuals.
    rows
        The positions of the rows that come before them.
    """

    given: Given
    shape: FrameShape
    released: Released
    rows: Int64[np.ndarray, " some"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows) + len(self.released.row)

    @property
    def parts(self) -> tuple[Cells, ...]:
        """The cells of the rows, and those of the counterfactuals."""
        cells = self.released.cells
        return (self.released.factual[self.rows], cells) if len(self.rows) else (cells,)

    @property
    def cells(self) -> Cells:
        """The cells of all."""
        return np.concatenate(self.parts) if len(self.rows) else self.released.cells

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of the frame that holds them for the caller, in its order; made when they are needed."""
        row = np.concatenate([self.rows, self.released.row]) if len(self.rows) else self.released.row
        return frames.rebuilt_columns(self.given, self.shape, row, self.cells, self.released.factual)

    @property
    def are_built(self) -> bool:
        """Whether the columns were needed."""
        return "columns" in self.__dict__

    def columns_from(self, first: int) -> dict[str, Any]:
        """Return the columns without the first rows, for somebody else to keep."""
        kind = KINDS[self.shape.kind]
        return {name: kind.behind(column, first) for name, column in self.columns.items()}

    def frame_for(self, shape: FrameShape) -> Any:
        """Return the frame with its columns in the order of the model's: it may tell them apart by their place.

        A model may write to what it is shown: that is not what is released.
        """
        columns = self.columns_from(0)
        return KINDS[self.shape.kind].frame({name: columns[name] for name, _ in shape.columns})

    def holds_what_is_built(self, shape: FrameShape) -> bool:
        """Return whether the frame holds just what a frame of a shape would that is built from cells."""
        return frames.holds_what_is_built(self.given, self.shape, shape, self.released.factual)

    def held(self) -> Cells:
        """Return the cells as the frame holds them."""
        if self.shape.keeps_numbers:
            return self.cells
        frame = KINDS[self.shape.kind].frame(self.columns)
        return frames.strict(frames.read(frame, self.shape.schema))


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """The model that is explained, and the other versions of it under which a counterfactual must hold too."""

    model: BlackBox
    also: tuple[BlackBox, ...] = ()

    def were_shown(self, given: Given, own: FrameShape, shape: FrameShape, cells: Cells) -> bool:
        """Return whether models that were asked about cells have seen what a frame that starts from these rows holds.

        Parameters
        ----------
        given, own, cells
            The rows to explain, with the frame's own shape.
        shape
            The frames that the models expect.
        """
        if any(isinstance(judge, RangeModel) for judge in (self.model, *self.also)):
            return False  # the numbers behind its answers are to be told
        takes_frames = any(isinstance(judge, FrameModel) for judge in (self.model, *self.also))
        if takes_frames and own.kind == shape.kind:
            return frames.holds_what_is_built(given, own, shape, cells)
        return own.keeps_numbers

    def confirmed(self, released: Released, shown: Shown, shape: FrameShape) -> tuple[Released, Probabilities]:
        """Return the release as all models judge its frame, without what one of them takes back.

        Parameters
        ----------
        shown
            The counterfactuals, behind rows that the model is asked about too: its answers for these come back.

        Raises
        ------
        ModelError
            If something is taken back by a model that does not answer the same row alike.
        """
        first = len(shown.rows)
        told = [judged_on(judge, shape, shown) for judge in (self.model, *self.also)]
        answers, (before, numbers) = [proba[first:] for proba, _ in told], told[0]
        if numbers is not None and released.measured is not None:
            released = replace(released, measured=Measured(released.measured.before, numbers[first:]))
        left = confirm(released, answers[0], answers[1:])
        if len(left.row) < len(released.row):
            stands, *_ = judged_by_all(released.goal, answers, released.row)
            for judge in (self.model, *self.also):
                probe_steadiness(judge, released.cells[~stands][:PROBED])
        return left, before[:first]


def judged_on(
    blackbox: BlackBox, shape: FrameShape, shown: Shown
) -> tuple[Probabilities, Float64[np.ndarray, " rows"] | None]:
    """Return a model's answers on counterfactuals, and the numbers behind them if it predicts numbers.

    A model that takes frames of the caller's kind is asked about the frame itself, and any other about what it holds.
    """
    same, rows = shown.shape.kind == shape.kind, len(shown)
    if isinstance(blackbox, RangeModel):
        own = shown.frame_for(shape) if same else shape.build(shown.held())
        numbers = blackbox.prediction_of_frame(own, rows)
        return blackbox.wanted.proba(numbers), numbers
    if isinstance(blackbox, FrameModel) and same:
        if blackbox.built is not None and shown.holds_what_is_built(shape):
            # What the model would make of the frame is built for it from the start.
            return answers_on(blackbox, shown.parts), None
        return blackbox.of_frame(shown.frame_for(shape), rows), None
    return answers_on(blackbox, shown.parts if shown.shape.keeps_numbers else (shown.held(),)), None


def answers_on(blackbox: BlackBox, parts: Sequence[Cells]) -> Probabilities:
    """Return a model's answers on rows that are given in parts."""
    if isinstance(blackbox, TorchModel):
        return blackbox.proba_of_parts(parts)
    if sum(len(part) for part in parts) > APART:
        answers = [blackbox.proba(part) for part in parts]
        return np.concatenate(answers) if len(answers) > 1 else answers[0]
    return blackbox.proba(np.concatenate(parts) if len(parts) > 1 else parts[0])
