"""Found files: a release as one Parquet table that any tool opens and L2C reads back whole.

Each input row stands in it as rank 0, with its outcome; its counterfactuals follow as ranks 1, 2, …. The sealed
metadata carries the schema, the levels with their edges, the model's mark, the seed and the versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from l2c.adapters import frames
from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.columns import decoded, family
from l2c.adapters.frames.stored import whole
from l2c.adapters.frames.storing import from_arrow, to_arrow
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.seals import seal, sha256, unseal
from l2c.core.explanation import Outcome, Released
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label
from l2c.errors import L2CError, StoredFileError

KIND = "l2c found"
KEY = b"l2c"
COLUMNS = ("row", "rank", "index", "prediction", "probability", "status", "sentence", "tries", "valid", "desired")


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What a found file holds."""

    released: Released
    frame: Any
    index: list[object] | None
    mark: ModelMark
    notes: Mapping[str, Any]


def long_frame(features: Any, released: Released, index: Sequence[object] | None) -> Any:
    """Return the counterfactuals' features with their row, rank, the input's label, and the model's answer."""
    before: dict[str, Any] = {"row": released.row, "rank": released.rank}
    if index is not None:
        before["index"] = [index[row] for row in released.row]
    labels = _labels(released.classes, released.desired[released.row])
    after: dict[str, Any] = {"prediction": labels, "probability": released.chance}
    return frames.decorate(features, before, after)


def write(
    path: Path,
    released: Released,
    features: Any,
    frame: Any,
    index: Sequence[object] | None,
    mark: ModelMark,
    notes: Mapping[str, Any],
) -> None:
    """Write a release, whole or not at all.

    Parameters
    ----------
    features, frame
        The features of the counterfactuals and of the input rows, as frames of one kind.
    """
    schema = released.layout.schema
    table = _stacked(frame, features)
    order = np.lexsort((np.concatenate([np.zeros(len(released.factual), int), released.rank]), _rows(released)))
    own = _own_names(schema)
    for name, column in _bookkeeping(released, index).items():
        table = table.append_column(own[name], column)
    table = table.take(order)
    metadata = {
        "schema": schema.to_dict(),
        "layout": released.layout.to_dict(),
        "shape": frames.shape_of(frame, schema).to_dict(),
        "model": mark.to_dict(),
        "asked": released.asked,
        "notes": dict(notes),
        "rows": _digest(table),
    }
    table = table.replace_schema_metadata({KEY: seal(KIND, metadata).encode()})
    with frames.replacing(path) as draft:
        pq.write_table(table, draft, compression="zstd", write_page_checksum=True)


def read(path: Path) -> Record:
    """Return what a found file holds, or raise if it is damaged, foreign or of another version."""
    table, data = _opened(path)
    try:
        if _digest(table) != data["rows"]:
            raise StoredFileError("its rows were altered and do not match their hash")
        schema = Schema.from_dict(data["schema"])
        layout = Layout.from_dict(schema, data["layout"])
        return _record(table, layout, FrameShape.from_dict(schema, data["shape"]), data)
    except (KeyError, TypeError, ValueError, IndexError, pa.ArrowException, L2CError) as error:
        raise StoredFileError(f"{path} cannot be read: {error}") from error


