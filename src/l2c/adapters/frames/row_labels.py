"""Row labels as Arrow arrays: what a file keeps of them, all of one type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from l2c.adapters.frames.columns import decoded, family
from l2c.adapters.frames.stored import whole


def label_array(labels: Sequence[Any]) -> pa.Array:
    """Return row labels as Arrow; labels of several levels, of mixed types or of none are kept as texts.

    >>> [label_array(labels).to_pylist() for labels in ([7, 9], [7, "ann"], [("a", 1)], [None])]
    [[7, 9], ['7', 'ann'], ["('a', 1)"], [None]]
    """
    try:
        array = _array(labels)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        array = None
    if array is None or not _is_plain(array.type):
        return pa.array([str(label) for label in labels])
    return _typed(array)


def _array(labels: Sequence[Any]) -> pa.Array | None:
    """Return labels as what Arrow makes of them; None where these are times and something else, or of several zones."""
    if not any(isinstance(label, datetime | timedelta) for label in labels):
        return pa.array(labels, from_pandas=True)
    # Arrow takes numbers among times for times, and forgets their nanoseconds; pandas does neither.
    times = pd.Series(labels)
    return None if times.dtype == object else pa.array(times, from_pandas=True)


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

    def of_rows(self, table: pa.Table, index: pd.Index[Any], first: int) -> pa.Array | None:
        """Return the labels of some rows; None where they are just the rows' places.

        Parameters
        ----------
        table, index
            The rows, and what pandas takes for their labels: of some of a file's rows, it passes over ranges.
        first
            The place of the first of them in the file.
        """
        if not self.levels or self.levels == (range(self.rows),):
            return None
        if len(self.levels) == 1 and isinstance(self.levels[0], str):
            column = decoded(whole(table.column(self.levels[0])))
            return _typed(column) if _is_plain(column.type) else label_array(index.tolist())
        if len(table) == self.rows:
            return label_array(index.tolist())
        stored = iter([index.get_level_values(place) for place in range(index.nlevels)])
        parts = [next(stored) if isinstance(one, str) else one[first : first + len(table)] for one in self.levels]
        return label_array(list(pd.MultiIndex.from_arrays(parts)) if len(parts) > 1 else list(parts[0]))


def _level(told: Any) -> str | range:
    return told if isinstance(told, str) else range(told["start"], told["stop"], told["step"])


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether labels of a type are told by single values of Arrow's own."""
    return not pa.types.is_nested(kind) and not isinstance(kind, pa.BaseExtensionType)


def _typed(array: pa.Array) -> pa.Array:
    """Return labels as a file gives them back: with one word for those that are missing, of a type that it has."""
    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    if pa.types.is_timestamp(array.type) and array.type.unit == "s":
        return array.cast(pa.timestamp("ms", array.type.tz))
    if family(array) == "float" and pa.types.is_floating(array.type):
        return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return array
