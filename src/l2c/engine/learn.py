"""Training G and S by gradient descent through the model (section 3.3); the only stage that needs torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from l2c.core.method import Question
from l2c.engine.constrain import log_weights
from l2c.engine.encode import Encoder, own_values
from l2c.engine.networks import Dense, Network
from l2c.engine.objective import (
    Differentiable,
    breadth_loss,
    counter_loss,
    soft_values,
    sparsity_loss,
)
from l2c.engine.recipe import Recipe
from l2c.engine.relax import Segments, bin_concrete, cat_concrete, gumbel, mix

Progress = Callable[[int, int], None]
"""Called after each epoch with the epochs done and the most there can be."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Trained networks and how training went: the dev loss of each epoch, the first before any step."""

    generator: Network
    selector: Network
    dev_losses: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Rows as the tensors that the objective needs."""

    inputs: Tensor
    own: Tensor
    log_weight: Tensor
    values: Tensor
    desired: Tensor

    @classmethod
    def of(cls, question: Question, encoder: Encoder, recipe: Recipe) -> _Batch:
        layout = encoder.layout
        representatives = layout.representatives(recipe.decode)
        weights = log_weights(layout, question.levels, decode=recipe.decode, epsilon=recipe.epsilon)
        values = own_values(layout, question.cells, question.levels, representatives)
        return cls(
            torch.from_numpy(encoder(question.cells)),
            torch.from_numpy(layout.one_hot(question.levels)),
            torch.from_numpy(weights.astype(np.float32)),
            torch.from_numpy(values.astype(np.float32)),
            torch.from_numpy(question.desired),
        )

    def __len__(self) -> int:
        return len(self.desired)

    def take(self, rows: Tensor) -> _Batch:
        return _Batch(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, slots=True, eq=False)
class _Objective:
    """The loss of a batch under given networks and noise."""

    recipe: Recipe
    segments: Segments
    mutable: Tensor
    model: Differentiable

    def __call__(
        self, generator: list[Tensor], selector: list[Tensor], batch: _Batch, noise: torch.Generator
    ) -> Tensor:
        recipe, segments = self.recipe, self.segments
        log_p = segments.log_softmax(_forward(generator, batch.inputs) + batch.log_weight)
        drawn = cat_concrete(log_p, gumbel(tuple(log_p.shape), noise), recipe.temperature, segments)
        logit = self._selection_logit(selector, batch)
        selection = torch.sigmoid(logit)
        coin = gumbel((2, *logit.shape), noise)
        selected = selection if recipe.selector == "absent" else bin_concrete(logit, coin, recipe.temperature)
        mixed = mix(batch.own, drawn, selected, segments)
        logits = self.model.logits(soft_values(mixed, batch.values, segments), mixed)
        loss = counter_loss(logits, batch.desired)
        if recipe.selector == "learned":
            loss = loss + recipe.alpha * sparsity_loss(selection, self.mutable)
        if recipe.beta:
            loss = loss + recipe.beta * breadth_loss(
                log_p.exp(), selection, batch.own, batch.log_weight == 0, recipe.reference_selection, segments
            )
        return loss.mean()

    def _selection_logit(self, selector: list[Tensor], batch: _Batch) -> Tensor:
        if self.recipe.selector == "learned":
            return _forward(selector, batch.inputs)
        share = 1.0 if self.recipe.selector == "absent" else self.recipe.selection
        logit = math.inf if share == 1.0 else math.log(share / (1 - share))
        return torch.full((len(batch), self.segments.features), logit)


def learn(
    fit: Question, dev: Question, encoder: Encoder, recipe: Recipe, model: Differentiable, seed: int,
    progress: Progress | None = None,
) -> Learned:  # fmt: skip
    """Return networks trained on the fit rows, as they were when the dev rows' loss was least.

    Every draw comes from generators made from the seed; torch's global random state is not touched. One thread
    is used: these matrices are too small to share, and the order of sums then depends on nothing else.
    """
    with _one_thread():
        return _learn(fit, dev, encoder, recipe, model, seed, progress)


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _learn(
    fit: Question,
    dev: Question,
    encoder: Encoder,
    recipe: Recipe,
    model: Differentiable,
    seed: int,
    progress: Progress | None,
) -> Learned:
    layout = encoder.layout
    source = torch.Generator().manual_seed(seed)
    generator, selector = _initialise(encoder, recipe, source)
    objective = _Objective(recipe, Segments.of(layout), torch.from_numpy(layout.schema.mutable), model)
    batch, held_out = _Batch.of(fit, encoder, recipe), _Batch.of(dev, encoder, recipe)

    def dev_loss() -> float:
        # The same noise every time: epochs are compared on the same draws.
        with torch.no_grad():
            return float(objective(generator, selector, held_out, torch.Generator().manual_seed(seed)))

    losses = [dev_loss()]
    best = _export(generator, selector)
    parameters = [parameter.requires_grad_() for parameter in (*generator, *selector)]
    optimiser = torch.optim.Adam(parameters, lr=recipe.learning_rate, fused=True)
    epochs = _passes(recipe, len(batch))
    for epoch in range(epochs):
        order = torch.randperm(len(batch), generator=source)
        for rows in torch.split(order, recipe.batch_size):
            optimiser.zero_grad()
            objective(generator, selector, batch.take(rows), source).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        losses.append(dev_loss())
        if losses[-1] == min(losses):
            best = _export(generator, selector)
        if progress:
            progress(epoch + 1, epochs)
        if recipe.patience is not None and len(losses) - 1 - int(np.argmin(losses)) >= recipe.patience:
            break
    return Learned(*best, tuple(losses))


def _passes(recipe: Recipe, rows: int) -> int:
    """Return the number of passes over the rows that the recipe's epochs and steps allow, one at least if any."""
    if recipe.steps is None:
        return recipe.epochs
    each = math.ceil(rows / recipe.batch_size)
    return min(recipe.epochs, math.ceil(recipe.steps / each))


def _initialise(encoder: Encoder, recipe: Recipe, source: torch.Generator) -> tuple[list[Tensor], list[Tensor]]:
    """Return fresh parameters: G with three hidden layers, S with one, each weight within ±1/√inputs."""
    hidden, inputs = recipe.hidden, encoder.width
    generator = _layers([inputs, hidden, hidden, hidden, encoder.layout.width], source)
    learned = recipe.selector == "learned"
    selector = _layers([inputs, hidden, len(encoder.layout.axes)], source) if learned else []
    return generator, selector


def _layers(widths: list[int], source: torch.Generator) -> list[Tensor]:
    parameters = []
    for inputs, outputs in pairwise(widths):
        bound = 1 / math.sqrt(inputs)
        parameters.append(torch.empty(outputs, inputs).uniform_(-bound, bound, generator=source))
        parameters.append(torch.empty(outputs).uniform_(-bound, bound, generator=source))
    return parameters


def _forward(parameters: list[Tensor], inputs: Tensor) -> Tensor:
    """Return the logits: `networks.forward` with gradients."""
    hidden = inputs
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        hidden = torch.relu(torch.nn.functional.linear(hidden, weight, bias))
    return torch.nn.functional.linear(hidden, parameters[-2], parameters[-1])


def _export(generator: list[Tensor], selector: list[Tensor]) -> tuple[Network, Network]:
    return _frozen(generator), _frozen(selector)


def _frozen(parameters: list[Tensor]) -> Network:
    arrays = [parameter.detach().numpy().copy() for parameter in parameters]
    return tuple(Dense(weight, bias) for weight, bias in zip(arrays[::2], arrays[1::2], strict=True))
