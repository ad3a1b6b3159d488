"""The audit at the door: explanations, any table of counterfactuals, or a file go in; a report comes out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Int64
from rich.console import Console
from rich.table import Table

from l2c.adapters import frames, records, settings
from l2c.adapters.frames.columns import arrays, encoded, is_missing
from l2c.adapters.frames.kinds import library_of
from l2c.app.audit_page import as_fragment, as_page, as_tables
from l2c.app.coarse_frames import as_told
from l2c.core.binning import MinimalEntropy, Tree
from l2c.core.blackbox import plain_labels
from l2c.core.explanation import Released
from l2c.core.feature import Feature
from l2c.core.identities import identities
from l2c.core.layout import Layout, places
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label, Mask
from l2c.engine.discretise import discretise
from l2c.errors import DataError, InputError, nearest
from l2c.evaluate.audit import Audit, Population, Samples, audit
from l2c.evaluate.quality import validity
from l2c.evaluate.requirement import Requirement, parse_requirement, violations
from l2c.release.cf_k import anonymised, in_classes_of

LISTED = 10
"""How many of the smallest classes a report lists."""

Predictions = str | Iterable[Label]
"""The name of a column that holds the model's answers, or the answers themselves."""

Codes = dict[Label | None, int]
"""The index of each class label; None stands for an answer that is missing."""

WIDTH = 110


