"""Methods with random networks and laws, what they propose, and the law of it over every combination."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st

from l2c.core.layout import Layout
from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.core.types import Mask
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.networks import Dense, Network
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.reference import ReferenceLaw, fit_reference
from laws import layout_of
from tables import HOWS, layouts, question_for, random_levels

RECIPES = st.builds(
    Recipe,
    selector=st.sampled_from(["learned", "constant", "absent"]),
    inputs=st.sampled_from(["levels", "values"]),
    epsilon=st.sampled_from([0.0, 0.1]),
)
PLACES = st.sampled_from([0.0, 0.2, 0.5, 1.0])
EVERY_PLACE = [0.0, 0.25, 0.5, 1.0]
TIED = layouts(hows=HOWS, ruled=True, costs=True)
WORLDS = layouts(hows=HOWS, costs=True) | TIED
TINY = layout_of((3, 2, 2))


def network(widths: list[int], rng: np.random.Generator) -> Network:
    return tuple(
        Dense(rng.normal(0, 1, (after, before)).astype(np.float32), rng.normal(0, 1, after).astype(np.float32))
        for before, after in pairwise(widths)
    )


def counterer(layout: Layout, recipe: Recipe, question: Question, rng: np.random.Generator) -> Counterer:
    """Return an L2C with random networks."""
    encoder = Encoder.fit(layout, recipe.inputs, question.cells)
    generator = network([encoder.width, 8, layout.width], rng)
    learned = recipe.selector == "learned"
    selector = network([encoder.width, 8, len(layout.axes)], rng) if learned else ()
    return Counterer(layout, recipe, encoder, generator, selector, random_laws(layout, rng), 1.75, Dial())


def random_laws(layout: Layout, rng: np.random.Generator) -> tuple[ReferenceLaw, ReferenceLaw]:
    """Return the laws of two classes, each of rows that are strange in their own way."""
    odd, even = (np.minimum(random_levels(layout, (40,), rng), rng.integers(0, layout.sizes)) for _ in range(2))
    return fit_reference(layout, odd.astype(np.int16)), fit_reference(layout, even.astype(np.int16))


def untrained(layout: Layout, recipe: Recipe, question: Question) -> Counterer:
    """Return an L2C without networks."""
    encoder = Encoder.fit(layout, "levels", question.cells)
    laws = random_laws(layout, np.random.default_rng(0))
    return Counterer(layout, recipe, encoder, (), (), laws, 1.75, Dial())


def proposals(fitted: Counterer, question: Question, seed: int, count: int, place: float = 0.0) -> np.ndarray:
    rows = np.arange(len(question.cells))
    proposer = fitted.proposer(question, Streams.for_rows(question.cells, seed), place)
    return proposer.propose(rows, np.zeros(len(rows), dtype=np.int64), count)


def even_draws(fitted: Counterer, question: Question, count: int, place: float = 0.0) -> np.ndarray:
    """Return draws of each row from its even law, as they are made for rows that prove hard."""
    rows = np.arange(len(question))
    draws = fitted.proposer(question, Streams.for_rows(question.cells, 5), place)
    return draws.propose_from(draws.even_law(rows), rows, np.zeros(len(rows), dtype=np.int64), count)


def changes(question: Question, drawn: np.ndarray) -> np.ndarray:
    """Return how many features each draw changes."""
    return (drawn != question.levels[:, None]).sum(axis=2)


def two_ways(question: Question, rng: np.random.Generator) -> Question:
    """Return the question with rows that should be of class 0 among those that should be of class 1."""
    desired = rng.integers(0, 2, len(question.cells))
    return replace(question, current=1 - desired, desired=desired)


def random_limits(layout: Layout, rows: int, rng: np.random.Generator) -> list[tuple[Limits, Mask]]:
    """Return limits of several sorts, each for some of the rows: also such that ask what cannot be."""
    names, features = layout.schema.names, len(layout.axes)
    numeric = [(f.name, axis.cuts) for f, axis in zip(layout.schema.features, layout.axes, strict=True) if f.numeric]
    asked = [
        Limits(max_changes=int(rng.integers(1, features + 1))),
        Limits(lock=tuple(name for name in names if rng.random() < 0.3)),
        Limits(max_cost=float(rng.integers(0, 4))),
        *(Limits(where=(f"{name} {rng.choice(['<=', '>'])} {rng.choice(cuts)}",)) for name, cuts in numeric),
    ]
    return [(limits, rng.random(rows) < 0.4) for limits in asked]


def torn(layout: Layout) -> bool:
    """Return whether an effect that has to follow one cause may rise only with another: then both may be too much."""
    return any(
        one.effect == other.effect and one.cause != other.cause and (one.how, other.how) == ("must_rise", "only_if")
        for one in layout.schema.rules
        for other in layout.schema.rules
    )


def tiny_question(limits: Limits = Limits(), layout: Layout = TINY) -> Question:  # noqa: B008
    cells = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    return question_for(layout, cells, current=[0, 0, 1], desired=[1, 1, 0], limits=limits)


def tiny_counterer(recipe: Recipe = Recipe()) -> Counterer:  # noqa: B008
    """Return random networks beside two laws in which the features depend on each other in opposite ways."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 300)
    second = np.where(rng.random(300) < 0.9, first > 0, first == 0).astype(int)
    third = np.where(rng.random(300) < 0.9, second, 1 - second)
    rows = np.stack([first, second, third], axis=1).astype(np.int16)
    turned = np.stack([first, 1 - second, third], axis=1).astype(np.int16)
    laws = (fit_reference(TINY, rows), fit_reference(TINY, turned))
    drawn = counterer(TINY, recipe, tiny_question(), rng)
    mild = [
        tuple(Dense(0.4 * each.weight, 0.4 * each.bias) for each in net) for net in (drawn.generator, drawn.selector)
    ]
    return replace(drawn, generator=mild[0], selector=mild[1], laws=laws)


