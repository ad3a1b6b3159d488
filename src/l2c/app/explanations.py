"""What `explain` returns: the counterfactuals as a frame, the outcomes, the scores, a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from l2c.adapters import frames, records
from l2c.adapters.frames import FrameShape, Given
from l2c.adapters.frames.worded import in_words
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.parts import WHOLE, Part
from l2c.app.audit import audit_released
from l2c.app.audit_report import AuditReport
from l2c.app.display import as_html, sheets
from l2c.app.judging import Shown
from l2c.core.blackbox import BlackBox, class_of
from l2c.core.explanation import Outcome, Released
from l2c.core.given_numbers import whole_number_problems
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.errors import InputError
from l2c.evaluate.plausibility import Reference
from l2c.evaluate.scorecard import Scorecard, scorecard
from l2c.release.cf_k import anonymised


@dataclass(frozen=True, slots=True, eq=False)
class Explanations:
    """Counterfactuals for a batch of rows, and how each row ended.

    Parameters
    ----------
    released
        The numbers: input rows, counterfactuals, outcomes.
    given
        The input's feature columns, as the caller gave them.
    index
        The input's own row labels, where it has any.
    mark
        By what the model is recognised again.
    notes
        The seed, the settings and the versions with which it was made.
    """

    released: Released
    given: Given
    index: Sequence[object] | None
    mark: ModelMark
    notes: Mapping[str, Any]
    _blackbox: BlackBox | None = None
    _shape: FrameShape | None = None
    _built: tuple[Released, Shown, int] | None = None

    @property
    def frame(self) -> Any:
        """The input's feature columns, as the caller gave them."""
        return self.given.frame

    @property
    def schema(self) -> Schema:
        return self.released.layout.schema

    @property
    def shape(self) -> FrameShape:
        """The shape of the input's frame."""
        return frames.shape_of(self.frame, self.schema) if self._shape is None else self._shape

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """One per input row: how it ended, and a sentence."""
        return self.released.outcomes

    def __len__(self) -> int:
        """Return the number of counterfactuals."""
        return len(self.released.row)

    def to_frame(self, *, intervals: bool = False) -> Any:
        """Return the counterfactuals as a long frame of the input's kind.

        Columns: `row` (the position of the input row), `rank` (from 1 on), `index` (the input's own label, where
        it has one), the features in the caller's units and dtypes, `prediction`, `probability` and `cost`. Of a model
        that predicts a number, `prediction` is that number, and there is no probability. In an interval release a
        number is its interval, as a text; the answer is the model's for what stands for it (`representatives`), and
        `share_valid` tells for what share of the box that the intervals span it holds. Where a gate may generalise,
        the quasi-identifiers are texts: a level, or several as one; what was found valid is the row of `features()`.

        Parameters
        ----------
        intervals
            Whether to tell numbers by their bins, as texts, also where they stayed. Of a discretised model the answer
            holds all over them; of any other, for the values that stand here without it. A limit that cuts through a
            bin, such as a permitted range, holds for the value.
        """
        plain = self.released.share_valid is None and self.released.coarse is None and not intervals
        if plain:
            return self.representatives()
        features = in_words(self.features(), self.released, intervals=intervals)
        return records.long_frame(features, self.released, self.index)

    def representatives(self) -> Any:
        """Return `to_frame` with values: in an interval release, the public one that stands for each interval.

        Each was judged by the model, and is valid. Where a gate generalised, these are not meant to leave.
        """
        kind = self.shape.library
        return frames.decorated(kind, self._columns(), *records.beside(kind, self.released, self.index))

    def features(self) -> Any:
        """Return the counterfactuals' features alone, ready for the model."""
        return self.shape.library.frame(self._columns())

    def _columns(self) -> Mapping[str, Any]:
        """Return the features' columns as they were built for the model to judge, if they are still the same."""
        if self._built is not None and self._built[0].cells is self.released.cells:
            _, shown, first = self._built
            return shown.columns_from(first)
        return Shown(self.given, self.shape, self.released).columns

    def scores(self, reference: Any = None, held_out: Any = None) -> Scorecard:
        """Return the metrics of the release.

        Parameters
        ----------
        reference
            Real rows, usually the training frame, to measure plausibility against; without it, it is left out.
        held_out
            Real rows that the reference does not hold; they say how far apart real people are. By default the
            input rows of this release.
        """
        if reference is None:
            return scorecard(self.released)
        fit = frames.strict(frames.read(reference, self.schema))
        if held_out is None:
            rest = self.released.factual[self.released.current >= 0]
        else:
            rest = frames.strict(frames.read(held_out, self.schema))
        return scorecard(self.released, Reference(fit, self._class_of(fit), rest, self._class_of(rest)))

    def audit(
        self, population: Any = None, *, population_prediction: Any = None, training: Any = None, at_risk: int = 10
    ) -> AuditReport:
        """Return what the release tells of people: classes that stand alone, and what an attacker's file adds.

        Parameters
        ----------
        population
            Rows that an attacker may hold, with the quasi-identifying columns at least.
        population_prediction
            The model's answers for them, or the column that holds them; without it they are matched without.
        training
            The training rows, to count counterfactuals that equal one by level.
        at_risk
            How many of the smallest classes to list.
        """
        return audit_released(
            self.released,
            population=population,
            population_prediction=population_prediction,
            training=training,
            at_risk=at_risk,
        )

    def anonymise(self, k: int = 2) -> Explanations:
        """Return what is left if every set is k-anonymised by removal, as in the paper (CF-K).

        What was removed counts as lost validity in the scores. A gate finds whole sets that are k-anonymous instead.
        """
        if problems := list(whole_number_problems(("k", k, 1))):
            raise InputError(problems)
        return replace(self, released=anonymised(self.released, k))

    def _class_of(self, cells: Cells) -> np.ndarray:
        if self._blackbox is None:
            raise InputError("plausibility asks the model about the reference rows: l2c.read(path, model=model)")
        return class_of(self._blackbox, cells)

    def write(self, path: str | Path) -> None:
        """Write everything to a Parquet file, whole or not at all; `l2c.read` reads it back."""
        if Path(path).suffix.lower() != ".parquet":
            raise InputError(
                f"file {str(path)!r}: explanations are kept in a .parquet file; for another, write found.to_frame()"
            )
        self.write_part(Path(path), WHOLE)

    def write_part(self, path: Path, part: Part) -> None:
        """Write everything as a part of a longer release."""
        records.write(path, self.released, self.features(), self.frame, self.index, self.mark, self.notes, part)

    def __repr__(self) -> str:
        counts = Counter(outcome.status for outcome in self.outcomes)
        statuses = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"<Explanations: {len(self)} counterfactuals for {len(self.outcomes)} rows ({statuses})>"

    def _repr_html_(self) -> str:
        return as_html(sheets(self.released, rows=3, ranks=5), repr(self))


def read(path: str | Path, *, model: object = None) -> Explanations:
    """Return the explanations in a file that `Explanations.write` wrote, or in the folder of a stream.

    Parameters
    ----------
    model
        The model that was explained, and no other; needed only to measure plausibility again.

    Raises
    ------
    StoredFileError
        If the file is damaged, foreign or of another version.
    OtherModelError
        If the model is not the one that was explained.
    """
    record = records.read(Path(path))
    known = None if model is None else record.mark.recognise(model, record.released.layout, str(path))
    return Explanations(record.released, Given(record.frame), record.index, record.mark, record.notes, known)
