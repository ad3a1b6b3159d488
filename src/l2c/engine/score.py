"""Training G and S with a model's answers alone: the score-function estimator (REINFORCE, Williams 1992).

Hard proposals are drawn from the networks' law, the model is asked, and what it puts nearer to the desired class than
the row's other draws becomes likelier. The law is a product over the features, so its score is a sum of logarithms. For
a rule between features an effect is drawn from its law given its causes, and counts with that law's probability.

It needs nothing but answers and is unbiased, but a question teaches little: see `distil` for what does with less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.rules import Bond, bonds
from l2c.core.streams import Streams
from l2c.core.types import Levels
from l2c.engine.ask import Memory, Scale, decoded, unlimited, untaught
from l2c.engine.learn import Batch, Learned, Networks, Progress, Pull, descend
from l2c.engine.objective import mix_law
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe

DRAWS = 8
"""Proposals of a row in one step: each is compared with the others."""

STEP_ROWS = 64
"""The most rows of a step: with so few questions, more and smaller steps teach more."""

DEV_ROWS, FIT_SHARE = 128, 5
"""Dev rows that choose the checkpoint, and how many fit rows are learned from for each of them."""


def learn_by_score(
    fit: Question,
    dev: Question,
    even: Counterer,
    recipe: Recipe,
    blackbox: BlackBox,
    seed: int,
    progress: Progress | None = None,
) -> Learned:
    """Return networks trained on a model's answers to at most `recipe.model_rows` rows.

    Parameters
    ----------
    even
        The method that has learned nothing yet: its proposals tell on what scale the model answers.
    progress
        Called after each round with the rows that the model was asked about, and the most that it will be.
    """
    memory, layout, order = Memory(blackbox), even.layout, np.random.default_rng(seed)
    # So few that a round is affordable: besides it the scale and the dev rows before any step are asked about.
    some = max(1, min(DEV_ROWS, recipe.model_rows // ((FIT_SHARE + 3) * DRAWS)))
    dev = dev.take(np.sort(order.permutation(len(dev))[:some]))
    each = min(len(fit), FIT_SHARE * some)
    scale = _scale_of(even, fit.take(order.permutation(len(fit))[:some]), memory, seed)
    left = recipe.model_rows - memory.rows - DRAWS * len(dev)
    rounds = min(recipe.epochs, max(left, 0) // (DRAWS * (each + len(dev))))
    recipe = replace(recipe, batch_size=min(recipe.batch_size, STEP_ROWS))
    tell = None if progress is None else lambda *_: progress(memory.rows, recipe.model_rows)
    pull, tied = Pull(recipe, layout), bonds(layout.schema.rules, layout.schema.names)
    taught, held_out = (_Part.of(question, even, recipe, seed) for question in (fit, dev))
    losses = _Scored(pull, replace(even, recipe=recipe), tied, memory, scale, taught, held_out)
    return descend(losses, pull, taught.batch, rounds, seed, tell, each=each)


def _scale_of(even: Counterer, some: Question, memory: Memory, seed: int) -> Scale:
    """Return on what scale the model answers proposals that nothing has taught."""
    cells, desired = untaught(even, some, DRAWS, seed)
    return Scale.of(memory.proba(cells), desired, threshold_of(memory.blackbox))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The rows of a split, and how far along its stream each has been drawn."""

    question: Question
    batch: Batch
    streams: Streams
    drawn: Int64[np.ndarray, " rows"]

    @classmethod
    def of(cls, question: Question, even: Counterer, recipe: Recipe, seed: int) -> _Part:
        question = unlimited(question)
        streams, drawn = Streams.for_rows(question.cells, seed), np.zeros(len(question), dtype=np.int64)
        return cls(question, Batch.of(question, even.encoder, recipe), streams, drawn)

    def take(self, rows: Tensor) -> _Part:
        """Return some of the rows."""
        at = rows.numpy()
        return _Part(self.question.take(at), self.batch.take(rows), self.streams.take(at), self.drawn[at])


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """The loss of hard proposals, as the model answers them; its gradient is the score-function estimator."""

    pull: Pull
    even: Counterer
    bonds: tuple[Bond, ...]
    memory: Memory
    scale: Scale
    fit: _Part
    dev: _Part

    def on_fit(self, networks: Networks, rows: Tensor, noise: torch.Generator) -> Tensor:  # noqa: ARG002
        # The rows' own streams are the noise.
        part = self.fit.take(rows)
        self.fit.drawn[rows.numpy()] += DRAWS
        return self._loss(networks, part)

    def on_dev(self, networks: Networks) -> Tensor:
        return self._loss(networks, self.dev)

    def _loss(self, networks: Networks, part: _Part) -> Tensor:
        laws = self.pull.laws(networks, part.batch)
        drawn = self._draws(networks, part)
        reward = self._rewards(part.question, drawn)
        law = mix_law(part.batch.own, laws.log_p.exp(), self.pull.segments.spread(laws.selection))
        score = log_probability(self.even.layout, self.bonds, law, part.question.levels, drawn)
        surrogate = -(ahead_of_others(reward) * score).mean(dim=1)
        # The value is the loss itself, and the gradient is the surrogate's.
        counter = surrogate - surrogate.detach() - reward.mean(dim=1)
        return (counter + self.pull.loss(laws, part.batch)).mean()

    def _draws(self, networks: Networks, part: _Part) -> Levels:
        generator, selector = networks.export()
        now = replace(self.even, generator=generator, selector=selector)
        rows = np.arange(len(part.question))
        return now.proposer(part.question, part.streams).propose(rows, part.drawn, DRAWS)

    def _rewards(self, question: Question, drawn: Levels) -> Float[Tensor, "rows draws"]:
        """Return the logarithm of what the desired class has of the model's answer to each draw."""
        cells = decoded(self.even.layout, question, drawn)
        shares = self.scale.log_shares(self.memory.proba(cells.reshape(-1, cells.shape[2])))
        desired = np.repeat(question.desired, drawn.shape[1])
        rewards = np.take_along_axis(shares, desired[:, None], axis=1).reshape(drawn.shape[:2])
        return torch.from_numpy(rewards.astype(np.float32))