def exact_law(
    law: ReferenceLaw, exponent: float, local: np.ndarray, selection: np.ndarray, own: list[int], most: int = 3
) -> dict[tuple[int, ...], float]:
    """Return the probability of every proposal for one row: over what is selected, and how that then falls.

    At most `most` features are selected: other selections do not count.
    """
    everything = list(product(*(range(size) for size in TINY.sizes)))
    total = dict.fromkeys(everything, 0.0)
    chances = {
        selected: math.prod(p if s else 1 - p for s, p in zip(selected, selection, strict=True))
        for selected in product((False, True), repeat=len(own))
        if sum(selected) <= most
    }
    for selected, share in chances.items():
        chance = share / sum(chances.values())
        mass = {}
        for levels in everything:
            if any(not s and level != mine for s, level, mine in zip(selected, levels, own, strict=True)):
                continue
            mass[levels] = likelihood(law, levels) ** exponent
            for i, level in enumerate(levels):
                mass[levels] *= local[TINY.offsets[i] + level] if selected[i] else 1.0
        for levels, weight in mass.items():
            total[levels] += chance * weight / sum(mass.values()) if chance else 0.0
    return total


def likelihood(law: ReferenceLaw, levels: tuple[int, ...]) -> float:
    """Return the probability of one row under a reference law."""
    parents = [int(parent) for parent in law.parent]
    given_by = [levels[parent] if parent >= 0 else 0 for parent in parents]
    return math.prod(float(law.tables[i][given_by[i], level]) for i, level in enumerate(levels))


def product_law(law: np.ndarray) -> dict[tuple[int, ...], float]:
    """Return the probability of every proposal for one row whose features are independent."""
    parts = np.split(law, TINY.offsets[1:])
    return {
        levels: math.prod(part[level] for part, level in zip(parts, levels, strict=True))
        for levels in product(*(range(size) for size in TINY.sizes))
    }


def given_that(
    law: dict[tuple[int, ...], float], kept: Callable[[tuple[int, ...]], bool]
) -> dict[tuple[int, ...], float]:
    """Return the law of what is kept."""
    total = sum(p for levels, p in law.items() if kept(levels))
    return {levels: p / total if kept(levels) else 0.0 for levels, p in law.items()}


def distance(drawn: np.ndarray, expected: dict[tuple[int, ...], float]) -> float:
    """Return the total variation between draws and a law over every combination."""
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= {levels for levels, p in expected.items() if p > 0}
    return sum(abs(seen[levels] / len(drawn) - p) for levels, p in expected.items()) / 2
