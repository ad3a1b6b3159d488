"""Found files: a release as one Parquet table that any tool opens and L2C reads back whole.

Each input row stands in it as rank 0, with its outcome; its counterfactuals follow as ranks 1, 2, …. The sealed
metadata carries the schema, the levels with their edges, the model's mark, the seed and the versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from l2c.adapters import frames
from l2c.adapters.found_file import (
    COLUMNS,
    KEY,
    KIND,
    digest,
    digest_of_people,
    opened,
    own_names,
    value_names,
    value_names_of,
)
from l2c.adapters.found_parts import together
from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.row_labels import label_array
from l2c.adapters.frames.stored import FrameKind
from l2c.adapters.frames.storing import from_arrow, to_arrow
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.parts import (
    WHOLE,
    Part,
    as_a_part,
    labels_alike,
    parts_in,
)
from l2c.adapters.seals import seal
from l2c.core.explanation import Measured, Outcome, Reason, Release, Released
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label
from l2c.core.wording import Wording
from l2c.errors import L2CError, StoredFileError


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What a found file holds."""

    released: Released
    frame: Any
    index: list[object] | None
    mark: ModelMark
    notes: Mapping[str, Any]


def long_frame(features: Any, released: Released, index: Sequence[object] | None) -> Any:
    """Return the counterfactuals' features with their row, rank, the input's label, the model's answer, the cost."""
    return frames.decorate(features, *beside(library_of(features), released, index))


