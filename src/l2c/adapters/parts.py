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
from l2c.adapters.frames.columns import are_of_a_sort, decoded, exactly
from l2c.adapters.frames.shape import natural_dtype
from l2c.adapters.frames.stored import Dtype, whole
from l2c.core.feature import Feature
from l2c.core.types import Mask
from l2c.errors import DataError, StoredFileError

NAME = re.compile(r"part-(\d{5,})\.parquet")
DRAFT = re.compile(rf"\.[0-9a-f]{{16}}-{NAME.pattern}")
"""What a run leaves behind that was killed as it wrote a part."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What the first part of a release settles for all: the types of frames, and as what their columns are stored.

    Parameters
    ----------
    shape
        The first part's frame.
    types, labels
        The types in which its columns are stored, and its row labels; None where it has no labels.
    """

    shape: FrameShape
    types: Mapping[str, pa.DataType]
    labels: pa.DataType | None


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part stands in a longer release, and what it has in common with the others.

    Parameters
    ----------
    first
        The position of its first input row.
    settled
        What the first part settled; None of that one itself.
    stream
        What the release was begun with, as plain data; None of one that was made in one go.
    labels
        The row labels in the type that they were given in, if they are kept at all.
    """

    first: int = 0
    settled: Settled | None = None
    stream: Mapping[str, Any] | None = None
    labels: pa.Array | None = None


WHOLE = Part()
"""A release that was made in one go."""


def part_path(folder: Path, number: int) -> Path:
    """Return the file of a part of a release."""
    return folder / f"part-{number:05}.parquet"


def parts_in(folder: Path) -> list[Path]:
    """Return the parts of a release that a folder holds, in order, or raise if one is missing among them."""
    numbers = sorted(number for path in folder.iterdir() if (number := number_of(path)) is not None)
    for place, number in enumerate(numbers):
        if place != number:
            raise StoredFileError(
                f"{folder} holds {part_path(folder, number).name} and not {part_path(folder, place).name}, which comes "
                "before it: put that back, or remove all parts behind the gap to have them made anew"
            )
    return [part_path(folder, number) for number in numbers]


def number_of(path: Path) -> int | None:
    """Return which part a file is by its name; None if it is none.

    >>> number_of(Path("found/part-00012.parquet")), number_of(Path("found/part-12.parquet"))
    (12, None)
    """
    found = NAME.fullmatch(path.name)
    number = int(found[1]) if found else None
    return number if number is not None and part_path(path.parent, number) == path else None


def remove_drafts(folder: Path) -> None:
    """Remove what runs left behind that were killed as they wrote a part."""
    for path in folder.iterdir():
        if DRAFT.fullmatch(path.name):
            path.unlink(missing_ok=True)


def as_a_part(table: pa.Table, shape: FrameShape, unread: Mask, settled: Settled | None) -> tuple[pa.Table, FrameShape]:
    """Return rows as a part stores them, in plain values of the types that are settled, and the shape of their frame.

    What cannot be told in these types is missing where the row could not be read anyway.

    Parameters
    ----------
    shape, unread
        The frame of these rows, and which of them could not be read.
    """
    values = {name: decoded(whole(table.column(name))) for name, _ in shape.columns}
    if settled is None:
        told = [(name, *_first(values[name], dtype, shape.schema[name], shape)) for name, dtype in shape.columns]
    else:
        told = _later(values, shape, pa.array(unread), settled)
    columns = tuple((name, dtype) for name, _, dtype in told)
    return pa.table({name: column for name, column, _ in told}), replace(shape, columns=columns)


def _first(column: pa.Array, dtype: Dtype, feature: Feature, shape: FrameShape) -> tuple[pa.Array, Dtype]:
    """Return a column as the first part has it: one in which nothing is known may be of another type in later ones."""
    natural = pa.float64() if feature.numeric else pa.array(list(feature.levels)).type
    if column.null_count < len(column) or are_of_a_sort(column.type, natural):
        return column, dtype
    holds_any = shape.library.value_type(dtype) is None
    return pa.nulls(len(column), natural), dtype if holds_any else natural_dtype(shape.library, feature)


def _later(
    values: Mapping[str, pa.Array], shape: FrameShape, unread: pa.Array, settled: Settled
) -> list[tuple[str, pa.Array, Dtype]]:
    like, now = settled.shape, dict(shape.columns)
    if shape.kind != like.kind:
        raise DataError(f"the frames of a stream are of one library: the first was {like.kind}, this is {shape.kind}")
    told = []
    for name, dtype in like.columns:
        column = _fitting(values[name], dtype, settled.types[name], unread)
        if column is None:
            raise DataError(
                f"column {name!r} was stored as {dtype.name} in the first part and is {now[name].name} here, with "
                "values that do not fit; give frames of the same types"
            )
        # How a missing object is said is no other type.
        told.append((name, column, replace(dtype, none=now[name].none)))
    return told


def _fitting(column: pa.Array, dtype: Dtype, target: pa.DataType, unread: pa.Array) -> pa.Array | None:
    """Return values in the type of a column, without those of unread rows if need be; None if others do not fit."""
    gone = pa.scalar(None, column.type)
    column = pc.if_else(pc.is_nan(column), gone, column) if pa.types.is_floating(column.type) else column
    fitting = _held(column, dtype, target)
    return _held(pc.if_else(unread, gone, column), dtype, target) if fitting is None else fitting


def _held(values: pa.Array, dtype: Dtype, target: pa.DataType) -> pa.Array | None:
    """Return values in the type of a column, among its categories if it has any; None if they do not fit."""
    held = exactly(values, target)
    if held is None or dtype.categories is None:
        return held
    known = pc.is_in(held, value_set=pa.array(list(dtype.categories), target))
    return held if pc.all(pc.or_(known, held.is_null()), min_count=0).as_py() else None


def labels_alike(labels: pa.Array, settled: Settled | None) -> pa.Array:
    """Return row labels in the type of the parts before them."""
    if settled is None:
        return labels
    held = None if settled.labels is None else exactly(labels, settled.labels)
    if held is None:
        raise DataError(
            f"row labels were of type {settled.labels} in the first part and are of type {labels.type} here; give all "
            "of one type, or none (reset_index)"
        )
    return held


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
