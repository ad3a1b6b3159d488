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
        weights = self._log_weights(question)
        logits = forward(self.generator, inputs) if self.generator else np.zeros_like(weights)
        local = local_distribution(self.layout, logits, weights)
        return mixed_law(self.layout, local, self._selection(inputs), question.levels)

    def wide_law(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, changing each feature with the reference's probability."""
        weights = self._log_weights(question)
        local = local_distribution(self.layout, np.zeros_like(weights), weights)
        selection = np.full(question.levels.shape, self.recipe.reference_selection)
        return mixed_law(self.layout, local, selection, question.levels)

    def proposer(self, question: Question, streams: Streams) -> HardDraws:
        """Return the source of candidates for a batch of rows."""
        narrow, wide = (integer_cdf(self.layout, law) for law in (self.law(question), self.wide_law(question)))
        return HardDraws(self.layout, streams, narrow, wide, self.recipe.widen_after)

    def _log_weights(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        return log_weights(self.layout, question.levels, decode=self.recipe.decode, epsilon=self.recipe.epsilon)

    def _selection(self, inputs: np.ndarray) -> Float64[np.ndarray, "rows features"]:
        if self.recipe.selector == "learned":
            logit = forward(self.selector, inputs).astype(np.float64)
            return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))  # sigmoid, without overflow
        share = 1.0 if self.recipe.selector == "absent" else self.recipe.selection
        return np.full((len(inputs), len(self.layout.axes)), share)


@dataclass(frozen=True, slots=True, eq=False)
class HardDraws:
    """Independent draws from each row's law, each found by its position in the row's stream.

    From position `widen_after` on, the wide law is drawn from.
    """

    layout: Layout
    streams: Streams
    narrow: UInt32[np.ndarray, "rows width"]
    wide: UInt32[np.ndarray, "rows width"]
    widen_after: int | None

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for each of some rows, from each row's position `first` on."""
        uniforms = self.streams.take(rows).draws(first, count, each=len(self.layout.axes))
        levels = draw_levels(self.layout, self.narrow[rows], uniforms)
        if self.widen_after is None or (first + count <= self.widen_after).all():
            return levels
        late = first[:, None] + np.arange(count) >= self.widen_after
        return np.where(late[:, :, None], draw_levels(self.layout, self.wide[rows], uniforms), levels)
