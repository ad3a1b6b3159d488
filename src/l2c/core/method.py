"""One protocol for every method: whatever it has learned, it proposes unjudged candidates in batches.

Judging, selection, privacy and metrics come after `propose` and are the same for all, so that comparisons are
fair by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float64, Int64, UInt32

from l2c.core.blackbox import decide
from l2c.core.goal import Goal
from l2c.core.layout import Decode, Layout
from l2c.core.limits import Limits
from l2c.core.room import Room, room_for
from l2c.core.types import Cells, Keys, Levels, Mask, Probabilities


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A batch of rows whose outcome should become another one.

    Parameters
    ----------
    cells, levels
        The rows, by value and by level.
    current, desired
        The class that each row has, and the one that proposals aim at.
    goal
        What counts as reached: the desired class, unless more was said.
    already
        Which rows are there.
    room
        What each row may become.
    """

    cells: Cells
    levels: Levels
    current: Int64[np.ndarray, " rows"]
    desired: Int64[np.ndarray, " rows"]
    goal: Goal
    already: Mask
    room: Room

    @classmethod
    def of(
        cls,
        layout: Layout,
        cells: Cells,
        proba: Probabilities,
        goal: Goal,
        *,
        decode: Decode = "auto",
        limits: Sequence[tuple[Limits, Mask]] = (),
    ) -> Question:
        """Return the question of rows that should reach a goal.

        Proposals aim at the accepted class that the model finds most likely for the row as it is.

        Parameters
        ----------
        proba
            The model's answers for the rows as they are.
        decode
            Which value stands for a bin.
        limits
            What the caller asks beyond the schema, each with the rows that it is for.
        """
        levels = layout.levels(cells)
        room = room_for(layout, cells, levels, decode, limits)
        return cls(cells, levels, *_aims(proba, goal), room)

    def answered(self, proba: Probabilities, goal: Goal) -> Question:
        """Return the question of the same rows, should the model answer so for them as they are."""
        return Question(self.cells, self.levels, *_aims(proba, goal), self.room)

    def __len__(self) -> int:
        return len(self.cells)

    def take(self, rows: np.ndarray) -> Question:
        """Return the question for some of the rows."""
        return Question(
            self.cells[rows],
            self.levels[rows],
            self.current[rows],
            self.desired[rows],
            self.goal.take(rows),
            self.already[rows],
            self.room.take(rows),
        )


def _aims(
    proba: Probabilities, goal: Goal
) -> tuple[Int64[np.ndarray, " rows"], Int64[np.ndarray, " rows"], Goal, Mask]:
    """Return the class that each row has, the one that proposals aim at, the goal, and which rows are there."""
    desired = np.where(goal.accepted, proba, -np.inf).argmax(axis=1)
    return decide(proba, goal.threshold), desired, goal, goal.reached(proba)


class Marginals(NamedTuple):
    """Draws in which every feature follows a law of its own, for some rows.

    A draw takes `words_each` words of the row's stream, with that key: half a word for each feature, of which the upper
    31 bits fall on a level by the feature's distribution function on 0 … 2**31.
    """

    keys: Keys
    words_each: int
    cdf: UInt32[np.ndarray, "rows width"]


class Dependences(NamedTuple):
    """Draws in which the changed features fit the kept ones along a tree of dependences, for some rows.

    A draw takes `words_each` words of the row's stream, with that key: half a word for each feature's level, and then
    half a word for each feature's coin, of which the upper 31 bits count.

    Parameters
    ----------
    coins
        Below which integer a feature is selected, of 0 … 2**31.
    weights, own
        Each level's own weight, and the levels to keep.
    order, parent
        The tree: parents before their children; the root has none, which is −1.
    tables, starts
        The tables of all features one after the other, each by parent level and level, and where each begins.
    """

    keys: Keys
    words_each: int
    coins: UInt32[np.ndarray, "rows features"]
    weights: Float64[np.ndarray, "rows width"]
    own: Levels
    order: Int64[np.ndarray, " features"]
    parent: Int64[np.ndarray, " features"]
    tables: Float64[np.ndarray, " entries"]
    starts: Int64[np.ndarray, " features"]


Source = tuple[np.ndarray, Marginals | Dependences]
"""The places of some rows, and where their draws come from."""


class Proposer(Protocol):
    """A source of candidates for one batch of rows, whose draws have fixed positions."""

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for some of the rows, from each row's position `first` on.

        The answer is rows × draws × features; the same position always holds the same draw.
        """
        ...

    def sources(self, rows: np.ndarray) -> Sequence[Source]:
        """Return where the draws of some rows come from, if that can be told: each row is then in one of the sources.

        It is told for rows that may change as many features as they have.
        """
        ...

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return, for some of the rows, a law that has learned nothing: even over what the schema allows."""
        ...

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return draws as `propose` does, but each feature from a law that is given for each row."""
        ...