def _opened(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise StoredFileError(f"there is no file {str(path)!r}") from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise StoredFileError(f"{path} is damaged or no Parquet file: {error}") from error
    sealed = (table.schema.metadata or {}).get(KEY)
    if sealed is None:
        raise StoredFileError(f"{path} is a Parquet file, but not one that L2C wrote")
    return table, unseal(KIND, sealed, str(path))


def _record(table: pa.Table, layout: Layout, shape: FrameShape, data: Mapping[str, Any]) -> Record:
    own = _own_names(layout.schema)
    kept = {name: table.column(own[name]) for name in COLUMNS if own[name] in table.column_names}
    original = pc.equal(kept["rank"], 0)
    people, found = table.filter(original), table.filter(pc.invert(original))
    of_people = {name: people.column(own[name]).to_pylist() for name in kept}
    row, rank, chance = (found.column(own[name]).to_numpy() for name in ("row", "rank", "probability"))
    frame = from_arrow(people, shape)
    cells = _cells(from_arrow(found, shape), layout) if len(row) else np.empty((0, len(layout.axes)))
    mark = ModelMark.from_dict(layout, data["model"])
    of_people["found"] = np.bincount(row, minlength=len(people)).tolist()
    endings = zip(*(of_people[name] for name in Outcome.__dataclass_fields__), strict=True)
    released = Released(
        layout=layout,
        classes=mark.classes,
        asked=data["asked"],
        factual=frames.read(frame, layout.schema).cells,
        current=_indices(mark.classes, of_people["prediction"]),
        desired=_indices(mark.classes, of_people["desired"]),
        outcomes=tuple(Outcome(*ending) for ending in endings),
        row=row,
        rank=rank,
        levels=layout.levels(cells),
        cells=cells,
        chance=chance,
        valid=np.ones(len(row), dtype=bool),
    )
    return Record(released, frame, of_people.get("index"), mark, data["notes"])


def _cells(frame: Any, layout: Layout) -> Cells:
    return frames.strict(frames.read(frame, layout.schema))


def _bookkeeping(released: Released, index: Sequence[object] | None) -> dict[str, pa.Array]:
    """Return the columns beside the features, input rows first."""
    people, found = len(released.factual), len(released.row)
    nothing = [None] * found
    columns: dict[str, pa.Array] = {
        "row": pa.array(_rows(released)),
        "rank": pa.array(np.concatenate([np.zeros(people, dtype=np.int64), released.rank])),
    }
    if index is not None:
        columns["index"] = _row_labels([*index, *(index[row] for row in released.row)])
    wanted = released.desired[released.row]
    return columns | {
        "prediction": pa.array([*_labels(released.classes, released.current), *_labels(released.classes, wanted)]),
        "probability": pa.array([*([None] * people), *released.chance], pa.float64()),
        "status": pa.array([*(outcome.status for outcome in released.outcomes), *nothing], pa.string()),
        "sentence": pa.array([*(outcome.sentence for outcome in released.outcomes), *nothing], pa.string()),
        "tries": pa.array([*(outcome.tries for outcome in released.outcomes), *nothing], pa.int64()),
        "valid": pa.array([*(outcome.valid for outcome in released.outcomes), *nothing], pa.int64()),
        "desired": pa.array([*_labels(released.classes, released.desired), *_labels(released.classes, wanted)]),
    }


def _row_labels(labels: Sequence[object]) -> pa.Array:
    """Return row labels as Arrow; labels of several parts or of mixed types are kept as texts."""
    try:
        array = pa.array(labels, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        array = None
    if array is None or pa.types.is_nested(array.type):
        return pa.array([str(label) for label in labels])
    return array


def _rows(released: Released) -> np.ndarray:
    return np.concatenate([np.arange(len(released.factual)), released.row])


def _own_names(schema: Schema) -> dict[str, str]:
    """Return the names of our columns: with an underscore where a feature has that name already."""
    names = {}
    for name in COLUMNS:
        names[name] = name
        while names[name] in schema.names:
            names[name] += "_"
    return names


def _labels(classes: tuple[Label, ...], indices: np.ndarray) -> list[Label | None]:
    return [None if index < 0 else classes[index] for index in indices.tolist()]


def _indices(classes: tuple[Label, ...], labels: Sequence[Label | None]) -> np.ndarray:
    return np.array([-1 if label is None else classes.index(label) for label in labels], dtype=np.int64)


def _digest(table: pa.Table) -> str:
    """Return the hash of what a table says, however it is encoded: Parquet itself does not guard all its bytes."""
    parts = []
    for name in table.column_names:
        values = decoded(whole(table.column(name)))
        values = values.cast(_COMMON[kind], safe=False) if (kind := family(values)) else values
        said = pa.record_batch([values.drop_null()], [name])
        parts += [name.encode(), values.is_valid().to_numpy(zero_copy_only=False).tobytes(), said.serialize()]
    return sha256(b"".join(parts))


_COMMON = {"boolean": pa.uint8(), "integer": pa.int64(), "float": pa.float64(), "text": pa.large_string()}
"""One type for all that a file may give back in another width."""


def _stacked(first: Any, second: Any) -> pa.Table:
    """Return two frames of one kind, one above the other, as an Arrow table."""
    tables = [to_arrow(first), to_arrow(second)]
    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
