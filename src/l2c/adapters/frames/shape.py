"""The shape of a frame, apart from its values: enough to build rows of the same columns from cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from l2c.adapters.frames.kinds import KINDS, library_of
from l2c.adapters.frames.making import Making, are_exact
from l2c.adapters.frames.opened import opened
from l2c.adapters.frames.stored import Dtype, FrameKind
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.core.types import Cells

WIDE = ("float64", "int64", "double")
"""Types that hold whatever cells hold, in the words of any library; whole numbers are checked when they are made."""


@dataclass(frozen=True)
class FrameShape:
    """The kind of a frame and its feature columns, in its own order, with their types.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rows = pd.DataFrame({"job": pd.Categorical(["clerk", "nurse"]), "hours": [38, 40]})
    >>> shape = shape_of(rows, Schema.infer(rows))
    >>> shape.build(np.array([[1.0, 0.0]])).dtypes.astype(str).to_dict()
    {'job': 'category', 'hours': 'int64'}
    """

    kind: str
    schema: Schema
    columns: tuple[tuple[str, Dtype], ...]

    def build(self, cells: Cells) -> Any:
        """Return a native frame that holds these cells, given in the schema's order."""
        made = self.making.columns(cells)
        return self.library.frame({name: made[name] for name, _ in self.columns})

    @property
    def library(self) -> FrameKind:
        """The library of the frame."""
        return KINDS[self.kind]

    @cached_property
    def making(self) -> Making:
        """How columns like the frame's are made."""
        return Making.of(self.library, self.columns, self.schema)

    @cached_property
    def told_by_cells(self) -> FrameShape:
        """The same columns without those of which cells, numbers up to 2^53 or texts, do not tell all."""
        kept = (
            (name, dtype)
            for name, dtype in self.columns
            if self.library.is_told_by_cells(dtype, numeric=self.schema[name].numeric)
        )
        columns = tuple(kept)
        return self if columns == self.columns else replace(self, columns=columns)

    def is_told_by(self, cells: Cells) -> bool:
        """Return whether a frame of this shape that holds these cells is the one that is built from them."""
        return self.told_by_cells is self and are_exact(cells)

    @cached_property
    def keeps_numbers(self) -> bool:
        """Whether the columns hold every number of the cells that they are made from, to the last digit.

        >>> import pandas as pd
        >>> schema, rows = Schema((Feature(name="debt", kind="numeric"),)), pd.DataFrame({"debt": [0.1, 0.2]})
        >>> shape_of(rows, schema).keeps_numbers, shape_of(rows.astype("float32"), schema).keeps_numbers
        (True, False)
        """
        return all(dtype.name.lower() in WIDE for name, dtype in self.columns if self.schema[name].numeric)

    def in_kind_of(self, frame: Any) -> FrameShape:
        """Return the same columns for a frame's library; in another library they have the types natural there."""
        kind = library_of(frame)
        if kind.name == self.kind:
            return self
        natural = ((name, natural_dtype(kind, self.schema[name])) for name, _ in self.columns)
        return FrameShape(kind.name, self.schema, tuple(natural))

    def with_room_for_gaps(self, names: Collection[str]) -> FrameShape:
        """Return the shape with types that hold a missing value in some of its columns.

        >>> import pandas as pd
        >>> schema = Schema((Feature(name="age", kind="numeric"),))
        >>> shape_of(pd.DataFrame({"age": [30]}), schema).with_room_for_gaps({"age"}).columns[0][1].name
        'float64'
        """
        columns = []
        for name, dtype in self.columns:
            holds = name not in names or self.library.holds_missing(dtype)
            number = self.library.array_type(dtype) is not None
            columns.append((name, dtype if holds else Dtype("float64" if number else "object")))
        return replace(self, columns=tuple(columns)) if tuple(columns) != self.columns else self

    def to_dict(self) -> dict[str, object]:
        """Return the shape as plain data; the schema is kept apart."""
        return {
            "kind": self.kind,
            "columns": [{"name": name} | dtype.to_dict() for name, dtype in self.columns],
        }

    @classmethod
    def from_dict(cls, schema: Schema, data: Mapping[str, Any]) -> FrameShape:
        """Return the shape that `to_dict` wrote for this schema."""
        columns = tuple((column["name"], Dtype.from_dict(column)) for column in data["columns"])
        return cls(data["kind"], schema, columns)


def natural_dtype(kind: FrameKind, feature: Feature) -> Dtype:
    """Return the type that a library gives a column of all that a feature can be."""
    values: list[Any] = list(feature.levels)
    if feature.numeric:
        values = [0 if feature.integer and not feature.missing else 0.5]
    held = kind.frame({feature.name: [*values, None] if feature.missing else values})
    return kind.dtype_of(held[feature.name])


def shape_of(frame: Any, schema: Schema, expected: FrameShape | None = None) -> FrameShape:
    """Return the shape of a frame that `read` accepts; the expected one itself, if it is that.

    What was worked out for a shape serves again.
    """
    sheet = opened(frame)
    kind, columns = sheet.kind, zip(sheet.names, sheet.columns, strict=True)
    typed = tuple((name, kind.dtype_of(column)) for name, column in columns if name in schema)
    if expected is not None and (kind.name, typed) == (expected.kind, expected.columns) and schema is expected.schema:
        return expected
    return FrameShape(kind.name, schema, typed)
