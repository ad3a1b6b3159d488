"""From rows to candidates: the stages of the engine in order, in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, UInt32

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.core.types import Levels
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.encode import Encoder
from l2c.engine.networks import Network, forward
from l2c.engine.recipe import Recipe
from l2c.engine.sample import draw_levels, integer_cdf, mixed_law


@dataclass(frozen=True, slots=True, eq=False)
class Counterer:
    """A fitted L2C: trained networks that propose levels for any batch of rows.

    Without a generator the law is uniform over the allowed levels: that is what is left for a model that offers
    no gradient to learn from.
    """

    layout: Layout
    recipe: Recipe
    encoder: Encoder
    generator: Network
    selector: Network

    def law(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return P, the law of each feature of a proposal, for each row."""
        inputs = self.encoder(question.cells)
        weights = log_weights(self.layout, question.levels, decode=self.recipe.decode, epsilon=self.recipe.epsilon)
        logits = forward(self.generator, inputs) if self.generator else np.zeros_like(weights)
        local = local_distribution(self.layout, logits, weights)
        return mixed_law(self.layout, local, self._selection(inputs), question.levels)

    def proposer(self, question: Question, streams: Streams) -> HardDraws:
        """Return the source of candidates for a batch of rows."""
        return HardDraws(self.layout, integer_cdf(self.layout, self.law(question)), streams)

    def _selection(self, inputs: np.ndarray) -> Float64[np.ndarray, "rows features"]:
        if self.recipe.selector == "learned":
            logit = forward(self.selector, inputs).astype(np.float64)
            return np.asarray(1 / (1 + np.exp(-logit)))
        share = 1.0 if self.recipe.selector == "absent" else self.recipe.selection
        return np.full((len(inputs), len(self.layout.axes)), share)


@dataclass(frozen=True, slots=True, eq=False)
class HardDraws:
    """Independent draws from each row's law, each found by its position in the row's stream."""

    layout: Layout
    cdf: UInt32[np.ndarray, "rows width"]
    streams: Streams

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for each of some rows, from each row's position `first` on."""
        uniforms = self.streams.take(rows).draws(first, count, each=len(self.layout.axes))
        return draw_levels(self.layout, self.cdf[rows], uniforms)
