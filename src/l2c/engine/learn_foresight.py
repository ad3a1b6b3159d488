"""Learning to foresee a model: a network is shown proposals for the fit rows and whether they are valid.

It says for each row what every level adds to the odds of being valid; the sum over a proposal's levels is compared with
what the model said of it, by cross-entropy. At first proposals are even, later they follow what has been learned, so
that it is right where proposals will come to lie. No gradient of the model is needed, and no more than its decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.core.types import Levels, Mask
from l2c.engine.adam import Adam
from l2c.engine.ask import unlimited
from l2c.engine.encode import inputs_of
from l2c.engine.foresight import Foreseen
from l2c.engine.learn import Progress, forward, layers, one_thread
from l2c.engine.networks import Dense
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe

Judge = Callable[[Question, Int64[np.ndarray, " n"], Levels], Mask]
"""Tells which proposals are valid, each for a row of a question."""

STAGES = (None, 0.6, 0.7)
"""The share of valid proposals that each stage of training aims at; the first has nothing to aim with."""

MOST_ROWS, MOST_CELLS = 4000, 1 << 22
"""The most fit rows that are proposed for, and the most cells of their proposals in one stage."""

DRAWS, MOST_DRAWS, ENOUGH = 8, 16, 8000
"""Proposals for each row in a stage: more where rows are few, up to so many in all."""

EPOCH_ROWS = 2048
"""The most rows of an epoch, drawn anew for each: what counts is how many steps there are."""

QUIET = 0.1
"""By what the last layer's first weights are scaled, so that training begins with next to no opinion."""


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """What was learned, from how many rows and in how many epochs, and the dev loss along the last stage."""

    foresight: Foreseen
    rows: int
    epochs: int
    dev_losses: tuple[float, ...]


@dataclass(slots=True, eq=False)
class _Lessons:
    """Rows with their proposals so far, as tensors, and which were valid."""

    question: Question
    inputs: Float[Tensor, "rows inputs"]
    sign: Float[Tensor, " rows"]
    streams: Streams
    levels: Levels
    valid: Float[Tensor, "rows draws"]

    @classmethod
    def of(cls, question: Question, even: Counterer, seed: int) -> _Lessons:
        question = unlimited(question)
        two = question.goal.accepted.shape[1] <= 2
        sign = np.where(two & (question.desired == 0), -1.0, 1.0).astype(np.float32)
        features = question.levels.shape[1]
        return cls(
            question,
            torch.from_numpy(inputs_of(even.encoder, question)),
            torch.from_numpy(sign),
            Streams.for_rows(question.cells, seed),
            np.empty((len(question), 0, features), dtype=np.int16),
            torch.empty(len(question), 0),
        )

    def propose(self, method: Counterer, draws: int, judge: Judge) -> None:
        """Add so many proposals for each row, as a method makes them, and what the model says of them."""
        rows = np.arange(len(self.question))
        first = np.full(len(rows), self.levels.shape[1])
        levels = method.proposer(self.question, self.streams).propose(rows, first, draws)
        valid = judge(self.question, np.repeat(rows, draws), levels.reshape(-1, levels.shape[2]))
        self.levels = np.concatenate([self.levels, levels], axis=1)
        told = torch.from_numpy(valid.reshape(len(rows), draws).astype(np.float32))
        self.valid = torch.cat([self.valid, told], dim=1)

    def loss(self, parameters: list[Tensor], rows: Tensor, offsets: Tensor, latest: int | None = None) -> Tensor:
        """Return the mean cross-entropy of some rows' proposals, of all or of the latest ones."""
        last = slice(None) if latest is None else slice(-latest, None)
        places = torch.from_numpy(self.levels[rows.numpy(), last]).long() + offsets
        foreseen = forward(parameters, self.inputs[rows]) * self.sign[rows, None]
        gains = foreseen[:, :-1].gather(1, places.flatten(1)).reshape(places.shape)
        odds = gains.sum(dim=2) + foreseen[:, -1:]
        return torch.nn.functional.binary_cross_entropy_with_logits(odds, self.valid[rows][:, last])


