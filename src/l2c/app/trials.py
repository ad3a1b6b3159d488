"""What dev rows settle: trial sets by which the share, the balance and the dial are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int64

from l2c.app.answered import Answered, other_class
from l2c.app.pooling import pools_from, selection_of
from l2c.core.blackbox import BlackBox
from l2c.core.layout import Decode, Layout
from l2c.core.method import Question
from l2c.core.twin import Twin
from l2c.core.types import Levels
from l2c.engine.dial import FULL_CANDIDATES, HALF_CANDIDATES, MIDDLE, RATE_AT_1, RATE_AT_HALF, Dial
from l2c.engine.propose import Counterer
from l2c.engine.recipe import SHARES
from l2c.evaluate.plausibility import Reference, plausibilities
from l2c.evaluate.quality import diversity, harmonic_mean, sparsity
from l2c.release.budget import Budget
from l2c.release.explain import Pools

Unlikely = Callable[[Levels, Int64[np.ndarray, " n"]], Float64[np.ndarray, " n"]]
"""From levels and desired classes to how unlikely each counterfactual is."""


TRIAL_ROWS, TRIAL_SET, TRIAL_POOL, TRIAL_PATIENCE = 64, 50, 500, 4
"""The dev rows on which settings are tried, the sets and pools for it, and draws for each place of a pool."""

AS_GOOD = 0.0075
"""How much of the harmonic mean a tilted law may cost, against a law that has learned nothing."""


def tilted_to(counterer: Counterer, share: float) -> Counterer:
    """Return the method as it tilts to a share of valid proposals, if it foresees anything."""
    if counterer.foresight is None:
        return counterer
    return replace(counterer, recipe=replace(counterer.recipe, share=share))


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Sets for some dev rows, by which settings are chosen; the test rows are never seen here."""

    blackbox: BlackBox
    question: Question
    reference: Reference
    seed: int
    patience: int | None = None
    twin: Twin | None = None
    found: dict[tuple[int, int, float | None, float], tuple[Counterer, Pools]] = field(default_factory=dict)

    @classmethod
    def on(
        cls,
        held_out: Answered,
        layout: Layout,
        decode: Decode,
        reference: Reference,
        judge: BlackBox,
        twin: Twin | None,
        seed: int,
        *,
        thrifty: bool,
    ) -> Trial:
        """Return a trial on some dev rows; if it is thrifty, they look no longer than `explain` would let them."""
        some = np.sort(np.random.default_rng(seed).permutation(len(held_out.cells))[:TRIAL_ROWS])
        patience = TRIAL_PATIENCE * TRIAL_POOL if thrifty else None
        return cls(judge, other_class(layout, held_out.take(some), decode), reference, seed, patience, twin)

    def pools(self, counterer: Counterer, place: float) -> Pools:
        """Return what is found for the rows at a place of the dial; the same law is tried there once."""
        key = id(counterer.generator), id(counterer.foresight), counterer.recipe.share, place
        if key not in self.found:
            pools = pools_from(
                counterer, self.blackbox, self.question, pool=TRIAL_POOL, enough=TRIAL_SET, dial=place, seed=self.seed,
                budget=Budget(20 * TRIAL_POOL, self.patience), twin=self.twin,
            )  # fmt: skip
            # The method is kept with its pools, so that no other can take on its networks' identity.
            self.found[key] = counterer, pools
        return self.found[key][1]

    def sets(self, counterer: Counterer) -> tuple[float, float]:
        """Return the sparsity and the diversity of balanced sets at dial 0."""
        released = self.pools(counterer, 0.0).release(TRIAL_SET, selection_of(counterer, "balanced", 0.0))
        return sparsity(released) or 0.0, diversity(released) or 0.0

    def balanced(self, counterer: Counterer) -> Counterer:
        """Return the method with λ = (S / D)² of its sets: there the harmonic mean of the two is largest."""
        kept, apart = self.sets(counterer)
        return replace(counterer, balance=(kept / apart) ** 2) if kept and apart else counterer

    def largest_share(self, even: Counterer, counterer: Counterer) -> float:
        """Return the largest share of valid proposals with which sets are nearly as good as without learning.

        The larger it is, the fewer questions to the model; too large, and sets lose diversity.
        """
        if counterer.foresight is None:
            return 0.0
        enough = (harmonic_mean(*self.sets(even)) or 0.0) - AS_GOOD

        def as_good(share: float) -> bool:
            return (harmonic_mean(*self.sets(tilted_to(counterer, share))) or 0.0) >= enough

        return next((share for share in SHARES if as_good(share)), SHARES[-1])

    def dialled(self, counterer: Counterer) -> Counterer:
        """Return the method with its dial settled: the weights whose sets are worth most at each place's rate."""
        tried = [(MIDDLE, weight) for weight in HALF_CANDIDATES] + [(1.0, weight) for weight in FULL_CANDIDATES]
        prices = dict(zip(tried, self._priced(counterer, tried), strict=True))
        half = _worth_most(HALF_CANDIDATES, [prices[MIDDLE, weight] for weight in HALF_CANDIDATES], RATE_AT_HALF)
        full = _worth_most(FULL_CANDIDATES, [prices[1.0, weight] for weight in FULL_CANDIDATES], RATE_AT_1)
        return replace(counterer, dial=Dial(half, full))

    def _priced(self, counterer: Counterer, tried: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the harmonic mean and the plausibility of sets, each at a place with a weight of unlikeliness."""
        releases, unlikely = [], _remembered(counterer.unlikely)
        for place, weight in tried:
            weighing = replace(counterer, dial=Dial(weight, weight))
            selection = replace(selection_of(weighing, "balanced", 1.0), unlikely=unlikely)
            releases.append(self.pools(counterer, place).release(TRIAL_SET, selection))
        means = [harmonic_mean(sparsity(released), diversity(released)) or 0.0 for released in releases]
        shares = [measured.share or 0.0 for measured in plausibilities(releases, self.reference)]
        return list(zip(means, shares, strict=True))


def _remembered(unlikely: Unlikely) -> Unlikely:
    """Return the same function, which works out the same pool once."""
    known: dict[tuple[bytes, bytes], Float64[np.ndarray, " n"]] = {}

    def remembered(levels: Levels, desired: Int64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        key = levels.tobytes(), desired.tobytes()
        if key not in known:
            known[key] = unlikely(levels, desired)
        return known[key]

    return remembered


def _worth_most(candidates: tuple[float, ...], prices: Sequence[tuple[float, float]], rate: float) -> float:
    """Return the weight that is worth most: plausibility less what its harmonic mean costs; of equals the last."""
    worth = [share * np.exp(rate * mean) for mean, share in prices]
    return candidates[len(worth) - 1 - int(np.argmax(worth[::-1]))]
