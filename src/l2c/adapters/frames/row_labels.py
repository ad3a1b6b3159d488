"""Row labels as Arrow arrays: what a file keeps of them, all of one type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from l2c.adapters.frames.columns import decoded
from l2c.adapters.frames.stored import whole


def label_array(labels: Sequence[object], kind: pa.DataType | None = None) -> pa.Array:
    """Return row labels as Arrow; labels of several levels, of mixed types or of none are kept as texts.

    >>> [label_array(labels).to_pylist() for labels in ([7, 9], [7, "ann"], [("a", 1)], [None])]
    [[7, 9], ['7', 'ann'], ["('a', 1)"], [None]]
    """
    try:
        array = pa.array(labels, kind, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        array = None
    if array is None or pa.types.is_nested(array.type):
        return pa.array([str(label) for label in labels])
    return _typed(array)


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """The row labels in a Parquet file, as pandas describes them in it.

    Parameters
    ----------
    levels
        For each level of the labels the column that holds it, or the range that it is.
    rows
        How many rows the file has.
    """

    levels: tuple[str | range, ...]
    rows: int

    @classmethod
    def of(cls, file: pq.ParquetFile) -> StoredLabels:
        """Return the labels of a file; a range that is not as long as the file was of another table."""
        described = json.loads((file.schema_arrow.metadata or {}).get(b"pandas", b"{}"))
        levels = [_level(told) for told in described.get("index_columns", ())]
        rows, names = file.metadata.num_rows, file.schema_arrow.names
        held = (one for one in levels if (one in names if isinstance(one, str) else len(one) == rows))
        return cls(tuple(held), rows)

    def of_rows(self, table: pa.Table, first: int) -> pa.Array | None:
        """Return the labels of some rows, the first of which has this place; None where they are just the places."""
        if not self.levels or self.levels == (range(self.rows),):
            return None
        parts = [
            decoded(whole(table.column(level)))
            if isinstance(level, str)
            else pa.array(level[first : first + len(table)])
            for level in self.levels
        ]
        return (
            _typed(parts[0])
            if len(parts) == 1
            else label_array(list(zip(*map(pa.Array.to_pylist, parts), strict=True)))
        )


def _level(told: Any) -> str | range:
    return told if isinstance(told, str) else range(told["start"], told["stop"], told["step"])


def _typed(array: pa.Array) -> pa.Array:
    """Return labels of which none may be known as those of a type that can be joined with others."""
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
