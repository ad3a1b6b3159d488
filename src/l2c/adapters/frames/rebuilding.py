"""From explained rows back to frames of the caller's kind: their own values, the changed ones, bookkeeping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.making import level_column, level_places, make
from l2c.adapters.frames.shape import feature_columns
from l2c.adapters.frames.stored import Positions
from l2c.core.schema import Schema
from l2c.core.types import Cells, Mask

WIDE = ("float64", "int64", "double")
"""Types that hold whatever cells hold, in the words of any library; whole numbers are checked when they are made."""

COPIES_ON_WRITE = pd.__version__ >= "3"
"""Whether a frame that shares its columns with another one takes its own copy when either is written to."""


def rebuild(frame: Any, schema: Schema, rows: Positions, cells: Cells, changed: Mask) -> Any:
    """Return a frame of the same kind, columns and types: the caller's own values but where they changed.

    Parameters
    ----------
    frame
        The frame that the rows came from; only its feature columns are used.
    rows
        For each row of the result, the position of the row it started from.
    cells, changed
        For each row of the result, its cells in the schema's order, and which of them replace the caller's.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"job": ["clerk", "nurse"], "hours": [38, 40]}, index=["ann", "bob"])
    >>> changed = np.array([[True, False], [False, False]])
    >>> rebuild(people, Schema.infer(people), np.array([1, 1]), np.zeros((2, 2)), changed)
         job  hours
    0  clerk     40
    1  nurse     40
    """
    kind, moving = library_of(frame), np.logical_or.reduce(changed, axis=0)
    columns = {}
    for name, column in zip(kind.names(frame), kind.columns(frame), strict=True):
        if name not in schema.names:
            continue
        place = schema.index(name)
        if not moving[place]:
            columns[name] = kind.gather(column, None, rows)
            continue
        moved, dtype, feature = changed[:, place], kind.dtype_of(column), schema.features[place]
        levels = level_column(kind, dtype, feature, cells[:, place])
        if levels is not None:
            index = np.where(moved, len(column) + level_places(feature, cells[:, place]), rows)
            columns[name] = kind.gather(column, levels, index)
        else:
            made = make(kind, dtype, feature, cells[moved, place])
            columns[name] = kind.gather(column, made, np.where(moved, len(column) + np.cumsum(moved) - 1, rows))
    return kind.frame(columns)


def features_of(frame: Any, schema: Schema) -> Any:
    """Return the frame with the schema's columns only, in its own order."""
    names = feature_columns(frame, schema)
    if library_of(frame).name == "pandas":
        return frame.copy(deep=not COPIES_ON_WRITE) if len(names) == frame.shape[1] else frame[names]
    return nw.from_native(frame, eager_only=True).select(names).to_native()


def height(frame: Any) -> int:
    """Return the number of rows of a frame."""
    return len(frame)


def keeps_numbers(frame: Any, schema: Schema) -> bool:
    """Return whether the columns of a frame hold every number of the cells that it was made from, to the last digit.

    >>> import pandas as pd
    >>> from l2c.core.feature import Feature
    >>> schema, rows = Schema((Feature(name="debt", kind="numeric"),)), pd.DataFrame({"debt": [0.1, 0.2]})
    >>> keeps_numbers(rows, schema), keeps_numbers(rows.astype("float32"), schema)
    (True, False)
    """
    kind = library_of(frame)
    numeric = [feature.name for feature in schema.features if feature.numeric]
    return all(kind.dtype_of(frame[name]).name.lower() in WIDE for name in numeric)


def index_of(frame: Any) -> list[Any] | None:
    """Return the row labels of a pandas frame, or None where they are just the positions.

    >>> import pandas as pd
    >>> index_of(pd.DataFrame({"age": [30, 40]}, index=["ann", "bob"]))
    ['ann', 'bob']
    """
    return library_of(frame).labels(frame)


def decorate(frame: Any, before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> Any:
    """Return the frame with bookkeeping columns in front and behind.

    A name that a feature already has gets an underscore: the features keep their own.

    >>> import pandas as pd
    >>> decorate(pd.DataFrame({"row": [8]}), {"row": [0]}, {"prediction": ["paid"]}).columns.tolist()
    ['row_', 'row', 'prediction']
    """
    kind = library_of(frame)
    names = kind.names(frame)
    told = [{_free(name, names): values for name, values in columns.items()} for columns in (before, after)]
    if kind.name == "pandas":
        # One step for all columns: narwhals makes a frame of each, which a single row would wait for.
        own = zip(names, kind.columns(frame), strict=True)
        # What can be written to is not shared with the frame.
        columns = {name: copy(column) for name, column in (*told[0].items(), *own, *told[1].items())}
        return kind.frame(columns)
    data = nw.from_native(frame, eager_only=True)
    first, last = (
        [nw.new_series(name, values, backend=data.implementation) for name, values in columns.items()]
        for columns in told
    )
    return data.select(*first, *data.columns, *last).to_native()


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
