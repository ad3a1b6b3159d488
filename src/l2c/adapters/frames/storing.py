"""A frame as an Arrow table for a file, and back to the kind and types it had."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from l2c.adapters.frames.kinds import KINDS, library_of
from l2c.adapters.frames.making import among_categories
from l2c.adapters.frames.shape import FrameShape
from l2c.adapters.frames.stored import Dtype, FrameKind, plain_type, whole


def to_arrow(frame: Any) -> pa.Table:
    """Return a frame of any kind as an Arrow table."""
    kind = library_of(frame)
    return pa.table({name: kind.arrow(frame[name]) for name in kind.names(frame)})


def from_arrow(table: pa.Table, shape: FrameShape) -> Any:
    """Return the columns of a shape from an Arrow table, as a frame of that shape.

    >>> import pandas as pd
    >>> from l2c.core.schema import Schema
    >>> from l2c.adapters.frames.shape import shape_of
    >>> rows = pd.DataFrame({"job": pd.Categorical(["nurse", "clerk"], ["nurse", "clerk", "cook"])})
    >>> from_arrow(to_arrow(rows), shape_of(rows, Schema.infer(rows))).equals(rows)
    True
    """
    kind = KINDS[shape.kind]
    return kind.frame({name: _column(name, whole(table.column(name)), kind, dtype) for name, dtype in shape.columns})


def _column(name: str, values: pa.Array, kind: FrameKind, dtype: Dtype) -> Any:
    if pa.types.is_dictionary(values.type):
        values = values.cast(plain_type(values.type))
    target = kind.value_type(dtype)
    values = values if target is None else values.cast(target)
    return kind.column(values if dtype.categories is None else among_categories(name, dtype, values), dtype)
