"""Parts of a release that came one after the other: where they stand, and how their columns become one table's.

Frames that come in pieces do not say beforehand what types all of them have: a column of whole numbers is one of
fractions in the piece that has a gap. The first part settles the types, so that any tool reads all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.columns import decoded, family
from l2c.adapters.frames.stored import Dtype, whole
from l2c.core.types import Mask
from l2c.errors import DataError


def part_path(folder: Path, number: int) -> Path:
    """Return the file of a part of a release."""
    return folder / f"part-{number:05}.parquet"


def parts_in(folder: Path) -> list[Path]:
    """Return the parts of a release that a folder holds, in order, up to the first that is missing."""
    return list(takewhile(Path.exists, (part_path(folder, number) for number in count())))


def stored_like(like: FrameShape, table: pa.Table, shape: FrameShape, unread: Mask) -> pa.Table:
    """Return rows in the types of the parts before them.

    What cannot be told in these types is missing where the row could not be read anyway.

    Parameters
    ----------
    like, shape
        The frame of the first part, and of these rows.
    unread
        Which rows could not be read.
    """
    if shape.kind != like.kind:
        raise DataError(f"the frames of a stream are of one library: the first was {like.kind}, this is {shape.kind}")
    now = dict(shape.columns)
    for name, dtype in like.columns:
        target = None if dtype == now[name] else like.library.value_type(dtype)
        if target is None:
            continue
        column = _cast(decoded(whole(table.column(name))), target, pa.array(unread))
        if column is None:
            raise DataError(
                f"column {name!r} was stored as {dtype.name} in the first part and is {now[name].name} here, with "
                "values that do not fit; give frames of the same types"
            )
        column = column if dtype.categories is None else column.dictionary_encode()
        table = table.set_column(table.column_names.index(name), name, column)
    return table.select([name for name, _ in like.columns])


def _cast(column: pa.Array, target: pa.DataType, unread: pa.Array) -> pa.Array | None:
    """Return values in another type, without those of unread rows if need be; None if they do not fit."""
    kind = family(column)
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column) if kind == "float" else column
    for values in (column, pc.if_else(unread, pa.scalar(None, column.type), column)):
        try:
            return values.cast(target)
        except pa.ArrowException:
            continue
    return None


def with_room_for_gaps(shape: FrameShape, people: pa.Table) -> FrameShape:
    """Return the types of stored rows, of a kind that holds a gap where there is one: a later part may have brought it.

    >>> import pandas as pd
    >>> from l2c.core.feature import Feature
    >>> from l2c.core.schema import Schema
    >>> from l2c.adapters.frames import shape_of
    >>> schema = Schema((Feature(name="age", kind="numeric"),))
    >>> shape = shape_of(pd.DataFrame({"age": [30]}), schema)
    >>> with_room_for_gaps(shape, pa.table({"age": [30, None]})).columns[0][1].name
    'float64'
    """
    columns = []
    for name, dtype in shape.columns:
        holds = not people.column(name).null_count or shape.library.holds_missing(dtype)
        number = shape.library.array_type(dtype) is not None
        columns.append((name, dtype if holds else Dtype("float64" if number else "object")))
    return replace(shape, columns=tuple(columns)) if tuple(columns) != shape.columns else shape


def all_labelled(tables: Sequence[pa.Table], label: str, row: str) -> list[pa.Table]:
    """Return the tables of parts with row labels in all of them or in none: without labels a row's place is its own.

    Labels that are numbers here and texts there are texts.
    """
    if not any(label in table.column_names for table in tables):
        return list(tables)
    places = [table.column_names.index(label) if label in table.column_names else None for table in tables]
    labels = [
        whole(table.column(row)) if place is None else decoded(whole(table.column(place)))
        for table, place in zip(tables, places, strict=True)
    ]
    if len({values.type for values in labels}) > 1:
        labels = [values.cast(pa.string()) for values in labels]
    return [
        table.append_column(label, values) if place is None else table.set_column(place, label, values)
        for table, place, values in zip(tables, places, labels, strict=True)
    ]
