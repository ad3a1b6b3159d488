"""Training G and S by gradient descent through the model (section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.rules import Bond, bonds
from l2c.engine.constrain import feature_reluctance, level_reluctance, log_weights
from l2c.engine.encode import Encoder, inputs_of
from l2c.engine.networks import Dense, Network
from l2c.engine.objective import (
    Differentiable,
    breadth_loss,
    counter_loss,
    soft_values,
    sparsity_loss,
)
from l2c.engine.recipe import Recipe
from l2c.engine.relax import Segments, bin_concrete, bind_softly, cat_concrete, gumbel, mix

Progress = Callable[[int, int], None]
"""Called after each epoch with the epochs done and the most there can be."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Trained networks and how training went: the dev loss of each epoch, the first before any step."""

    generator: Network
    selector: Network
    dev_losses: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows as the tensors that an objective needs.

    `willing` is 1 − φ_i, by which costs scale the selection; what they do to levels is in `log_weight`.
    """

    inputs: Tensor
    own: Tensor
    open: Tensor
    log_weight: Tensor
    willing: Tensor
    values: Tensor
    desired: Tensor

    @classmethod
    def of(cls, question: Question, encoder: Encoder, recipe: Recipe) -> Batch:
        """Return the tensors of a question's rows."""
        layout, room = encoder.layout, question.room
        weights, willing = log_weights(room, epsilon=recipe.epsilon), np.ones(question.levels.shape)
        if room.prices is not None:
            weights = weights + np.log1p(-level_reluctance(layout, question))
            willing = 1 - feature_reluctance(layout, question)
        return cls(
            torch.from_numpy(inputs_of(encoder, question)),
            torch.from_numpy(layout.one_hot(question.levels)),
            torch.from_numpy(room.open),
            torch.from_numpy(weights.astype(np.float32)),
            torch.from_numpy(willing.astype(np.float32)),
            # Missing stands for 0 here and is told by its one-hot place.
            torch.from_numpy(np.nan_to_num(room.values).astype(np.float32)),
            torch.from_numpy(question.desired),
        )

    def __len__(self) -> int:
        return len(self.desired)

    def take(self, rows: Tensor) -> Batch:
        """Return some of the rows."""
        return Batch(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """The parameters of G and S while they are trained; S has none where it is not learned."""

    generator: list[Tensor]
    selector: list[Tensor]

    @classmethod
    def fresh(cls, inputs: int, layout: Layout, recipe: Recipe, source: torch.Generator) -> Networks:
        """Return new parameters: G with three hidden layers, S with one, each weight within ±1/√inputs."""
        hidden, learned = recipe.hidden, recipe.selector == "learned"
        generator = layers([inputs, hidden, hidden, hidden, layout.width], source)
        return cls(generator, layers([inputs, hidden, len(layout.axes)], source) if learned else [])

    def export(self) -> tuple[Network, Network]:
        """Return G and S as they are now."""
        return _frozen(self.generator), _frozen(self.selector)


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """What the networks say of a batch: log p, and π by its logit and as costs scale it."""

    log_p: Tensor
    logit: Tensor
    selection: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """What pulls a proposal's law whatever the model is: few changes, and breadth."""

    recipe: Recipe
    layout: Layout
    segments: Segments = field(init=False)
    mutable: Tensor = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", Segments.of(self.layout))
        object.__setattr__(self, "mutable", torch.from_numpy(self.layout.schema.mutable))

    def laws(self, networks: Networks, batch: Batch) -> Laws:
        """Return p and π of each row."""
        log_p = self.segments.log_softmax(forward(networks.generator, batch.inputs) + batch.log_weight)
        logit = self._selection_logit(networks.selector, batch)
        return Laws(log_p, logit, torch.sigmoid(logit) * batch.willing)

    def loss(self, laws: Laws, batch: Batch) -> Tensor:
        """Return α‖π‖₁ + β Σ_i KL(P_i ‖ U_i) of each row."""
        recipe, loss = self.recipe, torch.zeros(len(batch))
        if recipe.selector == "learned":
            loss = loss + recipe.alpha * sparsity_loss(laws.selection, self.mutable)
        if recipe.beta:
            even = torch.where(batch.open, batch.log_weight.exp(), 0.0)
            share = recipe.reference_selection * batch.willing
            loss = loss + recipe.beta * breadth_loss(
                laws.log_p.exp(), laws.selection, batch.own, even, share, self.segments
            )
        return loss

    def _selection_logit(self, selector: list[Tensor], batch: Batch) -> Tensor:
        if self.recipe.selector == "learned":
            return forward(selector, batch.inputs)
        share = 1.0 if self.recipe.selector == "absent" else self.recipe.selection
        logit = math.inf if share == 1.0 else math.log(share / (1 - share))
        return torch.full((len(batch), self.segments.features), logit)


class Losses(Protocol):
    """A way of learning: what is minimised on the fit rows, and by what a checkpoint is chosen."""

    def on_fit(self, networks: Networks, rows: Tensor, noise: torch.Generator) -> Tensor:
        """Return the mean loss of some of the fit rows, with gradients."""
        ...

    def on_dev(self, networks: Networks) -> Tensor:
        """Return the mean loss of the dev rows, with the same noise every time, so that rounds compare."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Relaxed:
    """The loss of relaxed proposals, through which gradients flow from the model (equation 3)."""

    pull: Pull
    model: Differentiable
    bonds: tuple[Bond, ...]
    fit: Batch
    dev: Batch
    seed: int

    def on_fit(self, networks: Networks, rows: Tensor, noise: torch.Generator) -> Tensor:
        return self._loss(networks, self.fit.take(rows), noise)

    def on_dev(self, networks: Networks) -> Tensor:
        return self._loss(networks, self.dev, torch.Generator().manual_seed(self.seed))

    def _loss(self, networks: Networks, batch: Batch, noise: torch.Generator) -> Tensor:
        segments, temperature = self.pull.segments, self.pull.recipe.temperature
        laws = self.pull.laws(networks, batch)
        level_noise = gumbel(tuple(laws.log_p.shape), noise)
        drawn = cat_concrete(laws.log_p, level_noise, temperature, segments)
        mixed = mix(batch.own, drawn, self._coins(laws, gumbel((2, *laws.logit.shape), noise)), segments)
        if self.bonds:
            mixed = bind_softly(
                self.bonds, self.pull.layout, mixed, batch.own, batch.open, laws.log_p, level_noise, temperature
            )
        logits = self.model.logits(soft_values(mixed, batch.values, segments), mixed)
        return (counter_loss(logits, batch.desired) + self.pull.loss(laws, batch)).mean()

    def _coins(self, laws: Laws, noise: Tensor) -> Tensor:
        """Return the relaxed coins; where costs scale π, the logit is that of the scaled probability."""
        if self.pull.recipe.selector == "absent":
            return laws.selection
        scaled = torch.logit(laws.selection, eps=1e-6) if self.pull.layout.priced else laws.logit
        return bin_concrete(scaled, noise, self.pull.recipe.temperature)


def learn(
    fit: Question, dev: Question, encoder: Encoder, recipe: Recipe, model: Differentiable, seed: int,
    progress: Progress | None = None,
) -> Learned:  # fmt: skip
    """Return networks trained on the fit rows, as they were when the dev rows' loss was least.

    Every draw comes from generators made from the seed; torch's global random state is not touched. One thread
    is used: these matrices are too small to share, and the order of sums then depends on nothing else.
    """
    schema = encoder.layout.schema
    batch, held_out = Batch.of(fit, encoder, recipe), Batch.of(dev, encoder, recipe)
    pull, tied = Pull(recipe, encoder.layout), bonds(schema.rules, schema.names)
    losses = _Relaxed(pull, model, tied, batch, held_out, seed)
    return descend(losses, pull, batch, _passes(recipe, len(batch)), seed, progress)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work in one thread for a while."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def descend(
    losses: Losses,
    pull: Pull,
    fit: Batch,
    rounds: int,
    seed: int,
    progress: Progress | None,
    *,
    each: int | None = None,
) -> Learned:
    """Return networks that Adam has trained, as they were after the round with the least dev loss.

    Parameters
    ----------
    pull, fit
        The recipe and the layout, and the fit rows.
    rounds
        The most rounds; the recipe's patience may end them earlier.
    each
        The most rows of one round, drawn anew for each; by default all of them.
    """
    with one_thread():
        recipe, source = pull.recipe, torch.Generator().manual_seed(seed)
        networks = Networks.fresh(fit.inputs.shape[1], pull.layout, recipe, source)

        def dev_loss() -> float:
            with torch.no_grad():
                return float(losses.on_dev(networks))

        dev_losses = [dev_loss()]
        best = networks.export()
        parameters = [parameter.requires_grad_() for parameter in (*networks.generator, *networks.selector)]
        # Over some thousand steps torch's own makes up for how long it takes to begin (`adam`).
        optimiser = torch.optim.Adam(parameters, lr=recipe.learning_rate, fused=True)
        for done in range(1, rounds + 1):
            for chosen in torch.split(torch.randperm(len(fit), generator=source)[:each], recipe.batch_size):
                optimiser.zero_grad()
                losses.on_fit(networks, chosen, source).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            dev_losses.append(dev_loss())
            if dev_losses[-1] == min(dev_losses):
                best = networks.export()
            if progress:
                progress(done, rounds)
            if recipe.patience is not None and done - int(np.argmin(dev_losses)) >= recipe.patience:
                break
        return Learned(*best, tuple(dev_losses))


def _passes(recipe: Recipe, rows: int) -> int:
    """Return the number of passes over the rows that the recipe's epochs and steps allow, one at least if any."""
    if recipe.steps is None:
        return recipe.epochs
    each = math.ceil(rows / recipe.batch_size)
    return min(recipe.epochs, math.ceil(recipe.steps / each))


def layers(widths: list[int], source: torch.Generator) -> list[Tensor]:
    """Return fresh weights and biases in turn, each within ±1/√inputs."""
    parameters = []
    for inputs, outputs in pairwise(widths):
        bound = 1 / math.sqrt(inputs)
        parameters.append(torch.empty(outputs, inputs).uniform_(-bound, bound, generator=source))
        parameters.append(torch.empty(outputs).uniform_(-bound, bound, generator=source))
    return parameters


def forward(parameters: list[Tensor], inputs: Tensor) -> Tensor:
    """Return the logits: `networks.forward` with gradients."""
    hidden = inputs
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        hidden = torch.relu(torch.nn.functional.linear(hidden, weight, bias))
    return torch.nn.functional.linear(hidden, parameters[-2], parameters[-1])


def _frozen(parameters: list[Tensor]) -> Network:
    arrays = [parameter.detach().numpy().copy() for parameter in parameters]
    return tuple(Dense(weight, bias) for weight, bias in zip(arrays[::2], arrays[1::2], strict=True))