def beside(
    kind: FrameKind, released: Released, index: Sequence[object] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns that stand before and behind the features of counterfactuals."""
    before: dict[str, Any] = {"row": released.row, "rank": released.rank}
    if index is not None:
        some = [index[row] for row in released.row.tolist()]
        before["index"] = some if some else _none_of(kind, index)
    if released.measured is None:
        known = (released.predicted >= 0).all()
        labels = (kind.coded if known else _labels)(released.classes, released.predicted)
        labels = labels if len(released.row) else _none_of(kind, released.classes)
        after: dict[str, Any] = {"prediction": labels, "probability": released.chance, "cost": released.cost}
    else:
        after = {"prediction": released.measured.after, "cost": released.cost}
    if released.share_valid is not None:
        after["share_valid"] = released.share_valid
    return before, after


def _none_of(kind: FrameKind, values: Sequence[object]) -> Any:
    """Return a column that holds nothing, of the type that values have: a list of nothing has none."""
    alike = len(set(map(type, values))) == 1
    return kind.columns(kind.frame({"": list(values)}))[0][:0] if alike else []


def write(
    path: Path,
    released: Released,
    features: Any,
    frame: Any,
    index: Sequence[object] | None,
    mark: ModelMark,
    notes: Mapping[str, Any],
    part: Part = WHOLE,
) -> None:
    """Write a release, whole or not at all.

    Parameters
    ----------
    features, frame
        The features of the counterfactuals and of the input rows, as frames of one kind.
    part
        Where it stands in a longer one: it is then stored in the types of the parts before it.
    """
    schema = released.layout.schema
    shape, outcomes = frames.shape_of(frame, schema), list(enumerate(released.outcomes))
    unread = {row: outcome.sentence for row, outcome in outcomes if outcome.status == "bad_input"}
    table = _stacked(frame, features)
    if part.stream is not None:
        gone = np.isin(np.arange(len(table)), list(unread))
        table, shape = as_a_part(table, shape, gone, part.settled)
    release: Release = "values" if released.share_valid is None else "intervals"
    beside = value_names(schema, release, coarse=released.coarse is not None)
    table = _with_words(table, released, beside)
    order = np.lexsort((np.concatenate([np.zeros(len(released.factual), int), released.rank]), _rows(released)))
    own = own_names(schema)
    for name, column in _bookkeeping(released, index, part).items():
        table = table.append_column(own[name], column)
    table = table.take(order)
    metadata = {
        "schema": schema.to_dict(),
        "layout": released.layout.to_dict(),
        "shape": shape.to_dict(),
        "model": mark.to_dict(),
        "asked": released.asked,
        "margin": released.goal.margin,
        "coarse": None if released.coarse is None else released.coarse.tolist(),
        "notes": dict(notes),
        "first": part.first,
        "stream": None if part.stream is None else dict(part.stream),
        "people": digest_of_people(released.factual, unread),
        "release": release,
        "rows": digest(table),
    }
    table = table.replace_schema_metadata({KEY: seal(KIND, metadata).encode()})
    with frames.replacing(path) as draft:
        # Rows stand in order, so that only their places tell a reader what it may pass over.
        placed = [own[name] for name in ("row", "rank")]
        pq.write_table(table, draft, compression="zstd", write_page_checksum=True, write_statistics=placed)


def read(path: Path) -> Record:
    """Return what a found file holds, or raise if it is damaged, foreign or of another version.

    A folder of parts is read as one: all that there are.
    """
    table, data = together([opened(part) for part in parts_in(path)], path) if path.is_dir() else opened(path)
    try:
        schema = Schema.from_dict(data["schema"])
        layout = Layout.from_dict(schema, data["layout"])
        return _record(table, layout, FrameShape.from_dict(schema, data["shape"]), data)
    except (KeyError, TypeError, ValueError, IndexError, pa.ArrowException, L2CError) as error:
        raise StoredFileError(f"{path} cannot be read: {error}") from error


def _record(table: pa.Table, layout: Layout, shape: FrameShape, data: Mapping[str, Any]) -> Record:
    own = own_names(layout.schema)
    intervals = data.get("release") == "intervals"
    table = _by_value(table, value_names_of(layout.schema, data))
    kept = {name: table.column(own[name]) for name in COLUMNS if own[name] in table.column_names}
    original = pc.equal(kept["rank"], 0)
    people, found = table.filter(original), table.filter(pc.invert(original))
    of_people = {name: people.column(own[name]).to_pylist() for name in kept}
    numbers = ("row", "rank", "probability", "share_valid")[: 3 + intervals]
    row, rank, chance, *share = (found.column(own[name]).to_numpy() for name in numbers)
    row = row - data.get("first", 0)
    shape = shape.with_room_for_gaps([name for name, _ in shape.columns if people.column(name).null_count])
    index = of_people.get("index")
    # Labels that are just the places of the rows are none.
    index = None if index == list(range(len(people))) else index
    frame = from_arrow(people, shape)
    cells = _cells(from_arrow(found, shape), layout) if len(row) else np.empty((0, len(layout.axes)))
    mark = ModelMark.from_dict(layout, data["model"])
    of_people["reason"] = [None if text is None else Reason.from_dict(json.loads(text)) for text in of_people["reason"]]
    of_people["found"] = np.bincount(row, minlength=len(people)).tolist()
    seen = found.column(own["prediction"]).to_pylist()
    endings = zip(*(of_people[name] for name in Outcome.__dataclass_fields__), strict=True)
    released = Released(
        layout=layout,
        classes=mark.classes,
        asked=data["asked"],
        factual=_factual(frame, layout.schema, of_people["status"]),
        current=_told_classes(mark, of_people["prediction"]),
        desired=_indices(mark.classes, of_people["desired"]),
        goal=replace(_goal(of_people, len(mark.classes)), threshold=mark.threshold, margin=data.get("margin", 0.0)),
        outcomes=tuple(Outcome(*ending) for ending in endings),
        row=row,
        rank=rank,
        levels=layout.levels(cells),
        cells=cells,
        chance=chance,
        predicted=_told_classes(mark, seen),
        valid=np.ones(len(row), dtype=bool),
        measured=None if mark.wanted is None else Measured(_numbers(of_people["prediction"]), _numbers(seen)),
        share_valid=share[0] if intervals else None,
        coarse=None if data.get("coarse") is None else np.array(data["coarse"], dtype=np.int64),
    )
    return Record(released, frame, index, mark, data["notes"])


def _factual(frame: Any, schema: Schema, statuses: Sequence[str]) -> Cells:
    """Return the input rows; one that could not be read is all NaN, whatever stands in its place."""
    cells = frames.read(frame, schema).cells
    cells[[status == "bad_input" for status in statuses]] = np.nan
    return cells


def _with_words(table: pa.Table, released: Released, beside: Mapping[str, str]) -> pa.Table:
    """Return input rows and counterfactuals with the words for some features, and beside them the values.

    Of an input row that could not be read there is nothing to tell.

    Parameters
    ----------
    beside
        Under what name the values of each of these features stand.
    """
    if not beside:
        return table
    layout, wording, rows = released.layout, Wording.of(released), _rows(released)
    known = ~np.isnan(released.factual).all(axis=1)
    levels = np.concatenate([layout.levels(np.where(known[:, None], released.factual, 0.0)), released.levels])
    unknown = np.concatenate([~known, np.zeros(len(released.levels), dtype=bool)])
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name in beside:
            words = wording.of_levels(name, rows, levels[:, layout.schema.index(name)])
            columns[name] = pa.array(words, pa.string(), mask=unknown)
        columns[beside.get(name, name)] = table.column(name)
    return pa.table(columns)


def _by_value(table: pa.Table, beside: Mapping[str, str]) -> pa.Table:
    """Return a stored table with the values in place of the words for them."""
    names = {value: name for name, value in beside.items()}
    kept = [name for name in table.column_names if name not in beside]
    return table.select(kept).rename_columns([names.get(name, name) for name in kept])


def _goal(of_people: Mapping[str, list[Any]], classes: int) -> Goal:
    accepted = np.zeros((len(of_people["accepted"]), classes), dtype=bool)
    for row, text in enumerate(of_people["accepted"]):
        accepted[row, json.loads(text)] = True
    low, high = (_numbers(of_people[name]) for name in ("low", "high"))
    return Goal(accepted, low, high)


def _numbers(column: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if number is None else number for number in column], dtype=np.float64)


def _told_classes(mark: ModelMark, column: Sequence[Any]) -> np.ndarray:
    """Return the class of each prediction, as an index: a label, or a number that is in the range or not."""
    if mark.wanted is None:
        return _indices(mark.classes, column)
    numbers = _numbers(column)
    return np.where(np.isnan(numbers), -1, mark.wanted.inside(numbers))


def _cells(frame: Any, layout: Layout) -> Cells:
    return frames.strict(frames.read(frame, layout.schema))


def _bookkeeping(released: Released, index: Sequence[object] | None, part: Part) -> dict[str, pa.Array]:
    """Return the columns beside the features, input rows first."""
    people, found, outcomes = len(released.factual), len(released.row), released.outcomes
    rows, goal = _rows(released), released.goal
    columns: dict[str, pa.Array] = {
        "row": pa.array(rows + part.first),
        "rank": pa.array(np.concatenate([np.zeros(people, dtype=np.int64), released.rank])),
    }
    if index is not None:
        labels = label_array(index) if part.labels is None else part.labels
        columns["index"] = labels_alike(labels, part.settled).take(pa.array(rows))
    reasons = [outcome.reason and json.dumps(outcome.reason.to_dict()) for outcome in outcomes]
    if released.share_valid is not None:
        columns["share_valid"] = _of_found(people, released.share_valid)
    return columns | {
        "prediction": _predictions(released),
        "cost": _of_found(people, released.cost),
        "reason": _of_people(pa.array(reasons, pa.string()), found),
        "accepted": _of_people(_accepted(goal), found),
        "low": _of_people(_known(goal.low), found),
        "high": _of_people(_known(goal.high), found),
        "probability": _of_found(people, released.chance),
        "status": _of_people(pa.array([outcome.status for outcome in outcomes], pa.string()), found),
        "sentence": _of_people(pa.array([outcome.sentence for outcome in outcomes], pa.string()), found),
        "tries": _of_people(pa.array([outcome.tries for outcome in outcomes], pa.int64()), found),
        "valid": _of_people(pa.array([outcome.valid for outcome in outcomes], pa.int64()), found),
        "desired": _class_labels(released.classes, released.desired[rows]),
    }


def _of_people(values: pa.Array, found: int) -> pa.Array:
    """Return a column that tells of the input rows alone."""
    return pa.concat_arrays([values, pa.nulls(found, values.type)])


def _of_found(people: int, values: np.ndarray) -> pa.Array:
    """Return a column that tells of the counterfactuals alone."""
    return pa.concat_arrays([pa.nulls(people, pa.float64()), pa.array(values, pa.float64())])


def _accepted(goal: Goal) -> pa.Array:
    """Return the classes that each row's goal accepts, as JSON; most rows accept the same ones."""
    different, which = np.unique(goal.accepted, axis=0, return_inverse=True)
    texts = pa.array([json.dumps(np.flatnonzero(row).tolist()) for row in different], pa.string())
    return texts.take(pa.array(which.reshape(-1)))


def _predictions(released: Released) -> pa.Array:
    """Return what the model says of input rows and counterfactuals: a class, or a number."""
    if released.measured is not None:
        return _known(np.concatenate([released.measured.before, released.measured.after]))
    return _class_labels(released.classes, np.concatenate([released.current, released.predicted]))


def _known(numbers: np.ndarray) -> pa.Array:
    """Return numbers as Arrow, NaN as missing."""
    return pa.array(numbers, pa.float64(), from_pandas=True)


def _class_labels(classes: tuple[Label, ...], indices: np.ndarray) -> pa.Array:
    """Return the labels of classes that are given by index, -1 as missing."""
    return pa.array(list(classes)).take(pa.array(indices, mask=indices < 0))


def _rows(released: Released) -> np.ndarray:
    return np.concatenate([np.arange(len(released.factual)), released.row])


def _labels(classes: tuple[Label, ...], indices: np.ndarray) -> list[Label | None]:
    return [None if index < 0 else classes[index] for index in indices.tolist()]


def _indices(classes: tuple[Label, ...], labels: Sequence[Label | None]) -> np.ndarray:
    return np.array([-1 if label is None else classes.index(label) for label in labels], dtype=np.int64)


def _stacked(first: Any, second: Any) -> pa.Table:
    """Return two frames of one kind, one above the other, as an Arrow table."""
    tables = [to_arrow(first), to_arrow(second)]
    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
