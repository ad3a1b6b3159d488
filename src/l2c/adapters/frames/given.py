"""The rows that somebody gave, kept so that what becomes of their frame afterwards changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import pandas as pd

from l2c.adapters.frames.opened import Opened, opened
from l2c.adapters.frames.shape import FrameShape
from l2c.core.schema import Schema
from l2c.core.types import Cells

FEW = 4096
"""Rows up to which to look at their cells costs less than to keep their frame."""

COPIES_ON_WRITE = pd.__version__ >= "3"
"""Whether a frame that shares its columns with another one takes its own copy when either is written to."""


@dataclass(frozen=True, slots=True)
class _FromCells:
    """What the features of a pandas frame are made from again: their shape and cells, and the frame's own labels."""

    shape: FrameShape
    cells: Cells
    index: Any
    names: Any

    def made(self) -> Any:
        frame = self.shape.build(self.cells)
        frame.index, frame.columns = self.index, self.names[[name in self.shape.schema for name in self.names]]
        return frame


@dataclass(frozen=True, eq=False)
class Given:
    """A frame of features that is kept: as it is, or by what it is made from again, where that is the same."""

    _kept: Any

    @cached_property
    def frame(self) -> Any:
        return self._kept.made() if isinstance(self._kept, _FromCells) else self._kept

    @classmethod
    def of(cls, sheet: Opened, shape: FrameShape, cells: Cells) -> Given:
        """Return the features of a frame of this shape, which holds these cells.

        >>> import numpy as np
        >>> from l2c.adapters.frames import shape_of
        >>> rows = pd.DataFrame({"age": [30, 40]}, index=["ann", "bob"])
        >>> given = Given.of(opened(rows), shape_of(rows, Schema.infer(rows)), np.array([[30.0], [40.0]]))
        >>> rows.loc["ann", "age"] = 31
        >>> given.frame.loc["ann", "age"].item()
        30
        """
        frame: Any = sheet.frame
        # To share the columns of a frame takes a step for each, and for few rows is most of what reading them takes.
        plain = type(frame) is pd.DataFrame and not frame.attrs and frame.flags.allows_duplicate_labels
        if plain and len(cells) <= FEW and shape.is_told_by(cells):
            # Labels cannot be changed, but what they are called can.
            return cls(_FromCells(shape, cells, frame.index.view(), frame.columns.view()))
        return cls(features_of(sheet, shape.schema))


def features_of(frame: Any, schema: Schema) -> Any:
    """Return the frame with the schema's columns only, in its own order."""
    sheet = opened(frame)
    whole, names = sheet.frame, [name for name in sheet.names if name in schema]
    if sheet.kind.name == "pandas":
        return whole.copy(deep=not COPIES_ON_WRITE) if len(names) == len(sheet.names) else whole[names]
    return nw.from_native(whole, eager_only=True).select(names).to_native()