@dataclass(frozen=True, slots=True)
class Removed:
    """What anonymising by removal (CF-K) cost: how many there were and are, and how much of a set is left."""

    k: int
    before: int
    left: int
    validity_before: float | None
    validity: float | None

    @property
    def sentence(self) -> str:
        """The same in words."""
        shares = (f"{100 * (share or 0.0):.2f} %" for share in (self.validity_before, self.validity))
        return (
            f"{self.k}-anonymised by removal: {self.left} of {self.before} counterfactuals are left; "
            f"validity {' to '.join(shares)}"
        )


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit to print, to keep as JSON or as a page, and to check against a policy.

    Parameters
    ----------
    figures
        Every figure, as data.
    removed
        What was removed before, if it is an audit of what is left.
    """

    figures: Audit
    removed: Removed | None = None

    def violations(self, required: str | Requirement) -> list[str]:
        """Return a sentence for everything that a policy such as `"k=5,l=2"` requires and that does not hold."""
        return violations(self.figures, parse_requirement(required) if isinstance(required, str) else required)

    def to_dict(self) -> dict[str, Any]:
        """Return every figure as plain data."""
        return self.figures.to_dict() | ({} if self.removed is None else {"cf_k": asdict(self.removed)})

    def tables(self) -> list[Table]:
        """Return the tables for a terminal; shares are in percent."""
        return [*as_tables(self.figures)]

    def page(self, required: str | None = None) -> str:
        """Return one page of HTML that needs nothing from outside, with the verdict on a policy if one is given."""
        return as_page(self.figures, required, [] if required is None else self.violations(required))

    def write(self, path: str | Path, required: str | None = None) -> None:
        """Write the report to a .json or .html file, whole or not at all."""
        path = Path(path)
        if path.suffix not in (".json", ".html"):
            raise InputError(f"file {str(path)!r}: the name of a report must end in .json or .html")
        text = self.page(required) if path.suffix == ".html" else json.dumps(self.to_dict(), indent=1) + "\n"
        with frames.replacing(path) as draft:
            draft.write_text(text, "utf-8")

    def __str__(self) -> str:
        console = Console(width=WIDTH)
        with console.capture() as text:
            console.print(*self.tables())
        return text.get()

    def _repr_html_(self) -> str:
        return as_fragment(self.figures)


def audit_released(
    released: Released,
    *,
    population: Any = None,
    population_prediction: Predictions | None = None,
    training: Any = None,
    at_risk: int = LISTED,
) -> AuditReport:
    """Return the audit of a release of L2C.

    Parameters
    ----------
    released
        The counterfactuals; all that was released counts, whatever the outcome of its row.
    population
        A frame that an attacker may hold, with at least the quasi-identifying columns. A row with a value that the
        schema does not know cannot match, and is counted.
    population_prediction
        The model's answers for the population: the name of a column of it, or as many labels as it has rows. With
        them, people are linked by the predicted class too; without them, by the other quasi-identifiers alone.
    training
        The frame that the model was trained on, to count rows of it that come back.
    at_risk
        How many of the smallest classes to list; 0 keeps their values out of the report.
    """
    layout, classes = released.layout, released.classes
    words = tuple(str(label) for label in classes)
    # Of an interval release an attacker sees no value.
    cells = released.cells if released.share_valid is None else None
    samples = Samples(layout, released.levels, cells, released.predicted, words, released.row)
    if released.coarse is not None:
        if population is not None or training is not None:
            raise InputError(
                "a generalised release is told in texts, which are not linked with other rows: audit it without "
                "population and training; its gate kept k_map when it was made"
            )
        layout, levels = as_told(released)
        samples = replace(samples, layout=layout, levels=levels, cells=None)
    others = population_of(population, population_prediction, layout, classes)
    return AuditReport(audit(samples, population=others, training=_training(training, layout), at_risk=at_risk))


def audit_frame(
    frame: Any,
    described: Schema | Layout,
    *,
    row: str | None = None,
    prediction: str | None = None,
    population: Any = None,
    population_prediction: Predictions | None = None,
    training: Any = None,
    at_risk: int = LISTED,
) -> AuditReport:
    """Return the audit of any table of counterfactuals, such as another tool's.

    Parameters
    ----------
    frame
        The counterfactuals, one a row, with the schema's columns; others are not looked at.
    described
        The schema, or a layout where the bins are known. From a schema, numbers are cut as it says, by the training
        rows if they are given and else by the table itself.
    row
        The column that says whose set a counterfactual is in; by default `row`. Without it there are no sets and no
        people to count.
    prediction
        The column with the model's answers; by default `prediction`. Without it, they are no quasi-identifier.
    population, population_prediction, training, at_risk
        As for `audit_released`.

    Examples
    --------
    >>> import pandas as pd
    >>> job = Feature(name="job", kind="binary", levels=("clerk", "nurse"), role="quasi")
    >>> rows = pd.DataFrame({"row": [0, 0, 1], "job": ["clerk", "clerk", "nurse"]})
    >>> report = audit_frame(rows, Schema((job,)))
    >>> report.figures.levels.release.by_samples.k
    1
    >>> report.violations("k=2, scope=release")
    ['k=2: the smallest class of the release has 1 sample']
    """
    read = _Table.of(frame, described, row, prediction, training)
    samples, codes = read.samples, read.codes
    if samples.label is None and population_prediction is not None:
        raise InputError(
            "the population has predictions, but the counterfactuals have none: name their column with prediction=..."
        )
    own = tuple(codes)
    others = _population(population, population_prediction, samples.layout, codes)
    _refuse_other_types(own, tuple(codes)[len(own) :])
    return AuditReport(audit(samples, population=others, training=read.training, at_risk=at_risk))


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A table of counterfactuals as it was read, with the indices of its predictions, and the training rows."""

    samples: Samples
    codes: Codes
    training: Cells | None

    @classmethod
    def of(
        cls, frame: Any, described: Schema | Layout, row: str | None, prediction: str | None, training: Any = None
    ) -> _Table:
        schema = described.schema if isinstance(described, Layout) else described
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


@dataclass(frozen=True, slots=True, eq=False)
class Anonymised:
    """What is left of a table of counterfactuals that was k-anonymised by removal.

    Parameters
    ----------
    frame
        The rows that are left, with all their columns.
    kept
        Which rows of the table these are.
    share
        How much of a set is left, mean over the sets.
    """

    frame: Any
    kept: Mask
    share: float


