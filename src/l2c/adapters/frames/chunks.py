"""Tables that are read a chunk at a time: a CSV or Parquet file, a frame, or frames as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from l2c.adapters.frames.columns import naming_problems
from l2c.adapters.frames.files import as_declared, checked_path, csv_options, telling_problems, with_fractions
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.row_labels import StoredLabels, label_array
from l2c.core.schema import Schema
from l2c.errors import DataError

BLOCK = 1 << 20
"""Bytes of a file that are looked at together."""

Source = str | Path | Iterable[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a table, with its labels for them; all chunks of a table have some, or none has.

    Labels that are just the rows' places in the table say nothing of their own.
    """

    frame: Any
    labels: pa.Array | None


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """A table in chunks, none of them without rows.

    Parameters
    ----------
    each
        The chunks, read as they are asked for.
    rows
        How many rows there are in all; None where that is not known before the end.
    """

    each: Iterator[Chunk]
    rows: int | None


def chunks_of(source: Source, schema: Schema, size: int) -> Chunks:
    """Return a source in chunks of at most so many rows; of frames as they come, none is put together with another."""
    if isinstance(source, str | Path):
        path = checked_path(source)
        if path.suffix.lower() == ".csv":
            return Chunks(_of_csv(path, schema, size), _lines(path))
        with telling_problems(path):
            rows = pq.read_metadata(path).num_rows
        return Chunks(_of_parquet(path, schema, size), rows)
    if _is_frame(source):
        return Chunks(_of_frame(source, schema, size), len(source))  # type: ignore[arg-type]
    if not isinstance(source, Iterable) or isinstance(source, nw.LazyFrame) or hasattr(source, "collect"):
        raise DataError(
            "expected the name of a CSV or Parquet file, a data frame (pandas, polars or Arrow), or an iterable of "
            f"frames, got {type(source).__name__}"
        )
    return Chunks(_of_frames(iter(source), schema, size), None)


def _is_frame(source: object) -> bool:
    try:
        library_of(source)
    except DataError:
        return False
    return True


def _of_frames(frames: Iterator[Any], schema: Schema, size: int) -> Iterator[Chunk]:
    """Yield the chunks of frames; where one of pandas labels its rows 0, 1, 2, …, these are told by their places.

    Whether a later one labels them otherwise is not known beforehand, so that all have labels in any case.
    """
    first = 0
    for number, given in enumerate(frames):
        frame = pa.Table.from_batches([given]) if isinstance(given, pa.RecordBatch) else given
        try:
            kind = library_of(frame)
        except DataError as error:
            raise DataError(f"frame {number} of the source: {problem}" for problem in error.problems) from None
        for chunk in _of_frame(frame, schema, size) if len(frame) else ():
            rows = len(chunk.frame)
            places = pa.array(np.arange(first, first + rows)) if kind.labels_rows else None
            yield Chunk(chunk.frame, places if chunk.labels is None else chunk.labels)
            first += rows


def _of_frame(given: Any, schema: Schema, size: int) -> Iterator[Chunk]:
    kind = library_of(given)
    if problems := list(naming_problems(kind.names(given))):
        raise DataError(problems)
    frame, labels = kind.with_levels(given, schema), kind.labels(given)
    told = None if labels is None else label_array(labels)
    for number, piece in enumerate(in_pieces(frame, size) if len(frame) else ()):
        # Its labels stand beside a piece, which is none the less one without labels of its own.
        plain = piece.reset_index(drop=True) if isinstance(piece, pd.DataFrame) else piece
        yield Chunk(plain, None if told is None else told[number * size : (number + 1) * size])


def in_pieces(frame: Any, size: int) -> Iterator[Any]:
    """Yield a frame in pieces of at most so many rows; a small one as it is."""
    data = nw.from_native(frame, eager_only=True)
    for start in range(0, max(len(data), 1), size):
        yield frame if len(data) <= size else data[start : start + size].to_native()


def _of_csv(path: Path, schema: Schema, size: int) -> Iterator[Chunk]:
    with telling_problems(path), pd.read_csv(path, **csv_options(path, schema), chunksize=size) as reader:
        first = 0
        for frame in reader:
            if len(frame):
                yield Chunk(as_declared(frame.reset_index(drop=True), schema, first), None)
            first += len(frame)


def _of_parquet(path: Path, schema: Schema, size: int) -> Iterator[Chunk]:
    # Row groups may be as large as the file: without buffers ahead, what is held at once is far less than one of them.
    with telling_problems(path), pq.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK) as file:
        stored, gaps, first = StoredLabels.of(file), _with_gaps(file.metadata), 0
        for table in _filled(file.iter_batches(size), size):
            frame = table.to_pandas()
            labels, frame = stored.of_rows(table, frame.index, first), frame.reset_index(drop=True)
            # Of its categories a chunk of a file knows those of its own rows, and of its gaps too.
            frame = with_fractions(library_of(frame).with_levels(frame, schema), gaps.intersection(frame.columns))
            yield Chunk(frame, labels)
            first += len(frame)


def _with_gaps(metadata: pq.FileMetaData) -> set[str]:
    """Return the columns of a file in which a value may be missing: where it does not say that none is."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    return {
        column.path_in_schema
        for column in columns
        if column.statistics is None or not column.statistics.has_null_count or column.statistics.null_count
    }


def _filled(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Yield batches, of which a file may end one with each of its row groups, as tables of so many rows."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= size:
            table = pa.Table.from_batches(held)
            yield table[:size]
            held = table[size:].to_batches()
    if held:
        yield pa.Table.from_batches(held)


def _lines(path: Path) -> int:
    """Return how many rows a CSV file has, a line each: near enough to say how much is left."""
    with path.open("rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b"")) - 1, 0)
