"""From rows to candidates: the stages of the engine in order, in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.core.types import Levels
from l2c.engine.conditional import draw_given_kept
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.dial import Dial, law_exponent
from l2c.engine.encode import Encoder
from l2c.engine.networks import Network, forward
from l2c.engine.recipe import Recipe
from l2c.engine.reference import ReferenceLaw
from l2c.engine.sample import BITS, draw_levels, integer_cdf, mixed_law


@dataclass(frozen=True, slots=True, eq=False)
class Counterer:
    """A fitted L2C: trained networks and a reference law that propose levels for any batch of rows.

    Without a generator the features' own weights are even over the allowed levels: that is what is left for a model
    that offers no gradient to learn from.

    Parameters
    ----------
    laws
        The reference law of each of the model's classes.
    balance
        λ, the weight of distance in a balanced set: (sparsity / diversity)² as seen on the dev rows.
    dial
        What turning the dial does to selection.
    """

    layout: Layout
    recipe: Recipe
    encoder: Encoder
    generator: Network
    selector: Network
    laws: tuple[ReferenceLaw, ...]
    balance: float
    dial: Dial

    def local(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return p, what the generator wants each feature to be, under the unary constraints."""
        weights = self._log_weights(question)
        logits = forward(self.generator, self.encoder(question.cells)) if self.generator else np.zeros_like(weights)
        return local_distribution(self.layout, logits, weights)

    def selection(self, question: Question) -> Float64[np.ndarray, "rows features"]:
        """Return π, how likely each feature is to be changed."""
        if self.recipe.selector == "learned":
            logit = forward(self.selector, self.encoder(question.cells)).astype(np.float64)
            return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))  # sigmoid, without overflow
        share = 1.0 if self.recipe.selector == "absent" else self.recipe.selection
        return np.full(question.levels.shape, share)

    def law(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return P, the law of each feature of a proposal at dial 0, for each row."""
        return mixed_law(self.layout, self.local(question), self.selection(question), question.levels)

    def even_law(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, changing each feature with the reference's probability."""
        weights = self._log_weights(question)
        local = local_distribution(self.layout, np.zeros_like(weights), weights)
        selection = np.full(question.levels.shape, self.recipe.reference_selection)
        return mixed_law(self.layout, local, selection, question.levels)

    def proposer(self, question: Question, streams: Streams, place: float = 0.0) -> Draws:
        """Return the source of candidates for a batch of rows, at a place of the dial."""
        return Draws(self, question, streams, self.local(question), self.selection(question), law_exponent(place))

    def unlikely(self, levels: Levels, desired: Int64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Return how unlikely each row is among the people of the class it should belong to."""
        total = np.zeros(len(levels))
        for index, law in enumerate(self.laws):
            members = desired == index
            total[members] = law.unlikeliness(levels[members])
        return total

    def _log_weights(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        return log_weights(self.layout, question.levels, decode=self.recipe.decode, epsilon=self.recipe.epsilon)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Hard draws for a batch of rows, each found by its position in the row's stream.

    With exponent 0 every feature follows its own law; above, the changed features fit the kept ones under the
    reference law of the desired class.
    """

    method: Counterer
    question: Question
    streams: Streams
    local: Float64[np.ndarray, "rows width"]
    selection: Float64[np.ndarray, "rows features"]
    exponent: float

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return `count` draws for each of some rows, from each row's position `first` on."""
        if self.exponent:
            return self._likely(rows, first, count)
        layout = self.method.layout
        law = mixed_law(layout, self.local[rows], self.selection[rows], self.question.levels[rows])
        return self.propose_from(law, rows, first, count)

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, for some of the rows."""
        return self.method.even_law(self.question.take(rows))

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return draws in which each feature follows the law given for its row."""
        layout = self.method.layout
        uniforms = self.streams.take(rows).draws(first, count, each=len(layout.axes))
        return draw_levels(layout, integer_cdf(layout, law), uniforms)

    def _likely(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        layout, features = self.method.layout, len(self.method.layout.axes)
        uniforms = self.streams.take(rows).draws(first, count, each=2 * features)
        coins = uniforms[:, :, features:] >> np.uint32(32 - BITS)
        # What can only stay as it is need not be drawn.
        free = np.add.reduceat(self.local[rows] > 0, layout.offsets, axis=1) > 1
        selected = (coins < np.rint(self.selection[rows] * 2.0**BITS)[:, None, :]) & free[:, None, :]
        levels = np.empty((len(rows), count, features), dtype=np.int16)
        for index, law in enumerate(self.method.laws):
            members = np.flatnonzero(self.question.desired[rows] == index)
            line = np.repeat(rows[members], count)
            levels[members] = draw_given_kept(
                layout,
                law,
                self.exponent,
                self.local,
                self.question.levels,
                line,
                selected[members].reshape(-1, features),
                uniforms[members, :, :features].reshape(-1, features),
            ).reshape(-1, count, features)
        return levels
