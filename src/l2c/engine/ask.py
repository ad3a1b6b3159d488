"""Asking a model what to learn: about each row once, and with its answers on one scale.

A forest seldom says more than 80 %, a boosting often 99 %, and some models name a class and no more. What counts in the
end is the decision alone; so answers are taken by how far they are from it, as logarithms of odds, on a scale that is
the same for all models.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import Streams, row_keys
from l2c.core.types import Cells, Levels, Probabilities
from l2c.engine.decode import decode_levels
from l2c.engine.propose import Counterer

LEAST = 1e-3
"""Probabilities below this count as this much: how impossible something is teaches nothing."""

DECIDED = 4.0
"""How far untaught proposals are from the decision, on the common scale and as a root mean square: odds of 55 to 1."""


@dataclass(slots=True, eq=False)
class Memory:
    """A model's answers, each row asked about once; `rows` and `calls` count what the model was asked."""

    blackbox: BlackBox
    rows: int = 0
    calls: int = 0
    known: dict[int, Float64[np.ndarray, " classes"]] = field(default_factory=dict)

    def proba(self, cells: Cells) -> Probabilities:
        """Return the model's probabilities, from memory where it was asked before."""
        keys = row_keys(cells, seed=0).tolist()
        places = {key: place for place, key in enumerate(keys) if key not in self.known}
        if places:
            answers = self.blackbox.proba(cells[list(places.values())])
            self.rows, self.calls = self.rows + len(places), self.calls + 1
            self.known.update(zip(places, answers, strict=True))
        return np.array([self.known[key] for key in keys]).reshape(len(cells), len(self.blackbox.classes))


@dataclass(frozen=True, slots=True)
class Scale:
    """How a model's answers count: log-odds against its decision, made so many times sharper."""

    threshold: float | None
    sharpness: float

    @classmethod
    def of(cls, proba: Probabilities, desired: Int64[np.ndarray, " rows"], threshold: float | None) -> Scale:
        """Return the scale on which these answers are as far from the decision as those of any other model.

        >>> mild, sure = np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> [Scale.of(proba, np.array([1, 1]), None).log_shares(proba)[0].round(2) for proba in (mild, sure)]
        [array([-0.02, -4.02]), array([-4.02, -0.02])]
        """
        odds = _log_odds(proba, threshold)
        own = np.take_along_axis(odds, desired[:, None], axis=1)[:, 0]
        np.put_along_axis(odds, desired[:, None], -np.inf, axis=1)
        distance = float(np.sqrt(np.mean((own - odds.max(axis=1)) ** 2))) if len(proba) else 0.0
        return cls(threshold, DECIDED / distance if distance else 1.0)

    def log_shares(self, proba: Probabilities) -> Probabilities:
        """Return the logarithm of what each class has of every answer, once it is made sharper."""
        odds = self.sharpness * _log_odds(proba, self.threshold)
        return _log_softmax(odds)

    def proba(self, log_shares: Probabilities) -> Probabilities:
        """Return the answers that such shares stand for: `log_shares` undone, but for what was clipped.

        >>> scale, proba = Scale(threshold=0.3, sharpness=5.0), np.array([[0.9, 0.1], [0.6, 0.4]])
        >>> scale.proba(scale.log_shares(proba)).round(6)
        array([[0.9, 0.1],
               [0.6, 0.4]])
        """
        return np.exp(_log_softmax(log_shares / self.sharpness + _log_tie(self.threshold)))


def _log_odds(proba: Probabilities, threshold: float | None) -> Float64[np.ndarray, "rows classes"]:
    """Return the logarithms of the classes' probabilities, shifted so that equal ones are on the threshold."""
    return np.log(np.clip(proba, LEAST, 1.0)) - _log_tie(threshold)


def _log_tie(threshold: float | None) -> Float64[np.ndarray, " classes"]:
    """Return the logarithms of probabilities between which the model is undecided, up to a number added to all."""
    return np.zeros(1) if threshold is None else np.log(np.clip([1 - threshold, threshold], LEAST, 1.0))


def _log_softmax(odds: Float64[np.ndarray, "rows classes"]) -> Float64[np.ndarray, "rows classes"]:
    odds = odds - odds.max(axis=1, keepdims=True)
    return odds - np.log(np.exp(odds).sum(axis=1, keepdims=True))


def untaught(even: Counterer, question: Question, count: int, seed: int) -> tuple[Cells, Int64[np.ndarray, " n"]]:
    """Return so many untaught proposals for each row, by value, and the class that each aims at.

    The first proposals of all rows come before the second ones.
    """
    question, rows = unlimited(question), np.arange(len(question))
    drawn = even.proposer(question, Streams.for_rows(question.cells, seed)).propose(rows, np.zeros_like(rows), count)
    cells = decoded(even.layout, question, drawn)
    return cells.swapaxes(0, 1).reshape(-1, cells.shape[2]), np.tile(question.desired, count)


def unlimited(question: Question) -> Question:
    """Return the question without a limit on how many features change: learning knows nothing of it."""
    return replace(question, room=replace(question.room, changes=np.full(len(question), question.levels.shape[1])))


def decoded(layout: Layout, question: Question, drawn: Levels) -> Cells:
    """Return the values of several draws for each row: rows × draws × features."""
    rows, draws, features = drawn.shape
    flat = decode_levels(layout, drawn.reshape(-1, features), question.room.values, np.repeat(np.arange(rows), draws))
    return flat.reshape(drawn.shape)
