"""Compiled draws against those of numpy: the same to the last bit, for any layout, law and limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from compiling import uncompiled
from engine.proposing import PLACES, RECIPES, TIED, WORLDS, counterer
from l2c.core.compiled import compiles
from l2c.core.layout import Layout
from l2c.core.method import Dependences, Question
from l2c.core.streams import Streams, words_of
from l2c.engine import drawing, few, likely, propose
from l2c.engine.conditional import draw_given_kept
from l2c.engine.reference import ReferenceLaw
from l2c.engine.sample import draw_levels, integer_cdf
from laws import layout_of
from tables import SEEDS, random_question, small_layout


def with_few_changes(question: Question, rng: np.random.Generator) -> Question:
    """Return a question in which some rows may change only so many features."""
    features = question.levels.shape[1]
    changes = np.where(rng.random(len(question)) < 0.5, rng.integers(0, features + 1, len(question)), features)
    return replace(question, room=replace(question.room, changes=changes))


def both_ways(fitted, question, place, count=7):
    """Return the draws of a proposer with loops compiled, and without."""
    rows, first = np.arange(len(question)), np.arange(len(question)) * 3
    found = []
    for compiled in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(propose, "compiles", lambda compiled=compiled: compiled)
            draws = fitted.proposer(question, Streams.for_rows(question.cells, 4), place)
            found.append(
                (draws.propose(rows, first, count), draws.propose_from(draws.even_law(rows), rows, first, count))
            )
    return found


@given(WORLDS, RECIPES, PLACES, SEEDS)
@settings(max_examples=60)
def test_a_proposer_draws_the_same_with_and_without_a_compiler(layout, recipe, place, seed):
    if not compiles():
        pytest.skip("numba is not installed")
    rng = np.random.default_rng(seed)
    question = with_few_changes(random_question(layout, 4, rng), rng)
    # In a round as long as this, more draws are made than are worked on at once.
    count = int(rng.choice([7, drawing.TOGETHER + 20]))
    fast, slow = both_ways(counterer(layout, recipe, question, rng), question, place, count)
    assert (fast[0] == slow[0]).all()
    assert (fast[1] == slow[1]).all()


@given(TIED, RECIPES, PLACES, SEEDS)
@settings(max_examples=15)
def test_the_loops_mean_the_same_as_plain_python(layout, recipe, place, seed):
    rng = np.random.default_rng(seed)
    question = with_few_changes(random_question(layout, 2, rng), rng)
    with uncompiled(drawing, likely, few), pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(likely, "stream_halves", drawing.stream_halves)
        patch.setattr(propose, "drawn_levels", drawing.drawn_levels)
        patch.setattr(propose, "likely_levels", likely.likely_levels)
        patch.setattr(propose, "few_coins_along", few.few_coins_along)
        fast, slow = both_ways(counterer(layout, recipe, question, rng), question, place, count=3)
    assert (fast[0] == slow[0]).all()
    assert (fast[1] == slow[1]).all()


def test_more_draws_than_are_worked_on_at_once_are_the_same():
    rng = np.random.default_rng(0)

    layout = small_layout()
    law = rng.random((3, layout.width)) + 0.01
    streams, first, count = Streams(rng.integers(0, 2**63, 3).astype(np.uint64)), np.array([0, 5, 1000]), 600
    cdf = integer_cdf(layout, law)
    expected = draw_levels(layout, cdf, streams.draws(first, count, len(layout.axes)))
    if compiles():
        given_ = (streams.keys, first, count, words_of(len(layout.axes)), cdf, layout.offsets, layout.sizes)
        assert (drawing.drawn_levels(*given_) == expected).all()


def wild_tree(rng: np.random.Generator, features: int) -> tuple[Layout, ReferenceLaw]:
    """Return a layout, and a law of any tree of its features, in any order."""
    order, parent = rng.permutation(features), np.full(features, -1)
    for place in range(1, features):
        parent[order[place]] = order[rng.integers(max(0, place - 3), place)]
    sizes = rng.integers(1, 5, features)
    tables = tuple(
        rng.dirichlet(np.full(size, 0.2), sizes[above] if above >= 0 else 1)
        for size, above in zip(sizes, parent, strict=True)
    )
    alike = tuple(np.ones((size, size)) for size in sizes)
    return layout_of(tuple(sizes.tolist())), ReferenceLaw(order, parent, tables, alike, 0.0, 1.0)


def likely_both_ways(features: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return draws along a wild tree, some features never drawn and some always, as they are found and in numpy."""
    rng = np.random.default_rng(seed)
    layout, law = wild_tree(rng, features)
    rows, each = 3, 2 * features
    weights = rng.random((rows, layout.width)) * (rng.random((rows, layout.width)) < 0.7)
    own = rng.integers(0, layout.sizes, (rows, features)).astype(np.int16)
    np.put_along_axis(weights, own + layout.offsets, 1.0, axis=1)
    coins = np.rint(rng.choice([0.0, 0.3, 0.8, 1.0], (rows, features)) * 2.0**31).astype(np.uint32)
    coins[:, rng.random(features) < 0.1] = 0
    streams, first = Streams(rng.integers(0, 2**63, rows).astype(np.uint64)), rng.integers(0, 1000, rows)
    along = Dependences(
        streams.keys, words_of(each), coins, weights, own, law.order, law.parent, *likely.raised(law, 0.6)
    )
    found = likely.likely_levels(along, first, count, layout.offsets, layout.sizes, likely.TOSSED_HERE)
    uniforms, row = streams.draws(first, count, each).reshape(-1, each), np.repeat(np.arange(rows), count)
    selected = (uniforms[:, features:] >> 1) < coins[row]
    lines = draw_given_kept(layout, law, 0.6, weights, own, row, selected, uniforms[:, :features])
    return found, lines.reshape(found.shape)