def anonymise_frame(
    frame: Any,
    described: Schema | Layout,
    k: int = 2,
    *,
    row: str | None = None,
    prediction: str | None = None,
    training: Any = None,
) -> Anonymised:
    """Return any table of counterfactuals, such as another tool's, k-anonymised by removal as in the paper (CF-K).

    Of every set, those are removed that share their quasi-identifiers and predicted class with fewer than k - 1 others.

    Parameters
    ----------
    frame, described, row, prediction, training
        As for `audit_frame`; without a column that says whose set each is in, the table is one set.
    k
        The least size of a class.

    Examples
    --------
    >>> import pandas as pd
    >>> job = Feature(name="job", kind="binary", levels=("clerk", "nurse"), role="quasi")
    >>> rows = pd.DataFrame({"row": [0, 0, 0, 1], "job": ["clerk", "clerk", "nurse", "nurse"]})
    >>> left = anonymise_frame(rows, Schema((job,)))
    >>> left.frame["job"].tolist(), left.share
    (['clerk', 'clerk'], 0.3333333333333333)
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k must be a whole number of at least 1, not {k!r}")
    samples = _Table.of(frame, described, row, prediction, training).samples
    own = samples.levels[:, samples.quasi]
    key = identities([*own.T] if samples.label is None else [*own.T, samples.label])
    people = np.zeros(len(key), dtype=np.int64) if samples.row is None else samples.row
    left = in_classes_of(k, people, key)
    _, owner, sizes = np.unique(people, return_inverse=True, return_counts=True)
    share = float((np.bincount(owner[left], minlength=len(sizes)) / sizes).mean())
    rest = nw.from_native(frame, eager_only=True).filter(left.tolist()).to_native()
    return Anonymised(rest, left, share)


def audit_file(
    path: str | Path,
    *,
    schema: str | Path | None = None,
    row: str | None = None,
    prediction: str | None = None,
    population: str | Path | None = None,
    population_prediction: str | None = None,
    training: str | Path | None = None,
    at_risk: int = LISTED,
    cf_k: int | None = None,
) -> AuditReport:
    """Return the audit of a found file, or with a schema of any CSV or Parquet file of counterfactuals.

    Parameters
    ----------
    path
        The file.
    schema
        A file that describes the columns of a table that is no found file.
    row, prediction
        The columns of such a table, as for `audit_frame`.
    population, training
        Files of rows.
    population_prediction
        The column of the population that holds the model's answers.
    at_risk
        How many of the smallest classes to list.
    cf_k
        Audit what is left once every set is so anonymised by removal, as in the paper (CF-K).
    """
    path = Path(path)
    if schema is not None:
        described = settings.read_schema(Path(schema))
        table, removed = frames.read_file(path, described), None
        if cf_k is not None:
            rows = _file(training, described)
            left = anonymise_frame(table, described, cf_k, row=row, prediction=prediction, training=rows)
            table, removed = left.frame, Removed(cf_k, len(left.kept), int(left.kept.sum()), 1.0, left.share)
        report = audit_frame(
            table,
            described,
            row=row,
            prediction=prediction,
            population=_file(population, described),
            population_prediction=population_prediction,
            training=_file(training, described),
            at_risk=at_risk,
        )
        return replace(report, removed=removed)
    if path.suffix != ".parquet":
        raise InputError(f"{str(path)!r} is no found file: give the schema of its columns")
    if row is not None or prediction is not None:
        raise InputError("row and prediction name columns of a table with a schema; a found file says both itself")
    raw = records.read(path).released
    released = raw if cf_k is None else anonymised(raw, cf_k)
    report = audit_released(
        released,
        population=_file(population, released.layout.schema),
        population_prediction=population_prediction,
        training=_file(training, released.layout.schema),
        at_risk=at_risk,
    )
    if cf_k is None:
        return report
    counts = len(raw.row), len(released.row)
    return replace(report, removed=Removed(cf_k, *counts, validity(raw), validity(released)))


def _file(path: str | Path | None, schema: Schema) -> Any:
    return None if path is None else frames.read_file(path, schema)


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


def _training(frame: Any, layout: Layout) -> Cells | None:
    return None if frame is None else _rows(frame, layout.schema, range(len(layout.axes)), "training")[0]


def _population(frame: Any, prediction: Predictions | None, layout: Layout, codes: Codes) -> Population | None:
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
    found = _population(frame, prediction, layout, codes)
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


def _refuse_other_types(own: Sequence[Label | None], new: Sequence[Label | None]) -> None:
    """Raise if the population speaks of the classes in texts and the counterfactuals in numbers, or the other way."""
    ours, theirs = ({isinstance(label, str) for label in labels if label is not None} for labels in (own, new))
    if ours and theirs and not ours & theirs:
        raise InputError(
            f"the counterfactuals' predictions are such as {own[0]!r} and the population's such as {new[0]!r}: a text "
            "and a number never match"
        )
