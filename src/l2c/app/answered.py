"""Rows with a model's answers, which it is asked for once, and the question what would change them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64

from l2c.core.blackbox import Around, BlackBox, decide, threshold_of
from l2c.core.goal import Goal
from l2c.core.layout import Decode, Layout
from l2c.core.method import Question
from l2c.core.types import Cells, Probabilities


@dataclass(slots=True, eq=False)
class Counted(Around):
    """A black box that counts the rows it is asked about."""

    blackbox: BlackBox
    rows: int = 0

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        self.rows += len(cells)
        return self.blackbox.proba(cells)


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Rows with the model's answers, which it is asked for once, and where it decides."""

    cells: Cells
    proba: Probabilities
    threshold: float | None

    @classmethod
    def by(cls, blackbox: BlackBox, cells: Cells) -> Answered:
        """Return the rows as the model answers them."""
        return cls(cells, answers(blackbox, cells), threshold_of(blackbox))

    @property
    def classes(self) -> Int64[np.ndarray, " rows"]:
        """The class that each row has."""
        return decide(self.proba, self.threshold)

    def take(self, rows: np.ndarray) -> Answered:
        """Return some of the rows."""
        return Answered(self.cells[rows], self.proba[rows], self.threshold)


def other_class(layout: Layout, told: Answered, decode: Decode) -> Question:
    """Return the question of rows that should get another class than they have."""
    return Question.of(layout, told.cells, told.proba, other_than(told.proba, told.threshold), decode=decode)


def answers(blackbox: BlackBox, cells: Cells) -> Probabilities:
    """Return the model's answers; for no rows it is not asked."""
    return blackbox.proba(cells) if len(cells) else np.empty((0, len(blackbox.classes)))


def other_than(proba: Probabilities, threshold: float | None = None) -> Goal:
    """Return the goal of any class but the one that each row has."""
    own = Goal.of_classes(decide(proba, threshold), proba.shape[1])
    return replace(own, accepted=~own.accepted, threshold=threshold)
