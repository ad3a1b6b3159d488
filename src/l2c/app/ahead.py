"""A model asked ahead: a few rows and their first proposals in one question, before it is known what the rows are.

A call of a model that cannot be seen into costs as much as hundreds of rows. So where rows are few, what would be
proposed under either outcome goes into the call that asks for the rows' own, and is then found among what is known;
where it is foreseen clearly what a row is, under the outcome that it then lacks. Nothing else changes: the same
proposals are judged in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int16, Int64

from l2c.core.blackbox import BlackBox
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.method import Proposer, Question, Source
from l2c.core.types import Cells, Levels, Probabilities
from l2c.engine.decode import decode_levels
from l2c.engine.foresight import Gains
from l2c.engine.propose import Draws
from l2c.release.remembering import Remembering

MOST = 4096
"""Rows that are asked ahead at the most: beyond that, a call more costs less than what would be asked in vain."""

SURE = 2.0
"""How clear, in log-odds, a row's class must be to ask ahead for the other outcome alone: should it be another, that is
a call more."""

SPREAD, SPARE = 6.0, 32
"""Proposals asked ahead beyond a first round, so many times its square root and some more: a second one needs few."""

SURELY = np.eye(2)
"""The answers of a model that is sure of the first of two classes, and of the second."""

Goals = Callable[[Probabilities], Goal]
"""From the model's answers for the rows as they are, once or several times over, to what they should reach."""


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
    layout: Layout,
    draws: Callable[[Question, Gains | None], Draws],
    foresee: Callable[[Question], Gains | None],
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
    draws, foresee, question, goals
        From a question and what is foreseen of the model for it to its proposals; from a question to that; from answers
        and goals to a question; and from answers to goals.
    rows, count
        How many rows there are, and about how many proposals of each to ask.
    others
        Whether a proposal gets a second chance with the other values of its levels.
    """
    everyone, model = np.arange(rows), Remembering(blackbox)
    none = _certain(np.zeros(rows, dtype=np.int64))
    first = question(none, goals(none))
    told = foresee(first)
    guessed = _guessed(layout, first, told)

    def proposed(asked: Question) -> tuple[Draws, Levels, list[Cells]]:
        times = len(asked) // rows
        source, each = draws(asked, _turned(told, first, asked, times)), np.arange(len(asked))
        levels = source.propose(each, np.zeros(len(asked), dtype=np.int64), count)
        return source, levels, decoded(source, each, levels, others=others)

    if guessed is None:
        # Each row stands there twice, should the model put it in the first class or in the second.
        either = _certain(np.repeat(np.arange(2), rows))
        asked = first.take(np.tile(everyone, 2)).answered(either, goals(either))
    else:
        asked = first if (guessed == none).all() else first.answered(guessed, goals(guessed))
    source, levels, values = proposed(asked)
    proba = model.proba(np.concatenate([first.cells, *values]))[:rows]
    found = first.answered(proba, goals(proba))
    # What is proposed hangs on what is desired, and on nothing else of the model's answer.
    wrong = found.desired != asked.desired[:rows]
    if guessed is None:
        meant = everyone + rows * wrong
        levels = levels[meant]
        source = replace(
            source, streams=source.streams.take(meant), local=source.local[meant], selection=source.selection[meant]
        )
    elif wrong.any():
        source, levels, values = proposed(found)
        model.proba(np.concatenate(values))
    return Ahead(model, proba, found, Drawn(replace(source, question=found), levels, model, others))


def _certain(classes: Int64[np.ndarray, " rows"]) -> Probabilities:
    """Return the answers of a model of two classes that is sure of these."""
    return SURELY[classes]


def _guessed(layout: Layout, question: Question, told: Gains | None) -> Probabilities | None:
    """Return what the model should answer for the rows as they are; None if that is not clear for all of them."""
    if told is None:
        return None
    gains, start = told
    own = gains[np.arange(len(question))[:, None], question.levels + layout.offsets]
    lead = start + own.sum(axis=1)
    if (np.abs(lead) < SURE).any():
        return None
    return _certain(np.where(lead > 0, question.desired, 1 - question.desired))


def _turned(told: Gains | None, first: Question, asked: Question, times: int) -> Gains | None:
    """Return what was foreseen for rows as it is for the same ones, some times over, that may want the other class."""
    if told is None:
        return None
    (gains, start), desired = told, first.desired
    if times > 1:
        gains, start, desired = np.tile(gains, (times, 1)), np.tile(start, times), np.tile(desired, times)
    sign = np.where(desired == asked.desired, 1.0, -1.0)
    return gains * sign[:, None], start * sign


def decoded(draws: Draws, rows: np.ndarray, levels: Levels, *, others: bool) -> list[Cells]:
    """Return the values of draws for some rows, and the other values that they may take."""
    layout, room = draws.method.layout, draws.question.room
    row, flat = np.repeat(rows, levels.shape[1]), levels.reshape(-1, levels.shape[2])
    return [decode_levels(layout, flat, values, row) for values in (room.values, room.others)[: 1 + others]]


def as_many_as(first_round: int, most: int) -> int:
    """Return about how many proposals of a row to ask ahead, if it begins with so many and draws no more than that."""
    return min(first_round + math.ceil(SPREAD * math.sqrt(first_round)) + SPARE, most)
