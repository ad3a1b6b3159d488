"""Tables that are read a chunk at a time: a CSV or Parquet file, or frames as they come."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from l2c.adapters.frames.files import checked_path, telling_problems, texts_of
from l2c.core.schema import Schema

EDGE = 1 << 20
"""Bytes at either end of a file by which it is recognised, beside its size."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """A table in chunks.

    Parameters
    ----------
    frames
        The chunks, each read when it is asked for.
    rows
        How many rows there are in all; None where that is not known before the end.
    mark
        By what the same table is recognised again; None for frames as they come.
    """

    frames: Iterator[Any]
    rows: int | None
    mark: str | None


def chunks_of(source: str | Path | Iterable[Any], schema: Schema, size: int) -> Chunks:
    """Return a source in chunks of at most so many rows; of frames as they come, none is put together with another."""
    if not isinstance(source, str | Path):
        return Chunks(_sliced(iter(source), size), None, None)
    path = checked_path(source)
    if path.suffix.lower() == ".csv":
        return Chunks(_of_csv(path, schema, size), _lines(path), _mark(path))
    with telling_problems(path):
        rows = pq.read_metadata(path).num_rows
    return Chunks(_of_parquet(path, size), rows, _mark(path))


def _sliced(frames: Iterator[Any], size: int) -> Iterator[Any]:
    for frame in frames:
        yield from in_pieces(frame, size)


def in_pieces(frame: Any, size: int) -> Iterator[Any]:
    """Yield a frame in pieces of at most so many rows; a small one as it is."""
    data = nw.from_native(frame, eager_only=True)
    for start in range(0, max(len(data), 1), size):
        yield frame if len(data) <= size else data[start : start + size].to_native()


def _of_csv(path: Path, schema: Schema, size: int) -> Iterator[pd.DataFrame]:
    with telling_problems(path):
        # A chunk without gaps would be read as whole numbers, the next one as fractions.
        gaps = {feature.name: float for feature in schema.features if feature.numeric and feature.missing}
        with pd.read_csv(path, dtype={**texts_of(schema), **gaps}, chunksize=size) as reader:
            for frame in reader:
                yield frame.reset_index(drop=True)


def _of_parquet(path: Path, size: int) -> Iterator[pd.DataFrame]:
    with telling_problems(path), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(size):
            yield pa.Table.from_batches([batch]).to_pandas()


def _lines(path: Path) -> int:
    """Return how many rows a CSV file has, a line each: near enough to say how much is left."""
    with path.open("rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(EDGE), b"")) - 1, 0)


def _mark(path: Path) -> str:
    """Return the hash of a file's size and of both its ends."""
    size, told = path.stat().st_size, hashlib.sha256()
    with path.open("rb") as file:
        told.update(f"{size} ".encode() + file.read(EDGE))
        file.seek(max(size - EDGE, 0))
        told.update(file.read(EDGE))
    return told.hexdigest()
