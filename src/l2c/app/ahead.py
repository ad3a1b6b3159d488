"""A model asked ahead: a few rows and their first proposals in one question, before it is known what the rows are.

A call of a model that cannot be seen into costs as much as hundreds of rows. So where rows are few, what would be
proposed under either outcome goes into the call that asks for the rows' own, and is then found among what is known.
Nothing else changes: the same proposals are judged in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int16

from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.goal import Goal
from l2c.core.method import Proposer, Question
from l2c.core.types import Cells, Label, Levels, Probabilities
from l2c.engine.decode import decode_levels
from l2c.engine.propose import Draws

MOST = 4096
"""Rows that are asked ahead at the most: beyond that, a call more costs less than what would be asked in vain."""

Goals = Callable[[Probabilities], Goal]
"""From the model's answers for the rows as they are to what they should reach."""


@dataclass(frozen=True, slots=True, eq=False)
class Remembering:
    """A black box that was asked about some rows already, and is not asked about them again."""

    blackbox: BlackBox
    known: dict[bytes, int]
    answers: Probabilities

    @classmethod
    def asked(cls, blackbox: BlackBox, cells: Cells) -> Remembering:
        """Return a model that was asked about these rows, each once."""
        known: dict[bytes, int] = {}
        places = np.array([known.setdefault(key, len(known)) for key in _keys(cells)])
        _, first = np.unique(places, return_index=True)
        return cls(blackbox, known, blackbox.proba(cells[first]))

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.blackbox.classes

    @property
    def threshold(self) -> float | None:
        """The probability above which the second of two classes is decided."""
        return threshold_of(self.blackbox)

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        places = np.array([self.known.get(key, -1) for key in _keys(cells)], dtype=np.int64)
        answers, new = self.answers[places], np.flatnonzero(places < 0)
        if len(new):
            answers[new] = self.blackbox.proba(cells[new])
        return answers


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A proposer whose first draws are there already: those of the outcome that each row turned out to need."""

    draws: Draws
    levels: Int16[np.ndarray, "rows draws features"]

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for each of some rows, from each row's position `first` on."""
        if count <= self.levels.shape[1] and not first.any():
            return self.levels[rows, :count]
        return self.draws.propose(rows, first, count)

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, for some of the rows."""
        return self.draws.even_law(rows)

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return draws in which each feature follows the law given for its row."""
        return self.draws.propose_from(law, rows, first, count)


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """What was asked ahead.

    Parameters
    ----------
    blackbox
        The model, which remembers it.
    proba
        Its answers for the rows themselves.
    question, proposer
        What the rows turned out to need, and their proposals.
    """

    blackbox: BlackBox
    proba: Probabilities
    question: Question
    proposer: Proposer


def ask_ahead(
    blackbox: BlackBox,
    draws: Callable[[Question], Draws],
    question: Callable[[Probabilities, Goal], Question],
    goals: Goals,
    rows: int,
    count: int,
    *,
    others: bool,
) -> Ahead:
    """Return what a model of two classes says of some rows and, in the same breath, of their first proposals.

    Parameters
    ----------
    draws, question, goals
        From a question to its proposals, from answers and goals to a question, and from answers to goals.
    rows, count
        How many rows there are, and how many proposals each begins with.
    others
        Whether a proposal gets a second chance with the other values of its levels.
    """
    either = [np.repeat(np.eye(2)[None, label], rows, axis=0) for label in range(2)]
    first = question(either[0], goals(either[0]))
    asked = [first, first.answered(either[1], goals(either[1]))]
    source, everyone, nobody = draws(first), np.arange(rows), np.zeros(rows, dtype=np.int64)
    drawn = [replace(source, question=one).propose(everyone, nobody, count) for one in asked]
    layout, room, row = source.method.layout, first.room, np.repeat(everyone, count)
    cells = [first.cells]
    for levels in drawn:
        flat = levels.reshape(-1, levels.shape[2])
        cells += [decode_levels(layout, flat, values, row) for values in (room.values, room.others)[: 1 + others]]
    remembering = Remembering.asked(blackbox, np.concatenate(cells))
    proba = remembering.proba(first.cells)
    found = first.answered(proba, goals(proba))
    meant = (found.desired != asked[0].desired).astype(np.int64)
    return Ahead(remembering, proba, found, Drawn(replace(source, question=found), np.stack(drawn)[meant, everyone]))


def _keys(cells: Cells) -> list[bytes]:
    """Return each row as its bytes; the same number written otherwise is another key, which costs a question."""
    data, width = np.ascontiguousarray(cells).tobytes(), cells.shape[1] * cells.itemsize
    return [data[start : start + width] for start in range(0, len(data), width)]
