"""One protocol for every method: learn a problem, then propose unjudged candidates in batches.

Judging, selection, privacy and metrics come after `propose` and are the same for all, so that comparisons are
fair by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.streams import Streams
from l2c.core.types import Cells, Levels


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a method may learn from: the rows, split into fit and dev, and the model."""

    layout: Layout
    fit: Cells
    dev: Cells
    blackbox: BlackBox


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A batch of rows whose outcome should become the desired one."""

    cells: Cells
    levels: Levels
    current: Int64[np.ndarray, " rows"]
    desired: Int64[np.ndarray, " rows"]

    def take(self, rows: np.ndarray) -> Question:
        """Return the question for some of the rows."""
        return Question(self.cells[rows], self.levels[rows], self.current[rows], self.desired[rows])


class Proposer(Protocol):
    """A source of candidates for one batch of rows, whose draws have fixed positions."""

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for some of the rows, from each row's position `first` on.

        The answer is rows × draws × features; the same position always holds the same draw.
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


class FittedMethod(Protocol):
    """A method that has learned a problem."""

    def proposer(self, question: Question, streams: Streams) -> Proposer:
        """Return the source of candidates for a batch of rows."""
        ...


class Method(Protocol):
    """A method before it has seen data."""

    def fit(self, problem: Problem, seed: int) -> FittedMethod: ...

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this method cannot learn this problem, or None."""
        ...
