"""What an audit is given: tables of counterfactuals, populations and training rows, read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from l2c.adapters import frames
from l2c.adapters.frames.columns import arrays, encoded, is_missing
from l2c.adapters.frames.kinds import library_of
from l2c.core.binning import MinimalEntropy, Tree
from l2c.core.blackbox import plain_labels
from l2c.core.feature import Feature
from l2c.core.layout import Layout, places
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label
from l2c.engine.discretise import discretise
from l2c.errors import DataError, InputError, nearest
from l2c.evaluate.audit import Population, Samples

Predictions = str | Iterable[Label]
"""The name of a column that holds the model's answers, or the answers themselves."""

Codes = dict[Label | None, int]
"""The index of each class label; None stands for an answer that is missing."""


@dataclass(frozen=True, slots=True, eq=False)
class AuditedTable:
    """A table of counterfactuals as it was read, with the indices of its predictions, and the training rows."""

    samples: Samples
    codes: Codes
    training: Cells | None

    @classmethod
    def of(
        cls, frame: Any, described: Schema | Layout, row: str | None, prediction: str | None, training: Any = None
    ) -> AuditedTable:
        schema: object = described.schema if isinstance(described, Layout) else described
        if not isinstance(schema, Schema):
            raise InputError(f"expected an l2c.Schema or the layout of an explainer, not {described!r}")
        _refuse_input_rows(frame, schema)
        owner, answer = _column(frame, schema, row, "row"), _column(frame, schema, prediction, "prediction")
        cells = _strict_cells(frame, schema)
        fitted = None if training is None else _rows(training, schema, range(len(schema.names)), "training")[0]
        layout = described if isinstance(described, Layout) else _cut(schema, cells if fitted is None else fitted)
        codes: Codes = {}
        label = None if answer is None else _coded(_labels(frame, answer), codes)
        words = tuple("missing" if one is None else str(one) for one in codes)
        people = None if owner is None else _owners(frame, owner)
        return cls(Samples(layout, layout.levels(cells), cells, label, words, people), codes, fitted)


def _refuse_input_rows(frame: Any, schema: Schema) -> None:
    """Raise if the table is a found file as another tool gives it back: its rows of rank 0 are the people."""
    names = library_of(frame).names(frame)
    rank, status = (_free(name, schema) for name in ("rank", "status"))
    if rank in names and status in names and 0 in _labels(frame, rank):
        raise DataError(
            f"the rows whose {rank!r} is 0 are no counterfactuals but the people themselves, as in a found file: audit "
            "the found file itself, or leave them out"
        )


def _column(frame: Any, schema: Schema, given: str | None, usual: str) -> str | None:
    """Return the column that the caller named, or the usual one if the table has it."""
    names = library_of(frame).names(frame)
    if given is not None and given not in names:
        raise DataError(f"there is no column {given!r}{nearest(given, names)}")
    name = _free(usual, schema) if given is None else given
    return name if name in names else None


def _free(name: str, schema: Schema) -> str:
    """Return the name that a bookkeeping column has beside the features."""
    while name in schema.names:
        name += "_"
    return name


def _strict_cells(frame: Any, schema: Schema) -> Cells:
    # Another tool may propose 2.5 children: that is no reason not to audit it.
    loose = _loose(schema.features, any_gap=False)
    return frames.strict(frames.read(frames.features_of(frame, loose), loose))


def _loose(features: Iterable[Feature], *, any_gap: bool) -> Schema:
    """Return a schema to read rows by that nobody proposes from."""
    return Schema(tuple(replace(one, moves="both", integer=False, missing=one.missing or any_gap) for one in features))


def _rows(frame: Any, schema: Schema, used: Iterable[int], what: str) -> tuple[Cells, Any]:
    """Return the rows whose values the schema knows, as wide as it is, and which rows of the frame those are."""
    chosen = list(used)
    loose = _loose([schema.features[i] for i in chosen], any_gap=True)
    try:
        reading = frames.read(frames.features_of(frame, loose), loose)
    except DataError as error:
        raise DataError(f"{what}: {problem}" for problem in error.problems) from None
    if reading.bad_rows.all():
        raise DataError([f"{what}: no row can be read", *(problem.sentence for problem in reading.problems[:5])])
    kept = ~reading.bad_rows
    cells = np.full((int(kept.sum()), len(schema.names)), np.nan)
    cells[:, chosen] = reading.cells[kept]
    return cells, kept


