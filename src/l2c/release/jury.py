"""Who judges proposals: the model and other versions of it, by values; or a twin in their stead, by levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.blackbox import BlackBox, decide
from l2c.core.compiled import Compiled, compiles
from l2c.core.goal import judged_by_all
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.twin import Twin
from l2c.core.types import Cells, Levels, Mask, Probabilities
from l2c.engine.decode import decode_either
from l2c.release.remembering import Remembering


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
        Where there is one, it judges by level, and the model only what is not clear (`Goal.clear`).
    remembering
        The model and its other versions with what they were asked ahead (`hear`); else none.
    inputs, differ
        What a twin makes of the rows' first and second values, and which levels have both, once these are needed.
    """

    layout: Layout
    question: Question
    blackbox: BlackBox
    also: tuple[BlackBox, ...]
    twin: Twin | None
    remembering: tuple[Remembering, ...] = ()
    inputs: dict[bool, Any] = field(default_factory=dict)
    differ: Mask | None = None

    def judge(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Verdict:
        """Return what the judges say of proposals, some with the second choice of values."""
        goal = self.question.goal
        if self.twin is not None:
            answers = [self._foreseen(row, levels, second)]
        else:
            judges: tuple[BlackBox, ...] = self.remembering or (self.blackbox, *self.also)
            values = self.values(row, levels, second)
            answers = [judge.proba(values) for judge in judges]
        return Verdict(*judged_by_all(goal, answers, row), decide(answers[0], goal.threshold))

    def hear(self, *values: Cells) -> None:
        """Ask about all values that some proposals may take, in one call, so that they are known when they are judged.

        What was heard before is forgotten; without values, that is all.
        """
        self.remembering = tuple(Remembering(box) for box in (self.blackbox, *self.also)) if values else ()
        for box in self.remembering:
            box.proba(np.concatenate(values))

    def ask(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> tuple[Mask, Float64[np.ndarray, " n"]]:
        """Return whether the model itself finds proposals valid, some with second values, and how probable."""
        reached, chance, _ = self.question.goal.judged(self.blackbox.proba(self.values(row, levels, second)), row)
        return reached, chance

    def values(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Cells:
        """Return the values of proposals, the second choice of them for some."""
        room = self.question.room
        return decode_either(self.layout, levels, room.values, room.others, row, second)

    def has_others(self, row: Int64[np.ndarray, " n"], levels: Levels) -> Mask:
        """Return which proposals have a level that another value stands for too."""
        if self.differ is None:
            self.differ = self.question.room.two_valued()
        if compiles():
            return _any_at(self.differ, row, levels, self.layout.offsets)
        return np.asarray(self.differ[row[:, None], levels + self.layout.offsets].any(axis=1))

    def forget(self) -> None:
        """Let go of what a twin makes of the rows, and of what was heard: it is more than what they found."""
        self.inputs, self.remembering = {}, ()

    def _foreseen(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Probabilities:
        """Return the twin's answers, and the model's own where the twin's are not clear."""
        assert self.twin is not None
        proba = self._by_twin(row, levels, second)
        close = np.flatnonzero(~self.question.goal.clear(proba, self.twin.close, row))
        if len(close):
            proba[close] = self.blackbox.proba(self.values(row[close], levels[close], second[close]))
        return proba

    def _by_twin(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Probabilities:
        """Return what the twin says of proposals."""
        assert self.twin is not None
        others = np.flatnonzero(second)
        if not 0 < len(others) < len(row):
            return self.twin.proba(self._inputs(other=len(others) > 0), row, levels)
        proba = self.twin.proba(self._inputs(other=False), row, levels)
        proba[others] = self.twin.proba(self._inputs(other=True), row.take(others), levels.take(others, axis=0))
        return proba

    def _inputs(self, *, other: bool) -> Any:
        """Return what the twin judges proposals of the rows from, with one choice of values."""
        assert self.twin is not None
        if other not in self.inputs:
            room = self.question.room
            self.inputs[other] = self.twin.inputs(room.others if other else room.values)
        return self.inputs[other]


@Compiled
def _any_at(
    marked: Bool[np.ndarray, "rows width"],
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
) -> Mask:
    """Return which proposals have a level that is marked."""
    some = np.zeros(len(row), np.bool_)
    for n in range(len(row)):
        for i in range(len(offsets)):
            some[n] |= marked[row[n], offsets[i] + levels[n, i]]
    return some
