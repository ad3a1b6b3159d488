"""The shape of a frame, apart from its values: enough to build rows of the same columns from cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from l2c.adapters.frames.kinds import KINDS, library_of
from l2c.adapters.frames.making import made_columns
from l2c.adapters.frames.stored import Dtype, FrameKind
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.core.types import Cells


@dataclass(frozen=True, slots=True)
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
        kind = KINDS[self.kind]
        return kind.frame(made_columns(kind, self.columns, self.schema, cells))

    def in_kind_of(self, frame: Any) -> FrameShape:
        """Return the same columns for a frame's library; in another library they have the types natural there."""
        kind = library_of(frame)
        if kind.name == self.kind:
            return self
        natural = ((name, _natural(kind, self.schema[name])) for name, _ in self.columns)
        return FrameShape(kind.name, self.schema, tuple(natural))

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


def _natural(kind: FrameKind, feature: Feature) -> Dtype:
    """Return the type that a library gives a column of all that a feature can be."""
    values: list[Any] = list(feature.levels)
    if feature.numeric:
        values = [0 if feature.integer and not feature.missing else 0.5]
    held = kind.frame({feature.name: [*values, None] if feature.missing else values})
    return kind.dtype_of(held[feature.name])


def shape_of(frame: Any, schema: Schema) -> FrameShape:
    """Return the shape of a frame that `read` accepts."""
    kind = library_of(frame)
    columns = zip(kind.names(frame), kind.columns(frame), strict=True)
    typed = tuple((name, kind.dtype_of(column)) for name, column in columns if name in schema.names)
    return FrameShape(kind.name, schema, typed)


def feature_columns(frame: Any, schema: Schema) -> list[str]:
    """Return the names of the schema's columns in the frame's own order."""
    return [name for name in library_of(frame).names(frame) if name in schema.names]
