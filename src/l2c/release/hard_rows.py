"""The rows of a search that prove hard: which they are, and the law that each of them follows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.layout import Layout
from l2c.core.method import Proposer, Question
from l2c.core.types import Levels, Mask
from l2c.release.refine import HARD_ROUND, TIGHT_AFTER, TIGHT_ROUND, is_hard, refined

Heard = tuple[Int64[np.ndarray, " n"], Levels, Float64[np.ndarray, " n"]]
"""Proposals, by the row and the levels of each, and how near they came."""


@dataclass(slots=True, eq=False)
class HardRows:
    """Which rows of a chunk are hard, and their laws.

    Parameters
    ----------
    proposer, start
        Who draws for the whole batch, and the place of the chunk's first row in it.
    tight
        Which rows may not change as many features as they have. These are told hard after few draws, so what was heard
        of them until then is kept, for their law to begin with.
    hard, laws
        Which rows are hard, and for these what they draw from; there are no laws as long as no row is.
    """

    layout: Layout
    proposer: Proposer
    start: int
    tight: Mask
    hard: Mask
    laws: Float64[np.ndarray, "rows width"]
    heard: list[Heard] = field(default_factory=list)

    @classmethod
    def none_yet(cls, layout: Layout, question: Question, proposer: Proposer, start: int) -> HardRows:
        """Return the rows of a question, none of which is hard so far."""
        tight = question.room.changes < question.levels.shape[1]
        return cls(layout, proposer, start, tight, np.zeros_like(tight), np.empty((0, layout.width)))

    def at_most(self, rows: np.ndarray, drawn: Int64[np.ndarray, " some"]) -> Int64[np.ndarray, " some"]:
        """Return how many more a hard row draws at once, given how many it has drawn."""
        # A tight row's law is refined often at first, then ever less: each round is a call of the model.
        return np.where(self.tight[rows], np.maximum(TIGHT_ROUND, drawn // 2), HARD_ROUND)

    def single_out(
        self, pending: np.ndarray, valid: Int64[np.ndarray, " rows"], drawn: Int64[np.ndarray, " rows"]
    ) -> None:
        """Give those of the pending rows that prove hard a law of their own to begin with."""
        heard, self.heard = self.heard, []
        pending = pending[drawn[pending] >= TIGHT_AFTER]  # no row is called hard before
        if not len(pending):
            return
        new = pending[is_hard(valid[pending], drawn[pending], self.tight[pending]) & ~self.hard[pending]]
        if not len(new):
            return
        if not len(self.laws):
            self.laws = np.zeros((len(self.hard), self.layout.width))
        self.laws[new] = self.proposer.even_law(self.start + new)
        self.hard[new] = True
        for row, levels, near in heard:
            self._refine(row, levels, near)

    def hear(self, row: Int64[np.ndarray, " n"], levels: Levels, near: Float64[np.ndarray, " n"]) -> None:
        """Move laws towards the best proposals of a round, and keep what was heard of tight rows."""
        self._refine(row, levels, near)
        early = np.flatnonzero(self.tight[row] & ~self.hard[row])
        if len(early):
            self.heard.append((row[early], levels[early], near[early]))

    def _refine(self, row: Int64[np.ndarray, " n"], levels: Levels, near: Float64[np.ndarray, " n"]) -> None:
        told = self.hard[row]
        if told.any():
            rows, place = np.unique(row[told], return_inverse=True)
            even = self.proposer.even_law(self.start + rows)
            self.laws[rows] = refined(self.layout, even, place, levels[told], near[told])

    def proposed(self, rows: np.ndarray, drawn: Int64[np.ndarray, " some"], count: int) -> Levels:
        """Return the next draws of some rows: from what was learned, or from a hard row's own law."""
        of_batch = self.start + rows
        if not self.hard[rows].any():
            return self.proposer.propose(of_batch, drawn, count)
        easy, hard = np.flatnonzero(~self.hard[rows]), np.flatnonzero(self.hard[rows])
        levels = np.empty((len(rows), count, len(self.layout.axes)), dtype=np.int16)
        if len(easy):
            levels[easy] = self.proposer.propose(of_batch[easy], drawn[easy], count)
        if len(hard):
            levels[hard] = self.proposer.propose_from(self.laws[rows[hard]], of_batch[hard], drawn[hard], count)
        return levels