def ahead_of_others(reward: Float[Tensor, "rows draws"]) -> Float[Tensor, "rows draws"]:
    """Return how much better each draw is than its row's other draws are on average: a leave-one-out baseline.

    >>> ahead_of_others(torch.tensor([[1.0, 2.0, 6.0]]))
    tensor([[-3.0000, -1.5000,  4.5000]])
    """
    draws = reward.shape[1]
    return (reward - reward.mean(dim=1, keepdim=True)) * (draws / (draws - 1))


def log_probability(
    layout: Layout, bonds: tuple[Bond, ...], law: Float[Tensor, "rows width"], own: Levels, drawn: Levels
) -> Float[Tensor, "rows draws"]:
    """Return the logarithm of the probability of each draw: Σ_i log P_i, an effect's given its causes.

    Given its causes, an effect follows its law restricted to what they allow. Where that has no mass, it was drawn
    evenly, whatever the networks say, and does not count.

    Parameters
    ----------
    law
        P, the law of each feature by itself.
    own, drawn
        The rows and their draws, by level: rows × features and rows × draws × features.
    """
    places = torch.from_numpy(drawn.astype(np.int64) + layout.offsets)
    rows, draws, _ = places.shape
    mass = law.unsqueeze(1).expand(rows, draws, -1).gather(2, places)
    parts = list(mass.unbind(dim=2))
    for bond in bonds:
        left = _left_by_causes(layout, bond, law, own, drawn)
        parts[bond.effect] = torch.where(left > 0, parts[bond.effect] / left.clamp(min=1e-12), 1.0)
    return torch.stack(parts, dim=2).clamp(min=1e-12).log().sum(dim=2)


def _left_by_causes(
    layout: Layout, bond: Bond, law: Float[Tensor, "rows width"], own: Levels, drawn: Levels
) -> Float[Tensor, "rows draws"]:
    """Return the mass of an effect's law that its causes, as drawn, allow."""
    start, size = int(layout.offsets[bond.effect]), int(layout.sizes[bond.effect])
    below, same, above = (side[:, :, None] for side in bond.may_go(drawn > own[:, None, :]))
    level, was = np.arange(size)[None, None, :], own[:, bond.effect][:, None, None]
    fits = np.where(level < was, below, np.where(level == was, same, above))
    return (law[:, None, start : start + size] * torch.from_numpy(fits)).sum(dim=2)
