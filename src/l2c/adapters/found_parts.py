"""Found files that are parts of one release: what one tells of itself, what the first settles, and all as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from l2c.adapters.found_file import KEY, KIND, opened, own_names, value_names_of
from l2c.adapters.frames import FrameShape
from l2c.adapters.parts import Settled, in_common, part_path
from l2c.adapters.seals import unseal
from l2c.core.schema import Schema
from l2c.errors import StoredFileError


def together(parts: Sequence[tuple[pa.Table, dict[str, Any]]], folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return the parts of a release as one table."""
    if not parts:
        raise StoredFileError(f"{folder} holds no part of a release yet")
    common = [_in_common(data) for _, data in parts]
    schema, rows, tables = Schema.from_dict(parts[0][1]["schema"]), 0, []
    shapes = [FrameShape.from_dict(schema, data["shape"]) for _, data in parts]
    for number, (table, data) in enumerate(parts):
        tables.append(_in_types(table, parts[0][0].schema))
        alike = common[number] == common[0] and tables[-1] is not None
        if not alike or in_common([shapes[0], shapes[number]]) is None or data["first"] != rows:
            raise StoredFileError(f"{part_path(folder, number)} belongs to another release than the parts before it")
        rows += int(pc.sum(pc.equal(table.column(own_names(schema)["rank"]), 0)).as_py())
    whole = pa.concat_tables(tables).unify_dictionaries()
    steps = [data["coarse"] for _, data in parts if data.get("coarse") is not None]
    coarse = [step for of_part in steps for step in of_part] if len(steps) == len(parts) else None
    shape = in_common(shapes)
    assert shape is not None  # each was held against the first
    return whole, {**parts[0][1], "coarse": coarse, "shape": shape.to_dict()}


def _in_types(table: pa.Table, like: pa.Schema) -> pa.Table | None:
    """Return the rows of a part in the types of another one; None if they do not fit."""
    try:
        return table.cast(like.remove_metadata())
    except (pa.ArrowException, ValueError):
        return None


def _in_common(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same in all parts; other versions of the model may not answer alike to the last digit."""
    stream = data.get("stream") or {}
    return {name: data.get(name) for name in ("schema", "layout", "model", "asked")} | {"stream": stream.get("request")}


@dataclass(frozen=True, slots=True)
class Glance:
    """What is told of a part that is whole and as it was written, without making a release of it.

    Parameters
    ----------
    first, people, labels
        The position of its first input row, the hash of its input rows, and their own labels.
    stream
        What the release was begun with; None of one that was made in one go.
    statuses
        How each input row ended.
    counterfactuals
        How many there are.
    """

    first: int
    people: str
    labels: list[object] | None
    stream: Mapping[str, Any] | None
    statuses: list[str]
    counterfactuals: int


def glance(path: Path) -> Glance:
    """Return what is told of a part, or raise if it is damaged or foreign."""
    try:
        table, data = opened(path)
        schema = Schema.from_dict(data["schema"])
        own = own_names(schema)
        people = table.filter(pc.equal(table.column(own["rank"]), 0))
        labels = people.column(own["index"]).to_pylist() if own["index"] in table.column_names else None
        told, found = people.column(own["status"]).to_pylist(), table.num_rows - people.num_rows
        return Glance(data["first"], data["people"], labels, data.get("stream"), told, found)
    except (KeyError, TypeError, ValueError, StoredFileError) as error:
        raise StoredFileError(
            f"{path} is damaged or no part of a release: {error}; remove it and the parts behind it to have them made "
            "anew"
        ) from error


def settled_by(path: Path) -> Settled:
    """Return what the first part of a release settles for those behind it."""
    stored = pq.read_schema(path.absolute())
    data = unseal(KIND, (stored.metadata or {})[KEY], str(path))
    schema = Schema.from_dict(data["schema"])
    beside = value_names_of(schema, data)
    types = {name: stored.field(beside.get(name, name)).type for name in schema.names}
    index = own_names(schema)["index"]
    labels = stored.field(index).type if index in stored.names else None
    return Settled(FrameShape.from_dict(schema, data["shape"]), types, labels)