def learn_foresight(
    fit: Question, dev: Question, even: Counterer, recipe: Recipe, judge: Judge, seed: int,
    progress: Progress | None = None, most: int | None = None,
) -> Taught:  # fmt: skip
    """Return a foresight learned from the fit rows, as it was when the dev rows' loss was least.

    Parameters
    ----------
    even
        The method that has learned nothing yet, and makes the first proposals.
    judge
        Says which proposals are valid.
    progress
        Called after each epoch with the epochs done and the most there can be.
    most
        The most proposals that may be judged in all; None for no limit.
    """
    rows, draws = _sizes(len(fit), fit.levels.shape[1], most)
    source, order = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    taught, held_out = (
        _Lessons.of(question.take(np.sort(order.permutation(len(question))[:count])), even, seed)
        for question, count in ((fit, rows), (dev, max(1, rows // 4)))
    )
    widths = [taught.inputs.shape[1], recipe.hidden, recipe.hidden, even.layout.width + 1]
    with one_thread():
        parameters = layers(widths, source)
        parameters[-2].mul_(QUIET)
        training = _Training(recipe, torch.from_numpy(even.layout.offsets), source, progress)
        method, epochs = even, 0
        losses: tuple[float, ...] = ()
        for stage, share in enumerate(STAGES):
            if share is not None:
                method = replace(even, recipe=replace(even.recipe, share=share), foresight=_frozen(even, parameters))
            for lessons in (taught, held_out):
                lessons.propose(method, draws, judge)
            parameters, losses = training.stage(stage, parameters, taught, held_out, draws)
            epochs += len(losses) - 1
    return Taught(_frozen(even, parameters), rows, epochs, losses)


@dataclass(frozen=True, slots=True, eq=False)
class _Training:
    """What all stages of training have in common."""

    recipe: Recipe
    offsets: Tensor
    source: torch.Generator
    progress: Progress | None

    def stage(
        self, stage: int, parameters: list[Tensor], taught: _Lessons, held_out: _Lessons, draws: int
    ) -> tuple[list[Tensor], tuple[float, ...]]:
        """Return the parameters with the least loss of the dev rows' latest proposals, and that loss along the way."""
        recipe, epochs = self.recipe, self.epochs(len(taught.sign))
        parameters = [part.clone().requires_grad_() for part in parameters]
        optimiser = Adam(parameters)
        every = torch.arange(len(held_out.sign))

        def dev_loss() -> float:
            with torch.no_grad():
                return float(held_out.loss(parameters, every, self.offsets, draws))

        losses, best = [dev_loss()], [part.detach().clone() for part in parameters]
        for done in range(1, epochs + 1):
            chosen = torch.randperm(len(taught.sign), generator=self.source)[:EPOCH_ROWS]
            for rows in torch.split(chosen, recipe.batch_size):
                optimiser.descend(taught.loss(parameters, rows, self.offsets), recipe.learning_rate)
            losses.append(dev_loss())
            if losses[-1] == min(losses):
                best = [part.detach().clone() for part in parameters]
            if self.progress:
                self.progress(stage * epochs + done, len(STAGES) * epochs)
            if recipe.patience is not None and done - int(np.argmin(losses)) >= recipe.patience:
                break
        return best, tuple(losses)

    def epochs(self, rows: int) -> int:
        """Return the most epochs of a stage, of which each has its part; one at least if any."""
        each = math.ceil(min(rows, EPOCH_ROWS) / self.recipe.batch_size)
        steps = self.recipe.epochs * each if self.recipe.steps is None else self.recipe.steps
        return math.ceil(min(self.recipe.epochs, steps / each) / len(STAGES))


def _sizes(rows: int, features: int, most: int | None) -> tuple[int, int]:
    """Return for how many rows there are proposals, and how many for each in a stage; dev rows get a quarter more."""
    draws = min(MOST_DRAWS, max(DRAWS, ENOUGH // rows))
    allowed = MOST_CELLS // (draws * features)
    if most is not None:
        allowed = min(allowed, int(most / (1.25 * len(STAGES) * draws)))
    return max(1, min(rows, MOST_ROWS, allowed)), draws


def _frozen(even: Counterer, parameters: list[Tensor]) -> Foreseen:
    arrays = [part.detach().numpy().copy() for part in parameters]
    network = tuple(Dense(weight, bias) for weight, bias in zip(arrays[::2], arrays[1::2], strict=True))
    return Foreseen(even.encoder, network)
