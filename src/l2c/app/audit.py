"""The audit at the door: explanations, any table of counterfactuals, or a file go in; a report comes out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from l2c.adapters import frames, records, settings
from l2c.app.audit_report import AuditReport, Removed
from l2c.app.audited_tables import (
    AuditedTable,
    Predictions,
    population_beside,
    population_of,
    refuse_other_types,
    training_rows,
)
from l2c.core.explanation import Released
from l2c.core.given_numbers import whole_number_problems
from l2c.core.identities import identities
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Mask
from l2c.core.wording import by_words
from l2c.errors import InputError
from l2c.evaluate.audit import Samples, audit
from l2c.evaluate.quality import validity
from l2c.release.cf_k import anonymised, in_classes_of, share_left

LISTED = 10
"""How many of the smallest classes a report lists."""


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
    _refuse(whole_number_problems(("at_risk", at_risk, 0)))
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
        layout, levels = by_words(released)
        samples = replace(samples, layout=layout, levels=levels, cells=None)
    others = population_of(population, population_prediction, layout, classes)
    return AuditReport(audit(samples, population=others, training=training_rows(training, layout), at_risk=at_risk))


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
    >>> from l2c import Feature
    >>> job = Feature(name="job", kind="binary", levels=("clerk", "nurse"), role="quasi")
    >>> rows = pd.DataFrame({"row": [0, 0, 1], "job": ["clerk", "clerk", "nurse"]})
    >>> report = audit_frame(rows, Schema((job,)))
    >>> report.figures.levels.release.by_samples.k
    1
    >>> report.violations("k=2, scope=release")
    ['k=2: the smallest class of the release has 1 sample']
    """
    _refuse(whole_number_problems(("at_risk", at_risk, 0)))
    read = AuditedTable.of(frame, described, row, prediction, training)
    samples, codes = read.samples, read.codes
    if samples.label is None and population_prediction is not None:
        raise InputError(
            "the population has predictions, but the counterfactuals have none: name their column with prediction=..."
        )
    own = tuple(codes)
    others = population_beside(population, population_prediction, samples.layout, codes)
    refuse_other_types(own, tuple(codes)[len(own) :])
    return AuditReport(audit(samples, population=others, training=read.training, at_risk=at_risk))


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
        How much of a set is left, mean over the sets; None where there are none.
    """

    frame: Any
    kept: Mask
    share: float | None


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
    >>> from l2c import Feature
    >>> job = Feature(name="job", kind="binary", levels=("clerk", "nurse"), role="quasi")
    >>> rows = pd.DataFrame({"row": [0, 0, 0, 1], "job": ["clerk", "clerk", "nurse", "nurse"]})
    >>> left = anonymise_frame(rows, Schema((job,)))
    >>> left.frame["job"].tolist(), left.share
    (['clerk', 'clerk'], 0.3333333333333333)
    """
    _refuse(whole_number_problems(("k", k, 1)))
    samples = AuditedTable.of(frame, described, row, prediction, training).samples
    own = samples.levels[:, samples.quasi]
    key = identities([*own.T] if samples.label is None else [*own.T, samples.label])
    people = np.zeros(len(key), dtype=np.int64) if samples.row is None else samples.row
    left = in_classes_of(k, people, key)
    share = share_left(people, people[left])
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
        The file, or the folder of a stream.
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
            # Nobody judged such a table, so that nothing is known of its validity.
            table, removed = left.frame, Removed(cf_k, len(left.kept), int(left.kept.sum()), left.share)
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
    if path.suffix != ".parquet" and not path.is_dir():
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
    share, valid = share_left(raw.row, released.row), (validity(raw), validity(released))
    return replace(report, removed=Removed(cf_k, len(raw.row), len(released.row), share, *valid))


def _refuse(problems: Iterable[str]) -> None:
    if told := list(problems):
        raise InputError(told)


def _file(path: str | Path | None, schema: Schema) -> Any:
    return None if path is None else frames.read_file(path, schema)
