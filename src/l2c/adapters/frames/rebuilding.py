"""From explained rows back to frames of the caller's kind: their own values, the changed ones, bookkeeping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.making import make
from l2c.adapters.frames.shape import feature_columns
from l2c.adapters.frames.stored import Positions
from l2c.core.schema import Schema
from l2c.core.types import Cells, Mask

WIDE = ("float64", "int64", "double")
"""Types that hold whatever cells hold, in the words of any library; whole numbers are checked when they are made."""


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
    kind, places = library_of(frame), {name: place for place, name in enumerate(schema.names)}
    columns = {}
    for name in feature_columns(frame, schema):
        place, column = places[name], frame[name]
        moved = changed[:, place]
        if not moved.any():
            columns[name] = kind.gather(column, None, rows)
            continue
        made = make(kind, kind.dtype_of(column), schema.features[place], cells[moved, place])
        index = np.where(moved, len(frame) + np.cumsum(moved) - 1, rows)
        columns[name] = kind.gather(column, made, index)
    return kind.frame(columns)


def features_of(frame: Any, schema: Schema) -> Any:
    """Return the frame with the schema's columns only, in its own order."""
    if library_of(frame).name == "pandas":
        return frame[feature_columns(frame, schema)]
    return nw.from_native(frame, eager_only=True).select(feature_columns(frame, schema)).to_native()


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
    names = library_of(frame).names(frame)
    told = [{_free(name, names): values for name, values in columns.items()} for columns in (before, after)]
    if library_of(frame).name == "pandas":
        # One step for all columns: narwhals makes a frame of each, which a single row would wait for.
        return frame.assign(**told[0], **told[1])[[*told[0], *names, *told[1]]]
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
