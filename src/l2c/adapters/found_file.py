"""The Parquet file of a release: the names of its own columns, its seal, and the hash of what it says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from l2c.adapters.frames.columns import decoded, family
from l2c.adapters.frames.stored import whole
from l2c.adapters.seals import sha256, unseal
from l2c.core.explanation import Release
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.errors import StoredFileError

KIND = "l2c found"
KEY = b"l2c"
COLUMNS = (
    "row", "rank", "index", "prediction", "probability", "cost", "status", "sentence", "tries", "valid", "reason",
    "desired", "accepted", "low", "high", "share_valid",
)  # fmt: skip


def opened(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return what a found file says, with its sealed metadata, or raise if any of it is damaged or foreign."""
    try:
        # Arrow takes a relative path with a colon for an address.
        table = pq.read_table(path.absolute(), page_checksum_verification=True)
    except FileNotFoundError as error:
        raise StoredFileError(f"there is no file {str(path)!r}") from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise StoredFileError(f"{path} is damaged or no Parquet file: {error}") from error
    sealed = (table.schema.metadata or {}).get(KEY)
    if sealed is None:
        raise StoredFileError(f"{path} is a Parquet file, but not one that L2C wrote")
    data = unseal(KIND, sealed, str(path))
    try:
        altered = digest(table) != data["rows"]
    except (KeyError, pa.ArrowException) as error:
        raise StoredFileError(f"{path} cannot be read: {error}") from error
    if altered:
        raise StoredFileError(f"{path} cannot be read: its rows were altered and do not match their hash")
    return table, data


def own_names(schema: Schema) -> dict[str, str]:
    """Return the names of our columns: with an underscore where a feature has that name already."""
    names = {}
    for name in COLUMNS:
        names[name] = name
        while names[name] in schema.names:
            names[name] += "_"
    return names


def value_names(schema: Schema, release: Release, *, coarse: bool) -> dict[str, str]:
    """Return under what name the value of each feature stands that a file tells in words.

    Parameters
    ----------
    release
        Whether numbers are told by their intervals.
    coarse
        Whether quasi-identifiers are told in coarser levels.
    """
    taken, names = {*schema.names, *own_names(schema).values()}, {}
    for feature in schema.features:
        if (feature.numeric and release == "intervals") or (feature.role == "quasi" and coarse):
            names[feature.name] = f"{feature.name}.representative"
            while names[feature.name] in taken:
                names[feature.name] += "_"
    return names


def value_names_of(schema: Schema, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the same for a file with this metadata."""
    return value_names(schema, data.get("release", "values"), coarse=data.get("coarse") is not None)


def digest(table: pa.Table) -> str:
    """Return the hash of what a table says, however it is encoded: Parquet itself does not guard all its bytes."""
    told = hashlib.sha256()
    for name in table.column_names:
        values = decoded(whole(table.column(name)))
        values = values.cast(_COMMON[kind], safe=False) if (kind := family(values)) else values
        told.update(name.encode())
        told.update(values.is_valid().to_numpy(zero_copy_only=False))
        told.update(pa.record_batch([values.drop_null()], [name]).serialize())
    return told.hexdigest()


_COMMON = {"boolean": pa.uint8(), "integer": pa.int64(), "float": pa.float64(), "text": pa.large_string()}
"""One type for all that a file may give back in another width."""


def digest_of_people(cells: Cells, unread: Mapping[int, str]) -> str:
    """Return a hash of input rows, and of what is wrong with those that could not be read, by their places."""
    return sha256(np.ascontiguousarray(cells).tobytes() + repr(sorted(unread.items())).encode())
