"""Parts of a release that came one after the other: where they stand, and how their columns become one table's.

Frames that come in pieces do not say beforehand what types all of them have: a column of whole numbers is one of
fractions in the piece that has a gap. The first part settles the types, so that any tool reads all of them together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.columns import decoded, exactly, family
from l2c.adapters.frames.stored import Dtype, whole
from l2c.core.types import Mask
from l2c.errors import DataError, StoredFileError

NAME = re.compile(r"part-(\d{5,})\.parquet")
DRAFT = re.compile(rf"\.[0-9a-f]{{16}}-{NAME.pattern}")
"""What a run leaves behind that was killed as it wrote a part."""


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part stands in a longer release, and what it has in common with the others.

    Parameters
    ----------
    first
        The position of its first input row.
    like
        The shape of the parts before it; None of the first one.
    labels
        The type of the row labels in all of them; None for that of its own.
    stream
        What the release was begun with, as plain data; None of one that was made in one go.
    """

    first: int = 0
    like: FrameShape | None = None
    labels: pa.DataType | None = None
    stream: Mapping[str, Any] | None = None


WHOLE = Part()
"""A release that was made in one go."""


def part_path(folder: Path, number: int) -> Path:
    """Return the file of a part of a release."""
    return folder / f"part-{number:05}.parquet"


def parts_in(folder: Path) -> list[Path]:
    """Return the parts of a release that a folder holds, in order, or raise if one is missing among them."""
    numbers = sorted(int(found[1]) for path in folder.iterdir() if (found := NAME.fullmatch(path.name)))
    for place, number in enumerate(numbers):
        if place != number:
            raise StoredFileError(
                f"{folder} holds {part_path(folder, number).name} and not {part_path(folder, place).name}, which comes "
                "before it: put that back, or remove all parts behind the gap to have them made anew"
            )
    return [part_path(folder, number) for number in numbers]


def remove_drafts(folder: Path) -> None:
    """Remove what runs left behind that were killed as they wrote a part."""
    for path in folder.iterdir():
        if DRAFT.fullmatch(path.name):
            path.unlink(missing_ok=True)


def stored_like(like: FrameShape, table: pa.Table, shape: FrameShape, unread: Mask) -> tuple[pa.Table, FrameShape]:
    """Return rows in the types of the parts before them, and what these are here.

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
        column = _fitting(decoded(whole(table.column(name))), dtype, target, pa.array(unread))
        if column is None:
            raise DataError(
                f"column {name!r} was stored as {dtype.name} in the first part and is {now[name].name} here, with "
                "values that do not fit; give frames of the same types"
            )
        column = column if dtype.categories is None else column.dictionary_encode()
        table = table.set_column(table.column_names.index(name), name, column)
    # How a missing object is said is no other type.
    own = tuple((name, replace(dtype, none=now[name].none)) for name, dtype in like.columns)
    return table.select([name for name, _ in like.columns]), replace(like, columns=own)


def _fitting(column: pa.Array, dtype: Dtype, target: pa.DataType, unread: pa.Array) -> pa.Array | None:
    """Return values in the type of a column, without those of unread rows if need be; None if others do not fit."""
    gone = pa.scalar(None, column.type)
    column = pc.if_else(pc.is_nan(column), gone, column) if family(column) == "float" else column
    fitting = _held(column, dtype, target)
    return _held(pc.if_else(unread, gone, column), dtype, target) if fitting is None else fitting


def _held(values: pa.Array, dtype: Dtype, target: pa.DataType) -> pa.Array | None:
    """Return values in the type of a column, among its categories if it has any; None if they do not fit."""
    held = exactly(values, target)
    if held is None or dtype.categories is None:
        return held
    known = pc.is_in(held, value_set=pa.array(list(dtype.categories), target))
    return held if pc.all(pc.or_(known, held.is_null()), min_count=0).as_py() else None


def in_common(shapes: Sequence[FrameShape]) -> FrameShape | None:
    """Return the shape that all parts have; None if they differ.

    A missing object is None where it is in any of them: those that miss none do not say.
    """
    columns = [tuple((name, replace(dtype, none=False)) for name, dtype in shape.columns) for shape in shapes]
    if any((shape.kind, one) != (shapes[0].kind, columns[0]) for shape, one in zip(shapes, columns, strict=True)):
        return None
    nones = [any(shape.columns[place][1].none for shape in shapes) for place in range(len(columns[0]))]
    merged = ((name, replace(dtype, none=none)) for (name, dtype), none in zip(columns[0], nones, strict=True))
    return replace(shapes[0], columns=tuple(merged))


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
