"""The rows to explain as they come in at the door: as cells, and as a frame that answers are built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int64

from l2c.adapters import frames
from l2c.adapters.frames import FrameShape, Given, Reading, RowProblem
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells, Mask

UNTOLD = "it cannot be read, and an interval release does not repeat what was given"


@dataclass(frozen=True, eq=False)
class People:
    """The rows to explain.

    Parameters
    ----------
    cells, bad_rows
        The rows, and which of them cannot be read; these are all NaN.
    sentences
        What is wrong with each of those.
    given, shape
        The rows' features as a frame, and its shape.
    index
        Their own labels, where they have any.
    """

    cells: Cells
    bad_rows: Mask
    sentences: Mapping[int, str]
    given: Given
    shape: FrameShape
    index: Sequence[object] | None

    @cached_property
    def readable(self) -> Int64[np.ndarray, " readable"]:
        """The positions of the rows that could be read."""
        return np.flatnonzero(~self.bad_rows)

    @cached_property
    def read_cells(self) -> Cells:
        """The rows that could be read."""
        return self.cells[self.readable] if self.bad_rows.any() else self.cells

    def only(self, some: Mask) -> People:
        """Return some of the rows in their places, the others as if they could not be read."""
        return replace(self, bad_rows=self.bad_rows | ~some)

    @classmethod
    def read(
        cls,
        frame: Any,
        schema: Schema,
        expected: FrameShape | None = None,
        *,
        first: int = 0,
        labels: Sequence[object] | None = None,
    ) -> People:
        """Return the rows of a frame as they are; where it has the expected shape, that is theirs.

        Parameters
        ----------
        first
            The place of the first row in a longer table.
        labels
            The rows' labels, if they do not stand in the frame.
        """
        sheet = frames.opened(frame)
        reading, shape = frames.read(sheet, schema, first), frames.shape_of(sheet, schema, expected)
        given, index = Given.of(sheet, shape, reading.cells), frames.index_of(sheet) if labels is None else labels
        return cls(reading.cells, reading.bad_rows, _by_row(reading.problems), given, shape, index)

    @classmethod
    def generalised(cls, frame: Any, layout: Layout, shape: FrameShape, *, first: int = 0) -> People:
        """Return the rows of a frame with nothing of them left but their levels, and without their labels.

        Parameters
        ----------
        layout
            The public levels.
        shape
            The frames that the model was trained on: types and order are theirs, not those of the frame given.
        first
            The place of the first row in a longer table.
        """
        reading = frames.read(frame, layout.schema, first)
        cells = generalised(layout, reading.cells, reading.bad_rows)
        told = [replace(problem, phrase=UNTOLD) for problem in _firsts(reading)]
        features = _frame(frame, layout, shape, cells)
        own = frames.shape_of(features, layout.schema)
        return cls(cells, reading.bad_rows, _by_row(told), Given(features), own, None)


def generalised(layout: Layout, cells: Cells, bad_rows: Mask | None = None) -> Cells:
    """Return rows in which every cell is what stands for its level; one that cannot be read stays all NaN."""
    bad = np.zeros(len(cells), dtype=bool) if bad_rows is None else bad_rows
    public = np.full(cells.shape, np.nan)
    public[~bad] = layout.values(layout.levels(cells[~bad]), "midpoint")
    return public


def _firsts(reading: Reading) -> list[RowProblem]:
    """Return the problems, one for each cell."""
    return list({(problem.row, problem.column): problem for problem in reading.problems}.values())


def _by_row(problems: Iterable[RowProblem]) -> dict[int, str]:
    sentences: dict[int, str] = {}
    for problem in problems:
        before = f"{sentences[problem.row]}; " if problem.row in sentences else ""
        sentences[problem.row] = before + problem.sentence
    return sentences


def _frame(frame: Any, layout: Layout, shape: FrameShape, cells: Cells) -> Any:
    """Return generalised rows as a frame of the given one's kind, an unreadable row at the first of all levels."""
    unread = np.isnan(cells).all(axis=1)[:, None]
    filled = np.where(unread, layout.values(np.zeros(cells.shape, dtype=np.int16), "midpoint"), cells)
    return shape.in_kind_of(frame).build(filled)
