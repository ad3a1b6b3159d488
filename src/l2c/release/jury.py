"""Who judges proposals: the model and other versions of it, by values; or a twin in their stead, by levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.blackbox import BlackBox, decide
from l2c.core.goal import Goal, judged_by_all
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.twin import Twin
from l2c.core.types import Cells, Levels, Mask, Probabilities
from l2c.engine.decode import decode_either


class Verdict(NamedTuple):
    """Of each proposal: whether it reaches its row's goal, with what probability, how near it comes, and its class."""

    reached: Mask
    chance: Float64[np.ndarray, " n"]
    near: Float64[np.ndarray, " n"]
    label: Int64[np.ndarray, " n"]


@dataclass(slots=True, eq=False)
class Jury:
    """The judges of the proposals for some rows.

    Parameters
    ----------
    blackbox, also
        The model, and other versions of it under which a proposal must reach its goal too.
    twin
        Where there is one, it judges by level, and the model only what comes close to the decision.
    """

    layout: Layout
    question: Question
    blackbox: BlackBox
    also: tuple[BlackBox, ...]
    twin: Twin | None
    inputs: dict[bool, Any] = field(default_factory=dict)
    differ: Mask | None = None

    def judge(
        self, row: Int64[np.ndarray, " n"], levels: Levels, values: Cells | None, *, other: bool = False
    ) -> Verdict:
        """Return what the judges say of proposals, by their values, or where these are None by what levels stand for.

        With `other` that is the second choice of values.
        """
        goal = self.question.goal.take(row)
        if values is None:
            answers = [self._foreseen(goal, row, levels, other=other)]
        else:
            answers = [box.proba(values) for box in (self.blackbox, *self.also)]
        return Verdict(*judged_by_all(goal, answers), decide(answers[0], goal.threshold))

    def ask(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> tuple[Mask, Float64[np.ndarray, " n"]]:
        """Return whether the model itself finds proposals valid, some with second values, and how probable."""
        goal, proba = self.question.goal.take(row), self.blackbox.proba(self.values(row, levels, second))
        return goal.reached(proba), goal.chance(proba)

    def values(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Cells:
        """Return the values of proposals, the second choice of them for some."""
        room = self.question.room
        return decode_either(self.layout, levels, room.values, room.others, row, second)

    def has_others(self, row: Int64[np.ndarray, " n"], levels: Levels) -> Mask:
        """Return which proposals have a level that another value stands for too."""
        if self.differ is None:
            self.differ = self.question.room.two_valued()
        return np.asarray(self.differ[row[:, None], levels + self.layout.offsets].any(axis=1))

    def forget(self) -> None:
        """Let go of what a twin makes of the rows: it is more than what they found."""
        self.inputs = {}

    def _foreseen(self, goal: Goal, row: Int64[np.ndarray, " n"], levels: Levels, *, other: bool) -> Probabilities:
        """Return the twin's answers, and the model's own where the twin's are close to the decision."""
        twin, room = self.twin, self.question.room
        assert twin is not None
        if other not in self.inputs:
            self.inputs[other] = twin.inputs(room.others if other else room.values)
        proba = twin.proba(self.inputs[other], row, levels)
        close = np.flatnonzero(~goal.clear(proba, twin.close))
        if len(close):
            which = np.full(len(close), other)
            proba[close] = self.blackbox.proba(self.values(row[close], levels[close], which))
        return proba
