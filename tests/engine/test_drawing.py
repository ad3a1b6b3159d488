"""Compiled draws against those of numpy: the same to the last bit, for any layout, law and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from compiling import uncompiled
from engine.proposing import PLACES, RECIPES, TIED, WORLDS, counterer
from l2c.core.compiled import compiles
from l2c.core.streams import Streams, words_of
from l2c.engine import drawing, propose
from l2c.engine.sample import draw_levels, integer_cdf
from tables import SEEDS, random_question, small_layout


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
    question = random_question(layout, 4, rng)
    fast, slow = both_ways(counterer(layout, recipe, question, rng), question, place)
    assert (fast[0] == slow[0]).all()
    assert (fast[1] == slow[1]).all()


@given(TIED, RECIPES, PLACES, SEEDS)
@settings(max_examples=15)
def test_the_loops_mean_the_same_as_plain_python(layout, recipe, place, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 2, rng)
    with uncompiled(drawing), pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        for name in ("drawn_levels", "likely_levels"):
            patch.setattr(propose, name, getattr(drawing, name))
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
