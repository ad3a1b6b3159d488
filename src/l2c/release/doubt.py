"""A second look at rows that got nothing by a twin's judgement: does the model see their proposals as its twin does?

What is released the model judges itself; of a row that gets nothing it would otherwise never hear.
"""

from __future__ import annotations

import numpy as np

from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.method import Proposer, Question
from l2c.core.twin import Twin
from l2c.release.jury import Jury

ROWS, PROPOSALS = 256, 16
"""The most rows that are looked at again, and how many of the first proposals for each."""


def is_borne_out(twin: Twin, blackbox: BlackBox, layout: Layout, question: Question, proposer: Proposer) -> bool:
    """Return whether the model decides as its twin does about proposals for the rows of a question, in one call.

    Both values of their levels are looked at.
    """
    rows, either = np.arange(len(question)), (False, True)
    levels = proposer.propose(rows, np.zeros_like(rows), PROPOSALS).reshape(-1, len(layout.axes))
    row = np.repeat(rows, PROPOSALS)
    jury = Jury(layout, question, blackbox, (), twin)
    told, _ = jury.ask(np.tile(row, 2), np.tile(levels, (2, 1)), np.repeat(either, len(row)))
    foreseen = [jury.judge(row, levels, None, other=other).reached for other in either]
    return np.array_equal(np.concatenate(foreseen), told)