@pytest.mark.parametrize("seed", range(12))
def test_likely_draws_are_the_same_however_many_features_hang_together(seed):
    if not compiles():
        pytest.skip("numba is not installed")
    found, expected = likely_both_ways(features=1 + 3 * seed, count=600, seed=seed)
    assert (found == expected).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("remembered", [0, 6, 12, 24, 100, likely.REMEMBERED])
def test_likely_draws_are_the_same_however_much_is_remembered(remembered, seed, monkeypatch):
    monkeypatch.setattr(likely, "REMEMBERED", remembered)
    monkeypatch.setattr(likely, "TOGETHER", 7)
    with uncompiled(drawing, likely), np.errstate(over="ignore"):
        monkeypatch.setattr(likely, "stream_halves", drawing.stream_halves)
        found, expected = likely_both_ways(features=9, count=100, seed=seed)
    assert (found == expected).all()


def test_what_is_believed_of_a_feature_does_not_vanish_however_many_hang_on_it():
    features, count = 400, 3
    star = np.array([-1] + [0] * (features - 1))
    table = np.array([[2e-3, 1 - 2e-3], [1e-3, 1 - 1e-3]])
    law = ReferenceLaw(
        np.arange(features), star, (table[:1], *[table] * (features - 1)), (np.ones((2, 2)),) * features, 0.0, 1.0
    )
    layout, own = layout_of((2,) * features), np.zeros((1, features), dtype=np.int16)
    coins, weights = np.zeros((1, features), dtype=np.uint32), np.ones((1, 2 * features))
    coins[0, 0] = 2**31
    along = Dependences(
        np.array([5], np.uint64), words_of(2 * features), coins, weights, own, law.order, law.parent,
        *likely.raised(law, 1.0),
    )  # fmt: skip
    with uncompiled(drawing, likely), np.errstate(over="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(likely, "stream_halves", drawing.stream_halves)
        found = likely.likely_levels(along, np.array([0]), count, layout.offsets, layout.sizes, likely.TOSSED_HERE)
    assert (found == 0).all()
