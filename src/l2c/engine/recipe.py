"""The settings of Learning to Counter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from l2c.core.given_numbers import is_number, is_whole
from l2c.core.layout import Decode
from l2c.errors import InputError

Strategy = Literal["balanced", "diverse", "sparse", "cheap", "first"]

SHARES = (0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.5, 0.4, 0.3)
"""The shares of valid proposals that the dev rows choose from."""

LEAST_POOL, POOL_SHARE = 200, 10
"""The fewest valid ones to choose from, and how many for each one asked."""


def usual_pool(n: int) -> int:
    """Return how many valid ones a set of n is chosen from, unless it is said otherwise."""
    return max(LEAST_POOL, POOL_SHARE * n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the generator G and the selector S are built and trained.

    Parameters
    ----------
    share
        The share of proposals that should be valid. What each level adds to the model's answer is measured, or learned
        by a network from its answers to proposals, and a law that is uniform over the allowed levels is tilted by it,
        for each row just so far. None lets the dev rows choose: the largest of `SHARES` with which sets are nearly as
        good as without learning, for then the model is asked least. With 0 nothing is learned.
    beta
        With a number, G and S are trained through the model's gradient instead, as in the paper; it is the weight of
        the KL divergence from the proposal to the uniform law, and keeps sets diverse: without it the networks settle
        on a few sure answers.
    alpha, temperature, selector, selection
        Then the weight of ‖π‖₁, the paper's pull towards few changes; τ of the Concrete relaxations used in training;
        what selects features: `learned` (the network S), `constant` (π = `selection` for every feature), or `absent`
        (π = 1).
    reference_selection
        The probability with which the uniform law changes a feature.
    learning_rate, epochs, steps, batch_size, patience
        Adam's step, the most passes over the fit rows, the most steps (None: no limit), rows a step, and after how
        many passes without a better dev loss training stops (None: never). With `epochs=0` nothing is learned, and
        G and S stay as they were initialised.
    hidden
        The width of the networks' hidden layers.
    without_gradient
        How to learn from a model that offers no gradient, such as trees: through a `twin`, a small network fitted to
        its answers, or from its answers to hard proposals alone (by their `score` function where β is given). Of the
        two the twin needs far fewer answers.
    model_rows
        The most rows that such a model is asked about to be learned from, besides the training rows themselves. A twin
        then judges what the dev rows settle; without one the model itself judges on top of that. With 0 nothing is
        learned from it.
    refine
        Whether a row for which hardly any proposal is valid gets a law of its own, refined as it goes.
    epsilon
        The factor on the probability of levels that a monotone constraint forbids; 0 removes them altogether.
    inputs
        What the networks see of a number: its `levels` one-hot, or its standardised `values`.
    decode
        Which value stands for a bin: its training values' `median`, the `midpoint` of its edges, or `auto`, the
        median where the edges come from data and the midpoint where a person gave them.
    decode_again
        Whether a proposal that is not valid is tried once more with the other of the two values.
    plausibility
        The dial, where `explain` is not told another: 0 for the most diverse sets, 1 for the most plausible.
    select
        How a set is chosen from the pool of valid ones: `balanced`, `diverse`, `sparse`, `cheap`, or `first` (no pool).
    pool
        How many valid ones to choose from; None is ten for each one asked, and at least 200.
    """

    share: float | None = None
    alpha: float = 1e-4
    beta: float | None = None
    reference_selection: float = 0.7
    temperature: float = 0.2
    learning_rate: float = 2e-3
    epochs: int = 100
    steps: int | None = 2000
    batch_size: int = 256
    patience: int | None = 20
    hidden: int = 64
    without_gradient: Literal["twin", "score"] = "twin"
    model_rows: int = 40_000
    refine: bool = True
    epsilon: float = 0.0
    selector: Literal["learned", "constant", "absent"] = "learned"
    selection: float = 0.7
    inputs: Literal["levels", "values"] = "levels"
    decode: Decode = "auto"
    decode_again: bool = True
    plausibility: float = 0.5
    select: Strategy = "balanced"
    pool: int | None = None

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise InputError(problems)

    def _problems(self) -> Iterator[str]:
        for name, (holds, phrase) in _BOUNDS.items():
            value, whole = getattr(self, name), name in _WHOLE
            if value is None and name in _OPEN:
                continue
            if not (is_whole(value) if whole else is_number(value)):
                yield f"{name} must be a {'whole ' if whole else ''}number, not {value!r}"
            elif not holds(value):
                yield f"{name} {phrase}, not {value}"
        choices = {
            "selector": ("learned", "constant", "absent"),
            "without_gradient": ("twin", "score"),
            "inputs": ("levels", "values"),
            "decode": ("auto", "median", "midpoint"),
            "select": get_args(Strategy),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                yield f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}"


_Bound = tuple[Callable[[float], bool], str]
_ABOVE_0: _Bound = (lambda value: 0 < value < math.inf, "must be above 0")
_FROM_0: _Bound = (lambda value: value >= 0, "must be at least 0")
_PROBABILITY: _Bound = (lambda value: 0 < value <= 1, "is a probability above 0")

_BOUNDS: dict[str, _Bound] = {
    **dict.fromkeys(("temperature", "learning_rate", "batch_size", "hidden"), _ABOVE_0),
    **dict.fromkeys(("alpha", "beta", "epochs", "steps", "model_rows"), _FROM_0),
    "epsilon": (lambda value: 0 <= value < 1, "must be at least 0 and below 1"),
    **dict.fromkeys(("selection", "reference_selection"), _PROBABILITY),
    "share": (lambda value: 0 <= value < 1, "must be at least 0 and below 1, or None"),
    "plausibility": (lambda value: 0 <= value <= 1, "is a dial from 0 to 1"),
    "pool": (lambda value: value >= 1, "must be at least 1, or None"),
    "patience": (lambda value: value >= 1, "must be at least 1 epoch, or None"),
}
_WHOLE = ("batch_size", "hidden", "epochs", "steps", "model_rows", "pool", "patience")
_OPEN = ("share", "beta", "steps", "pool", "patience")
"""The settings that are whole numbers, and those that may be None."""


PAPER = Recipe(
    alpha=1e-4,
    beta=0.0,
    temperature=0.2,
    learning_rate=1e-4,
    epochs=200,
    steps=None,
    batch_size=64,
    patience=None,
    refine=False,
    epsilon=math.exp(-10),
    decode="midpoint",
    decode_again=False,
    plausibility=0.0,
    select="first",
)
"""The settings of the paper's text (appendix A.2). It does not name a batch size or a width: ours."""
