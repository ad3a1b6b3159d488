"""A twin of a model that offers no gradient: a small network fitted to its answers, which stands in for it in fitting.

The model is asked about proposals that nothing has taught, and the twin learns its answers; G and S are then trained
through the twin as through any model, and it judges the trials in which dev rows choose the settings. Whatever the twin
believes, every counterfactual is judged by the model itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.types import Cells, Label, Levels, Probabilities
from l2c.engine.adam import Adam
from l2c.engine.ask import Memory, Scale, untaught
from l2c.engine.learn import Progress, forward, layers, one_thread
from l2c.engine.propose import Counterer

HIDDEN, STEP_ROWS, RATE = 64, 512, 3e-3
"""The width of the twin's two hidden layers, and Adam's rows a step and first rate, which falls to nothing."""

STEPS, PASSES = 1500, 100
"""The most steps, and with few answers the most passes over them."""

BLOCK = 1 << 13
"""Rows of one question to the model or its twin; after each to the model progress is told."""

HELD_OUT = 10
"""Every so manieth answer is kept to see how well the twin does."""


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """A network that answers nearly as a model does: a black box that gradients flow through.

    Parameters
    ----------
    scale
        On what scale its logits are the model's answers.
    numeric, mean, spread
        Which features are numbers, and how these are standardised.
    rows
        How many rows the model was asked about.
    agreement
        The share of proposals, not learned from, for which the twin decides as the model does.
    """

    layout: Layout
    classes: tuple[Label, ...]
    scale: Scale
    numeric: Int64[Tensor, " numbers"]
    mean: Float[Tensor, " numbers"]
    spread: Float[Tensor, " numbers"]
    parameters: list[Tensor]
    rows: int = 0
    agreement: float = 0.0

    def logits(
        self, values: Float[Tensor, "rows features"], one_hot: Float[Tensor, "rows width"]
    ) -> Float[Tensor, "rows classes"]:
        """Return class logits for soft rows: of a number, both its value and its level count."""
        return forward(self.parameters, self.inputs(values, one_hot))

    def inputs(self, values: Tensor, one_hot: Tensor) -> Tensor:
        """Return what the network sees."""
        return torch.cat([one_hot, (values[:, self.numeric] - self.mean) / self.spread], dim=1)

    @property
    def threshold(self) -> float | None:
        """Where the model decides, and so its twin."""
        return self.scale.threshold

    def proba(self, cells: Cells) -> Probabilities:
        """Return what the twin takes the model's answers to be."""
        with one_thread(), torch.no_grad():
            blocks = [cells[start : start + BLOCK] for start in range(0, max(len(cells), 1), BLOCK)]
            logits = torch.cat([self.logits(*_soft(self.layout, block, self.layout.levels(block))) for block in blocks])
        return self.scale.proba(logits.numpy().astype(np.float64))


def distil(
    fit: Question,
    even: Counterer,
    blackbox: BlackBox,
    model_rows: int,
    seed: int,
    progress: Progress | None = None,
) -> Twin:
    """Return a twin of the model, from its answers to at most `model_rows` proposals for the fit rows.

    Parameters
    ----------
    even
        The method that has learned nothing yet, and makes the proposals.
    progress
        Called with the rows that the model was asked about, and the most that it will be.
    """
    some = fit.take(np.random.default_rng(seed).permutation(len(fit))[:model_rows])
    drawn = untaught(even, some, math.ceil(model_rows / len(some)), seed)
    cells, desired = (part[:model_rows] for part in drawn)
    memory, told = Memory(blackbox), []
    for start in range(0, len(cells), BLOCK):
        told.append(memory.proba(cells[start : start + BLOCK]))
        if progress:
            progress(memory.rows, model_rows)
    proba = np.concatenate(told)
    scale = Scale.of(proba, desired, threshold_of(blackbox))
    source = torch.Generator().manual_seed(seed)
    blank = _blank(even.layout, blackbox.classes, scale, cells, source)
    with one_thread():
        return replace(_fitted(blank, cells, np.exp(scale.log_shares(proba)), source), rows=memory.rows)


def _fitted(blank: Twin, cells: Cells, wanted: Float64[np.ndarray, "rows classes"], source: torch.Generator) -> Twin:
    """Return the twin whose shares of the classes are nearest to those wanted, by cross-entropy."""
    levels, target = blank.layout.levels(cells), torch.from_numpy(wanted.astype(np.float32))

    def inputs(rows: Int64[Tensor, " some"]) -> Tensor:
        # One-hot rows are made as they are needed: with many features all at once would not fit in memory.
        at = rows.numpy()
        return blank.inputs(*_soft(blank.layout, cells[at], levels[at]))

    every = torch.arange(len(cells))
    kept, taught = every[::HELD_OUT], every[every % HELD_OUT > 0] if len(cells) > HELD_OUT else every
    optimiser = Adam([part.requires_grad_() for part in blank.parameters])
    steps = min(STEPS, math.ceil(PASSES * len(taught) / STEP_ROWS))
    for step in range(steps):
        rows = taught[torch.randint(len(taught), (STEP_ROWS,), generator=source)]
        loss = torch.nn.functional.cross_entropy(forward(blank.parameters, inputs(rows)), target[rows])
        optimiser.descend(loss, RATE * (1 - step / steps))
    parameters = [part.detach() for part in blank.parameters]
    agree = forward(parameters, inputs(kept)).argmax(dim=1) == target[kept].argmax(dim=1)
    return replace(blank, parameters=parameters, agreement=float(agree.float().mean()))


def _blank(layout: Layout, classes: tuple[Label, ...], scale: Scale, cells: Cells, source: torch.Generator) -> Twin:
    """Return a twin with fresh parameters; its numbers are standardised as these rows are."""
    numeric = np.flatnonzero([feature.numeric for feature in layout.schema.features])
    numbers = np.nan_to_num(cells[:, numeric])
    spread = numbers.std(axis=0)
    return Twin(
        layout,
        classes,
        scale,
        torch.from_numpy(numeric),
        torch.from_numpy(numbers.mean(axis=0).astype(np.float32)),
        torch.from_numpy(np.where(spread > 0, spread, 1.0).astype(np.float32)),
        layers([layout.width + len(numeric), HIDDEN, HIDDEN, len(classes)], source),
    )


def _soft(layout: Layout, cells: Cells, levels: Levels) -> tuple[Tensor, Tensor]:
    """Return hard rows in the form of soft ones: values with missing as 0, and levels one-hot."""
    values = torch.from_numpy(np.nan_to_num(cells).astype(np.float32))
    return values, torch.from_numpy(layout.one_hot(levels))
