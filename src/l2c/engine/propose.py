"""From rows to candidates: the stages of the engine in order, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt32

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.method import Dependences, Marginals, Question, Source
from l2c.core.rules import Bond, bonds
from l2c.core.streams import Streams, words_of
from l2c.core.types import Levels
from l2c.engine.bind import Masses, bind, take_back
from l2c.engine.conditional import draw_given_kept, full_conditional
from l2c.engine.constrain import (
    even_distribution,
    feature_reluctance,
    level_reluctance,
    local_distribution,
    log_weights,
)
from l2c.engine.dial import Dial
from l2c.engine.drawing import drawn_levels
from l2c.engine.encode import Encoder, inputs_of
from l2c.engine.few import edges_left, few_coins, few_coins_along
from l2c.engine.foresight import Foresight, Gains
from l2c.engine.likely import TOSSED_HERE, likely_levels, raised
from l2c.engine.networks import Network, forward
from l2c.engine.recipe import Recipe
from l2c.engine.reference import ReferenceLaw
from l2c.engine.sample import BITS, draw_levels, drawn_from, integer_cdf, mixed_law
from l2c.engine.tilt import eased, tilted


@dataclass(frozen=True, slots=True, eq=False)
class Counterer:
    """A fitted L2C: trained networks and a reference law that propose levels for any batch of rows.

    Without a generator the features' own weights are even over the allowed levels: that is what is left where nothing
    was learned.

    Parameters
    ----------
    laws
        The reference law of each of the model's classes.
    balance
        λ, the weight of distance in a balanced set: (sparsity / diversity)² as seen on the dev rows.
    dial
        What turning the dial does to selection.
    foresight
        What is known of the model: with it the law is tilted until the recipe's share of proposals should be valid.
    """

    layout: Layout
    recipe: Recipe
    encoder: Encoder
    generator: Network
    selector: Network
    laws: tuple[ReferenceLaw, ...]
    balance: float
    dial: Dial
    foresight: Foresight | None = None

    def parts(
        self, question: Question, ease: float = 1.0, foreseen: Gains | None = None
    ) -> tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, "rows features"]]:
        """Return p, what each feature should be if it changes, and π, how likely it is to be changed.

        Parameters
        ----------
        ease
            The factor on the odds of being valid up to which a law is tilted.
        foreseen
            What `foresee` returns for the question, where that is known already.
        """
        local, selection = self._wanted(question), self._selected(question)
        if self.foresight is None or not self.recipe.share:
            return local, selection
        gains, start = self.foresight.gains(question) if foreseen is None else foreseen
        return tilted(
            self.layout, local, selection, question.levels, gains, start, noise=self.foresight.noise,
            share=eased(self.recipe.share, ease),
        )  # fmt: skip

    def foresee(self, question: Question) -> Gains | None:
        """Return what is foreseen of the model for each row; None where laws are not tilted by it."""
        return None if self.foresight is None or not self.recipe.share else self.foresight.gains(question)

    def local(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return p, under the constraints and costs of one feature."""
        return self.parts(question)[0]

    def selection(self, question: Question) -> Float64[np.ndarray, "rows features"]:
        """Return π."""
        return self.parts(question)[1]

    def _wanted(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return what the generator wants each feature to be."""
        logits = forward(self.generator, inputs_of(self.encoder, question)) if self.generator else None
        return self._local(question, logits)

    def _selected(self, question: Question) -> Float64[np.ndarray, "rows features"]:
        """Return how likely the selector changes each feature."""
        if self.recipe.selector == "learned":
            logit = forward(self.selector, inputs_of(self.encoder, question)).astype(np.float64)
            return self._selection(question, np.exp(-np.logaddexp(0.0, -logit)))  # sigmoid, without overflow
        share = 1.0 if self.recipe.selector == "absent" else self.recipe.selection
        return self._selection(question, np.full(question.levels.shape, share))

    def law(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return P, the law of each feature of a proposal at dial 0, for each row."""
        return mixed_law(self.layout, *self.parts(question), question.levels)

    def even_law(self, question: Question) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, changing each feature with the reference's probability."""
        selection = self._selection(question, np.full(question.levels.shape, self.recipe.reference_selection))
        return mixed_law(self.layout, self._local(question, None), selection, question.levels)

    def _local(self, question: Question, logits: np.ndarray | None) -> Float64[np.ndarray, "rows width"]:
        if logits is None and question.room.prices is None:
            return even_distribution(self.layout, question.room, question.levels, epsilon=self.recipe.epsilon)
        weights = log_weights(question.room, epsilon=self.recipe.epsilon)
        if question.room.prices is not None:
            weights = weights + np.log1p(-level_reluctance(self.layout, question))
        logits = np.zeros_like(weights) if logits is None else logits
        return local_distribution(self.layout, logits, weights, question.levels)

    def _selection(self, question: Question, share: np.ndarray) -> Float64[np.ndarray, "rows features"]:
        if question.room.prices is not None:
            share = share * (1 - feature_reluctance(self.layout, question))
        return np.where(question.room.must_change(self.layout, question.levels), 1.0, share)

    def proposer(
        self,
        question: Question,
        streams: Streams,
        place: float = 0.0,
        ease: float = 1.0,
        foreseen: Gains | None = None,
    ) -> Draws:
        """Return the source of candidates for a batch of rows, at a place of the dial.

        The place is the power to which the reference law's tables are raised; `parts` says what the others are.
        """
        return Draws(self, question, streams, *self.parts(question, ease, foreseen), place)

    def unlikely(self, levels: Levels, desired: Int64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Return how unlikely each row is among the people of the class it should belong to."""
        total = np.zeros(len(levels))
        for index, law in enumerate(self.laws):
            members = np.flatnonzero(desired == index)
            if len(members):
                total[members] = law.unlikeliness(levels, members)
        return total


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
        return self.propose_from(self._law(rows), rows, first, count)

    def sources(self, rows: np.ndarray) -> Sequence[Source]:
        """Return where the draws of some rows come from; none where rules bind features to one another."""
        layout, keys = self.method.layout, self.streams.keys
        if self._bonds:
            return ()
        if not self.exponent:
            cdf = drawn_from(layout, self.local, self.selection, self.question.levels, rows)
            return [(np.arange(len(rows)), Marginals(keys[rows], words_of(len(layout.axes)), cdf))]
        desired, each = self.question.desired[rows], 2 * len(layout.axes)
        by_class = [(np.flatnonzero(desired == index), law) for index, law in enumerate(self.method.laws)]
        members = [(some, rows[some], law) for some, law in by_class if len(some)]
        return [(some, self._dependences(law, mine, self._chance(mine), each)) for some, mine, law in members]

    def _law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        return mixed_law(self.method.layout, self.local[rows], self.selection[rows], self.question.levels[rows])

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return the uniform law over the allowed levels, for some of the rows."""
        return self.method.even_law(self.question.take(rows))

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return draws in which each feature follows the law given for its row, its effects bound to its causes."""
        counted = self._counted[rows]
        if not counted.any():
            return self._independent(law, rows, first, count, few=False)
        levels = np.empty((len(rows), count, len(self.method.layout.axes)), dtype=np.int16)
        for few, members in ((False, np.flatnonzero(~counted)), (True, np.flatnonzero(counted))):
            if len(members):
                levels[members] = self._independent(law[members], rows[members], first[members], count, few=few)
        return levels

    @property
    def _counted(self) -> Bool[np.ndarray, " rows"]:
        """Which rows may not change as many features as they have."""
        return self.question.room.changes < self.question.levels.shape[1]

    @property
    def _bonds(self) -> tuple[Bond, ...]:
        schema = self.method.layout.schema
        return bonds(schema.rules, schema.names)

    def _independent(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int, *, few: bool
    ) -> Levels:
        """Return draws of independent features; with `few`, of at most as many changes as each row may make."""
        layout, features, tied = self.method.layout, len(self.method.layout.axes), self._bonds
        each, streams, own = features * (1 + few) + len(tied), self.streams.take(rows), self.question.levels[rows]
        if few:
            places = own + layout.offsets
            chance = 1 - np.take_along_axis(law, places, axis=1)
            coins = self._few_coins(chance, rows, first, count, each)
            elsewhere = law.copy()
            # A feature that can only stay as it is keeps its law: its coin never falls.
            np.put_along_axis(elsewhere, places, np.where(chance > 0, 0.0, 1.0), axis=1)
        cdf = integer_cdf(layout, elsewhere if few else law)
        if compiles():
            levels = drawn_levels(streams.keys, first, count, words_of(each), cdf, layout.offsets, layout.sizes)
        else:
            levels = draw_levels(layout, cdf, streams.draws(first, count, each)[:, :, :features])
        if few:
            levels = np.where(coins, levels, own[:, None, :])
        if tied:
            lines, line = levels.reshape(-1, features), np.repeat(np.arange(len(rows)), count)
            last = streams.draws(first, count, each, start=features * (1 + few)).reshape(-1, len(tied))
            by_level = law.T
            self._follow(tied, lines, rows[line], last, lambda i, at: by_level[self._places(i)][:, line[at]])
            levels = lines.reshape(levels.shape)
        return levels

    def _follow(
        self, tied: tuple[Bond, ...], lines: Levels, row: np.ndarray, uniforms: np.ndarray, masses: Masses
    ) -> None:
        """Redraw, in place, the effects that their causes forbid; no row changes more than it may by that."""
        room, own, offsets = self.question.room, self.question.levels[row], self.method.layout.offsets

        def allowed(feature: int, at: np.ndarray) -> np.ndarray:
            return room.open[:, self._places(feature)][row[at]].T.astype(np.float64)

        bind(tied, lines, own, uniforms, masses, allowed)
        take_back(tied, lines, own, room.changes[row], lambda at: room.open[row[at][:, None], own[at] + offsets])

    def _places(self, feature: int) -> slice:
        start = int(self.method.layout.offsets[feature])
        return slice(start, start + int(self.method.layout.sizes[feature]))

    def _likely(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return draws whose changed features fit the kept ones under the reference law."""
        layout, tied = self.method.layout, self._bonds
        features = len(layout.axes)
        each, streams = 2 * features + len(tied), self.streams.take(rows)
        levels = np.empty((len(rows), count, features), dtype=np.int16)
        counted = self._counted[rows]
        for index, law in enumerate(self.method.laws):
            members = self.question.desired[rows] == index
            for few, some in ((False, np.flatnonzero(members & ~counted)), (True, np.flatnonzero(members & counted))):
                if not len(some):
                    continue
                mine, chance, tossed = streams.take(some), self._chance(rows[some]), TOSSED_HERE
                if few:
                    tossed = self._few_coins(chance, rows[some], first[some], count, each)
                if compiles():
                    along = self._dependences(law, rows[some], chance, each)
                    levels[some] = likely_levels(along, first[some], count, layout.offsets, layout.sizes, tossed)
                else:
                    uniforms = mine.draws(first[some], count, each)
                    levels[some] = self._likely_at_once(law, rows[some], chance, uniforms, tossed)
                if tied:
                    last = mine.draws(first[some], count, each, start=2 * features).reshape(-1, len(tied))
                    lines, line = levels[some].reshape(-1, features), np.repeat(rows[some], count)
                    self._bind_likely(law, tied, lines, line, last)
                    levels[some] = lines.reshape(-1, count, features)
        return levels

    def _chance(self, rows: np.ndarray) -> Float64[np.ndarray, "rows features"]:
        """Return how likely each feature is to be drawn; what can only stay as it is need not be."""
        layout = self.method.layout
        local, own, selection = self.local[rows], self.question.levels[rows], self.selection[rows]
        if compiles():
            return drawn_at_all(local, own, selection, layout.offsets, layout.sizes)
        return drawn_at_all_at_once(local, own, selection, layout.offsets)

    def _dependences(
        self, law: ReferenceLaw, rows: np.ndarray, chance: Float64[np.ndarray, "rows features"], each: int
    ) -> Dependences:
        """Return where draws along a reference law come from, of `each` integers, two of them for a feature."""
        coins = np.rint(chance * 2.0**BITS).astype(np.uint32)
        return Dependences(
            self.streams.keys[rows], words_of(each), coins, self.local[rows], self.question.levels[rows], law.order,
            law.parent, *raised(law, self.exponent),
        )  # fmt: skip

    def _likely_at_once(
        self,
        law: ReferenceLaw,
        rows: np.ndarray,
        chance: Float64[np.ndarray, "rows features"],
        uniforms: UInt32[np.ndarray, "rows draws integers"],
        tossed: Bool[np.ndarray, "rows draws features"],
    ) -> Levels:
        """Return what `likely_levels` returns, given the integers of the draws."""
        features = chance.shape[1]
        edges = np.rint(chance * 2.0**BITS)[:, None, :]
        coins = tossed if len(tossed) else (uniforms[:, :, features : 2 * features] >> np.uint32(32 - BITS)) < edges
        lines = draw_given_kept(
            self.method.layout,
            law,
            self.exponent,
            self.local,
            self.question.levels,
            np.repeat(rows, uniforms.shape[1]),
            coins.reshape(-1, features),
            uniforms[:, :, :features].reshape(-1, features),
        )
        return lines.reshape(-1, uniforms.shape[1], features)

    def _few_coins(
        self, chance: Float64[np.ndarray, "rows features"], rows: np.ndarray, first: np.ndarray, count: int, each: int
    ) -> Bool[np.ndarray, "rows draws features"]:
        """Return which features change in draws of `each` integers, at most as many as each of the rows may change."""
        streams, most, features = self.streams.take(rows), self.question.room.changes[rows], chance.shape[1]
        if compiles():
            return few_coins_along(streams.keys, first, count, words_of(each), edges_left(chance, most), most)
        return few_coins(chance, most, streams.draws(first, count, each)[:, :, features : 2 * features])

    def _bind_likely(
        self, law: ReferenceLaw, tied: tuple[Bond, ...], lines: Levels, line: np.ndarray, uniforms: np.ndarray
    ) -> None:
        """Redraw the effects that their causes forbid, given all other features of their line."""

        def masses(feature: int, at: np.ndarray) -> np.ndarray:
            weights = self.local[:, self._places(feature)][line[at]].T
            mass = full_conditional(law, self.exponent, feature, weights, lines[at])
            # As at dial 0: the feature stays where it is unless it is selected.
            selection, own = self.selection[line[at], feature], self.question.levels[line[at], feature]
            mass *= selection / np.cumsum(mass, axis=0)[-1]
            mass[own, np.arange(len(at))] += 1 - selection
            return mass

        self._follow(tied, lines, line, uniforms, masses)


@Compiled
def drawn_at_all(
    local: Float64[np.ndarray, "rows width"],
    own: Levels,
    selection: Float64[np.ndarray, "rows features"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Float64[np.ndarray, "rows features"]:
    """Return π where a feature may be elsewhere than it is, and 0 where it may not."""
    chance = np.zeros(selection.shape)
    for row in range(len(local)):
        for i in range(len(offsets)):
            for level in range(sizes[i]):
                if level != own[row, i] and local[row, offsets[i] + level] > 0:
                    chance[row, i] = selection[row, i]
    return chance


def drawn_at_all_at_once(
    local: Float64[np.ndarray, "rows width"],
    own: Levels,
    selection: Float64[np.ndarray, "rows features"],
    offsets: Int64[np.ndarray, " features"],
) -> Float64[np.ndarray, "rows features"]:
    """Return what `drawn_at_all` returns, all rows at once."""
    elsewhere = local > 0
    np.put_along_axis(elsewhere, own + offsets, False, axis=1)
    return np.where(np.logical_or.reduceat(elsewhere, offsets, axis=1), selection, 0.0)
