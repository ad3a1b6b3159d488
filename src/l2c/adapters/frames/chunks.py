"""Tables that are read a chunk at a time: a CSV or Parquet file, a frame, or frames as they come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from l2c.adapters.frames.files import checked_path, telling_problems, texts_of, with_fractions
from l2c.adapters.frames.kinds import library_of
from l2c.core.schema import Schema
from l2c.errors import DataError

BLOCK = 1 << 20
"""Bytes of a file that are looked at together."""

Source = str | Path | Iterable[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """A table in chunks, none of them without rows.

    Parameters
    ----------
    frames
        The chunks, each read when it is asked for.
    rows
        How many rows there are in all; None where that is not known before the end.
    """

    frames: Iterator[Any]
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
        return Chunks(_sliced(iter([source]), size), len(source))  # type: ignore[arg-type]
    if not isinstance(source, Iterable) or isinstance(source, nw.LazyFrame) or hasattr(source, "collect"):
        raise DataError(
            "expected the name of a CSV or Parquet file, a data frame (pandas, polars or Arrow), or an iterable of "
            f"frames, got {type(source).__name__}"
        )
    return Chunks(_sliced(iter(source), size), None)


def _is_frame(source: object) -> bool:
    try:
        library_of(source)
    except DataError:
        return False
    return True


def _sliced(frames: Iterator[Any], size: int) -> Iterator[Any]:
    for number, given in enumerate(frames):
        frame = pa.Table.from_batches([given]) if isinstance(given, pa.RecordBatch) else given
        try:
            kind = library_of(frame)
        except DataError as error:
            raise DataError(f"frame {number} of the source: {problem}" for problem in error.problems) from None
        unlabelled = kind.labels(frame) is None
        for piece in in_pieces(frame, size) if len(frame) else ():
            # A piece of a frame without labels of its own has none either, wherever it was cut out.
            yield piece.reset_index(drop=True) if unlabelled and isinstance(piece, pd.DataFrame) else piece


def in_pieces(frame: Any, size: int) -> Iterator[Any]:
    """Yield a frame in pieces of at most so many rows; a small one as it is."""
    data = nw.from_native(frame, eager_only=True)
    for start in range(0, max(len(data), 1), size):
        yield frame if len(data) <= size else data[start : start + size].to_native()


def _of_csv(path: Path, schema: Schema, size: int) -> Iterator[pd.DataFrame]:
    with telling_problems(path), pd.read_csv(path, dtype=texts_of(schema), chunksize=size) as reader:
        for frame in reader:
            if len(frame):
                yield with_fractions(frame.reset_index(drop=True), schema)


def _of_parquet(path: Path, schema: Schema, size: int) -> Iterator[pd.DataFrame]:
    # Row groups may be as large as the file: without buffers ahead, what is held at once is far less than one of them.
    with telling_problems(path), pq.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK) as file:
        labels, first = _numbered_rows(file.schema_arrow), 0
        for table in _filled(file.iter_batches(size), size):
            frame = with_fractions(table.to_pandas(), schema, gaps_alone=True)
            if labels is not None:
                frame.index = labels[first : first + len(frame)]
            first += len(frame)
            yield frame


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


def _numbered_rows(schema: pa.Schema) -> pd.RangeIndex | None:
    """Return the row labels that a Parquet file by pandas does not store, but tells: first, last and step."""
    told = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    if len(told) != 1 or not isinstance(told[0], dict) or told[0].get("kind") != "range":
        return None
    return pd.RangeIndex(told[0]["start"], told[0]["stop"], told[0]["step"], name=told[0]["name"])


def _lines(path: Path) -> int:
    """Return how many rows a CSV file has, a line each: near enough to say how much is left."""
    with path.open("rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b"")) - 1, 0)
