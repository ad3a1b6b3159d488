"""A model asked ahead: a few rows and their first proposals in one question, before it is known what the rows are.

A call of a model that cannot be seen into costs as much as hundreds of rows. So where rows are few, what would be
proposed under either outcome goes into the call that asks for the rows' own, and is then found among what is known.
Nothing else changes: the same proposals are judged in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int16

from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.goal import Goal
from l2c.core.method import Proposer, Question, Source
from l2c.core.types import Cells, Label, Levels, Probabilities
from l2c.engine.decode import decode_levels
from l2c.engine.propose import Draws

MOST = 4096
"""Rows that are asked ahead at the most: beyond that, a call more costs less than what would be asked in vain."""

SHARE, SPARE = 1.5, 32
"""Proposals asked ahead for each one of a first round, and beyond: some rows need more than others."""

Goals = Callable[[Probabilities], Goal]
"""From the model's answers for the rows as they are to what they should reach."""


@dataclass(slots=True, eq=False)
class Remembering:
    """A black box that is not asked about a row again."""

    blackbox: BlackBox
    known: dict[bytes, int] = field(default_factory=dict)
    answers: Probabilities = field(init=False)

    def __post_init__(self) -> None:
        self.answers = np.empty((0, len(self.classes)))

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.blackbox.classes

    @property
    def threshold(self) -> float | None:
        """The probability above which the second of two classes is decided."""
        return threshold_of(self.blackbox)

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        before = len(self.known)
        places = np.array([self.known.setdefault(key, len(self.known)) for key in _keys(cells)], dtype=np.int64)
        if len(self.known) > before:
            _, first = np.unique(places, return_index=True)
            new = first[places[first] >= before]
            self.answers = np.concatenate([self.answers, self.blackbox.proba(cells[new])])
        return self.answers[places]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A proposer whose first draws are there already, and which asks about further ones in a single call.

    Parameters
    ----------
    draws
        What the rows turned out to need.
    levels
        Its first draws.
    model
        The model that remembers.
    others
        Whether a proposal gets a second chance with the other values of its levels.
    """

    draws: Draws
    levels: Int16[np.ndarray, "rows draws features"]
    model: Remembering
    others: bool

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for each of some rows, from each row's position `first` on."""
        if (first + count <= self.levels.shape[1]).all():
            return self.levels[rows[:, None], first[:, None] + np.arange(count)]
        return self._asked(rows, self.draws.propose(rows, first, count))

    def sources(self, rows: np.ndarray) -> Sequence[Source]:
        """Return where the draws of some rows come from."""
        return self.draws.sources(rows)

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, for some of the rows."""
        return self.draws.even_law(rows)

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return draws in which each feature follows the law given for its row."""
        return self._asked(rows, self.draws.propose_from(law, rows, first, count))

    def _asked(self, rows: np.ndarray, levels: Levels) -> Levels:
        """Return draws of which the model has been asked about all values that they may take."""
        if levels[..., 0].size * (1 + self.others) <= MOST:
            self.model.proba(np.concatenate(decoded(self.draws, rows, levels, others=self.others)))
        return levels


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
        How many rows there are, and about how many proposals of each to ask.
    others
        Whether a proposal gets a second chance with the other values of its levels.
    """
    either = [np.repeat(np.eye(2)[None, label], rows, axis=0) for label in range(2)]
    first = question(either[0], goals(either[0]))
    asked = [first, first.answered(either[1], goals(either[1]))]
    sources, everyone, nobody = [draws(one) for one in asked], np.arange(rows), np.zeros(rows, dtype=np.int64)
    drawn = [source.propose(everyone, nobody, count) for source in sources]
    cells = [
        values
        for source, levels in zip(sources, drawn, strict=True)
        for values in decoded(source, everyone, levels, others=others)
    ]
    model = Remembering(blackbox)
    proba = model.proba(np.concatenate([first.cells, *cells]))[:rows]
    found = first.answered(proba, goals(proba))
    # What is proposed hangs on what is desired, and on nothing else of the model's answer.
    meant = (found.desired != first.desired).astype(np.int64)
    local, selection, levels = (
        np.stack(parts)[meant, everyone]
        for parts in ([one.local for one in sources], [one.selection for one in sources], drawn)
    )
    source = replace(sources[0], question=found, local=local, selection=selection)
    return Ahead(model, proba, found, Drawn(source, levels, model, others))


def decoded(draws: Draws, rows: np.ndarray, levels: Levels, *, others: bool) -> list[Cells]:
    """Return the values of draws for some rows, and the other values that they may take."""
    layout, room = draws.method.layout, draws.question.room
    row, flat = np.repeat(rows, levels.shape[1]), levels.reshape(-1, levels.shape[2])
    return [decode_levels(layout, flat, values, row) for values in (room.values, room.others)[: 1 + others]]


def as_many_as(first_round: int, most: int) -> int:
    """Return about how many proposals of a row to ask ahead, if it begins with so many and draws no more than that."""
    return min(math.ceil(SHARE * first_round) + SPARE, most)


def _keys(cells: Cells) -> list[bytes]:
    """Return each row as its bytes; the same number written otherwise is another key, which costs a question."""
    data, width = np.ascontiguousarray(cells).tobytes(), cells.shape[1] * cells.itemsize
    return [data[start : start + width] for start in range(0, len(data), width)]
