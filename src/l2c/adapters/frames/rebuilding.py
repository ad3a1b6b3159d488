"""From explained rows back to frames of the caller's kind: their own values, the changed ones, bookkeeping."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from l2c.adapters.frames.given import Given, features_of
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.making import EXACT, are_exact, level_column, level_places, make
from l2c.adapters.frames.opened import opened
from l2c.adapters.frames.reading import read
from l2c.adapters.frames.shape import FrameShape, shape_of
from l2c.adapters.frames.stored import Dtype, FrameKind, Part, Positions
from l2c.core.schema import Schema
from l2c.core.types import Cells, Mask


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
    features = features_of(frame, schema)
    shape, own = shape_of(features, schema), read(features, schema).cells
    now = np.where(changed, cells, own[rows])
    return shape.library.frame(rebuilt_columns(Given(features), shape, rows, now, own))


def rebuilt_columns(given: Given, shape: FrameShape, rows: Positions, cells: Cells, own: Cells) -> dict[str, Any]:
    """Return the columns of the frame that `rebuild` returns, as its library keeps them; they are nobody else's.

    Parameters
    ----------
    given, shape
        The frame of features that the rows came from, and its shape.
    rows, cells
        For each row of the result, the position of the row it started from, and its cells.
    own
        The cells of the rows that they started from.
    """
    schema, told = shape.schema, shape.told_by_cells
    if not are_exact(cells) and (np.abs(cells) > EXACT).any():
        told = replace(told, columns=tuple(one for one in told.columns if not schema[one[0]].numeric))
    found = told.making.columns(cells)
    if told is not shape:
        changed = (cells != own[rows]) & ~(np.isnan(cells) & np.isnan(own[rows]))
        found |= _gathered(given.frame, shape, rows, cells, changed, found)
    return {name: found[name] for name, _ in shape.columns}


def _gathered(
    frame: Any, shape: FrameShape, rows: Positions, cells: Cells, changed: Mask, found: Collection[str]
) -> dict[str, Any]:
    """Return the columns that were not found otherwise: the caller's own values but where they changed."""
    kind, schema, types = shape.library, shape.schema, dict(shape.columns)
    # Behind a column stand all levels of its feature, and a missing value.
    index = np.where(changed.T, len(frame) + level_places(schema, cells, np.arange(cells.shape[1])), rows)
    parts: dict[str, Part] = {}
    for name, column in zip(kind.names(frame), kind.columns(frame), strict=True):
        if name in found:
            continue
        place = schema.index(name)
        dtype, feature, moved = types[name], schema.features[place], changed[:, place]
        if not moved.any():
            parts[name] = column, None, rows
        elif (levels := level_column(kind, dtype, feature, cells[:, place])) is not None:
            parts[name] = column, levels, index[place]
        else:
            made = make(kind, dtype, feature, cells[moved, place])
            parts[name] = column, made, np.where(moved, len(frame) + np.cumsum(moved) - 1, rows)
    return dict(zip(parts, kind.gather_all(list(parts.values())), strict=True))


def holds_what_is_built(given: Given, own: FrameShape, shape: FrameShape, cells: Cells) -> bool:
    """Return whether the values of a frame are the very ones that another's shape builds from its cells.

    Where that cannot be told from the columns' types the answer is no.

    Parameters
    ----------
    given, own, cells
        The frame, its own shape and its cells.

    Examples
    --------
    >>> import pandas as pd
    >>> rows, cells = pd.DataFrame({"age": [30, 40]}), np.array([[30.0], [40.0]])
    >>> floats, schema = rows.astype("float64"), Schema.infer(rows)
    >>> shape = shape_of(rows, schema)
    >>> holds_what_is_built(Given(rows), shape, shape, cells)
    True
    >>> holds_what_is_built(Given(floats), shape_of(floats, schema), shape, cells)
    False
    """
    # Of what is missing there may be two sorts, and a whole number beyond 2^53 is not what its cell says.
    if own.kind != shape.kind or not are_exact(cells):
        return False
    if own is shape and shape.told_by_cells is shape:
        return True
    types = dict(own.columns)
    return all(types[name] == dtype and _is_plain(given.frame, name, dtype) for name, dtype in shape.columns)


def _is_plain(frame: Any, name: str, dtype: Dtype) -> bool:
    """Return whether a column is no collection of any objects."""
    return dtype.name != "object" or bool(pd.api.types.infer_dtype(frame[name], skipna=False) == "string")


def index_of(frame: Any) -> list[Any] | None:
    """Return the row labels of a pandas frame, or None where they are just the positions.

    >>> import pandas as pd
    >>> index_of(pd.DataFrame({"age": [30, 40]}, index=["ann", "bob"]))
    ['ann', 'bob']
    """
    sheet = opened(frame)
    return sheet.kind.labels(sheet.frame)


def decorate(frame: Any, before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> Any:
    """Return the frame with bookkeeping columns in front and behind.

    A name that a feature already has gets an underscore: the features keep their own.

    >>> import pandas as pd
    >>> decorate(pd.DataFrame({"row": [8]}), {"row": [0]}, {"prediction": ["paid"]}).columns.tolist()
    ['row_', 'row', 'prediction']
    """
    kind = library_of(frame)
    own = zip(kind.names(frame), kind.columns(frame), strict=True)
    return decorated(kind, {name: kind.behind(column, 0) for name, column in own}, before, after)


def decorated(
    kind: FrameKind, columns: Mapping[str, Any], before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]
) -> Any:
    """Return native columns as a frame with bookkeeping columns in front and behind.

    It shares nothing with what stands beside them; the columns themselves become its own.
    """
    first, last = ({_free(name, columns): values for name, values in told.items()} for told in (before, after))
    return kind.frame(first | dict(columns) | last)


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
