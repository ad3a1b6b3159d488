"""Proposals in blocks that share their quasi-identifying part, so that a class holds several rows by design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.method import Proposer, Question, Source
from l2c.core.types import Levels

BLOCK_SHARE = 3
"""Draws in the first blocks, for each row that a class needs."""

DOUBLINGS = 24


@dataclass(frozen=True, slots=True)
class Schedule:
    """Where the blocks of a stream of draws begin: the farther along, the longer they are.

    A row to which a class of valid ones is hard to find goes on for long, and so comes to blocks that are long enough.

    Parameters
    ----------
    length
        The draws of a block at first.
    stretch
        The draws with blocks of that length; twice as many follow with blocks twice as long, and so on.
    """

    length: int
    stretch: int

    @classmethod
    def of(cls, members: int, pool: int) -> Schedule:
        """Return the schedule for classes of so many members and pools of that size.

        >>> Schedule.of(members=2, pool=10)
        Schedule(length=6, stretch=24)
        """
        length = BLOCK_SHARE * members
        return cls(length, -(-2 * pool // length) * length)

    def start(self, position: Int64[np.ndarray, "*any"]) -> Int64[np.ndarray, "*any"]:
        """Return where the block of each position begins.

        >>> Schedule(length=2, stretch=4).start(np.arange(14)).tolist()
        [0, 0, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12]
        """
        first = self.stretch * (2 ** np.arange(DOUBLINGS, dtype=np.int64) - 1)
        age = np.searchsorted(first, position, side="right") - 1
        length = self.length * 2**age
        return np.asarray(first[age] + (position - first[age]) // length * length)


@dataclass(frozen=True, slots=True, eq=False)
class InBlocks:
    """A proposer whose draws come in blocks: the quasi-identifiers of a block are those of its first draw.

    Blocks begin at fixed positions of a row's stream, so that neither the batch nor the order of rows changes them.

    Parameters
    ----------
    proposer
        Whose draws these are.
    question
        What each row may become.
    quasi
        The quasi-identifying features.
    schedule
        Where blocks begin.
    """

    proposer: Proposer
    question: Question
    quasi: Int64[np.ndarray, " quasi"]
    schedule: Schedule

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return the proposer's draws, with the quasi-identifying part of each block's first."""
        return self._shared(rows, lambda start, more: self.proposer.propose(rows, start, more), first, count)

    def sources(self, _: np.ndarray) -> Sequence[Source]:
        """Return none: the features of a class are drawn together."""
        return ()

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return the proposer's even law."""
        return self.proposer.even_law(rows)

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return such draws from a law that is given for each row."""
        return self._shared(rows, lambda start, more: self.proposer.propose_from(law, rows, start, more), first, count)

    def _shared(
        self, rows: np.ndarray, draw: Callable[[np.ndarray, int], Levels], first: np.ndarray, count: int
    ) -> Levels:
        begin = self.schedule.start(first)
        # Drawing begins with the block, whose first draw may lie before the first that is asked for.
        drawn = draw(begin, count + int((first - begin).max(initial=0)))
        line, at = np.arange(len(first))[:, None], first[:, None] + np.arange(count)[None, :]
        levels = drawn[line, at - begin[:, None]]
        levels[:, :, self.quasi] = drawn[line, self.schedule.start(at) - begin[:, None]][:, :, self.quasi]
        return fewer_changes(self.question, self.quasi, rows, at, levels)


def fewer_changes(
    question: Question, quasi: Int64[np.ndarray, " quasi"], rows: np.ndarray, at: np.ndarray, levels: Levels
) -> Levels:
    """Return draws that change no more than their row may: beyond that, what is not quasi-identifying stays as it is.

    Parameters
    ----------
    rows, at
        The row of each line of draws, and the position of each draw, which decides what stays.
    """
    counted = np.flatnonzero(question.room.changes[rows] < levels.shape[2])
    if not len(counted):
        return levels
    some, own = levels[counted], question.levels[rows[counted]][:, None, :]
    changed = some != own
    plain = changed.copy()
    plain[:, :, quasi] = False
    allowed = question.room.changes[rows[counted]][:, None] - (changed & ~plain).sum(axis=2)
    # Which of them stay takes turns with the position, so that none is left out for good.
    features = np.arange(some.shape[2])
    turn = np.argsort((features[None, None, :] + at[counted][:, :, None]) % len(features), axis=2)
    running = np.cumsum(np.take_along_axis(plain, turn, axis=2), axis=2)
    back = np.take_along_axis(plain, turn, axis=2) & (running > allowed[:, :, None])
    undone = np.zeros_like(plain)
    np.put_along_axis(undone, turn, back, axis=2)
    levels[counted] = np.where(undone, own, some)
    return levels