def training_rows(frame: Any, layout: Layout) -> Cells | None:
    return None if frame is None else _rows(frame, layout.schema, range(len(layout.axes)), "training")[0]


def population_beside(frame: Any, prediction: Predictions | None, layout: Layout, codes: Codes) -> Population | None:
    """Return the population; labels that `codes` does not know are added to it."""
    if frame is None:
        if prediction is not None:
            raise InputError("there are predictions for a population, but no population")
        return None
    cells, kept = _rows(frame, layout.schema, places(layout, "quasi"), "population")
    skipped = int((~kept).sum())
    if prediction is None:
        return Population(cells, None, skipped)
    labels = _labels_of(frame, prediction, len(kept))
    return Population(cells, _coded(labels, codes)[kept], skipped)


def population_of(
    frame: Any, prediction: Predictions | None, layout: Layout, classes: tuple[Label, ...]
) -> Population | None:
    """Return the rows of a population that can match a released one, with their classes if they are told."""
    codes: Codes = {label: code for code, label in enumerate(classes)}
    found = population_beside(frame, prediction, layout, codes)
    unknown = [label for label in codes if label not in classes]
    if unknown:
        raise InputError(
            f"the population's prediction {label!r} is no class of the model; its classes are "
            f"{', '.join(map(repr, classes))}{nearest(label, classes)}"
            for label in unknown
        )
    return found


def _labels_of(frame: Any, prediction: Predictions, rows: int) -> Sequence[Label | None]:
    if isinstance(prediction, str):
        names = library_of(frame).names(frame)
        if prediction not in names:
            raise DataError(f"population: there is no column {prediction!r}{nearest(prediction, names)}")
        return _labels(frame, prediction)
    labels = plain_labels(prediction)
    if len(labels) != rows:
        raise InputError(f"there are {len(labels)} predictions for {rows} rows of the population")
    return labels


def _labels(frame: Any, name: str) -> list[Label | None]:
    values: list[Label | None] = _array(frame, name).to_pylist()
    return values


def _array(frame: Any, name: str) -> Any:
    problems: list[str] = []
    kind = library_of(frame)
    columns = dict(zip(kind.names(frame), kind.columns(frame), strict=True))
    found = arrays({name: columns[name]}, kind, problems)
    if problems:
        raise DataError(problems)
    return found[name]


def _coded(labels: Sequence[Label | None], codes: Codes) -> Int64[np.ndarray, " rows"]:
    """Return the index of each label; one that has none yet gets the next."""
    known = (None if is_missing(label) else label for label in labels)
    return np.array([codes.setdefault(label, len(codes)) for label in known], dtype=np.int64)


def _owners(frame: Any, name: str) -> Int64[np.ndarray, " samples"]:
    """Return a number for the owner of each counterfactual."""
    owners = encoded(_array(frame, name))
    gone = np.flatnonzero(owners.is_null().to_numpy(zero_copy_only=False))
    if len(gone):
        raise DataError(f"column {name!r}, row {gone[0]}: missing; say whose counterfactual each row is")
    return np.asarray(owners.indices.to_numpy(), dtype=np.int64)


def _cut(schema: Schema, cells: Cells) -> Layout:
    """Return the levels of a schema by these rows, which no model has judged."""
    learned = [f for f in schema.features if f.numeric and isinstance(f.binning, MinimalEntropy | Tree)]
    if learned:
        raise InputError(
            f"feature {feature.name!r}: its bins are learned from a model's answers, which a table does not hold; "
            "give its edges, or audit a found file"
            for feature in learned
        )
    loose = replace(schema, features=tuple(replace(feature, integer=False) for feature in schema.features))
    return discretise(loose, cells, np.zeros(len(cells), dtype=np.int64))


def refuse_other_types(own: Sequence[Label | None], new: Sequence[Label | None]) -> None:
    """Raise if the population speaks of the classes in texts and the counterfactuals in numbers, or the other way."""
    ours, theirs = ({isinstance(label, str) for label in labels if label is not None} for labels in (own, new))
    if ours and theirs and not ours & theirs:
        raise InputError(
            f"the counterfactuals' predictions are such as {own[0]!r} and the population's such as {new[0]!r}: a text "
            "and a number never match"
        )
