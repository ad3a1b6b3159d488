"""The schema as a post-condition, against the rules written out one cell at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.engine.decode import decode_levels
from l2c.release.obey import obeys
from oracles import slow_obeys
from tables import SEEDS, layouts, random_cells, random_levels, small_layout

DECODES = st.sampled_from(["median", "midpoint"])


@given(layouts(), SEEDS, DECODES)
def test_a_proposal_obeys_exactly_if_every_cell_and_every_rule_does(layout, seed, decode):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 30, rng)
    before = layout.levels(cells)
    # Most cells stay, so that both answers come up.
    after = np.where(rng.random(before.shape) < 0.6, before, random_levels(layout, (30,), rng))
    values = decode_levels(layout, after, cells, before, decode)
    expected = [slow_obeys(layout, *row) for row in zip(before.tolist(), after.tolist(), values.tolist(), strict=True)]
    assert obeys(layout, before, after, values).tolist() == expected


@given(layouts(), SEEDS)
def test_staying_as_one_is_always_obeys(layout, seed):
    cells = random_cells(layout, 10, np.random.default_rng(seed))
    levels = layout.levels(cells)
    assert obeys(layout, levels, levels, cells).all()


@given(layouts(), SEEDS)
def test_a_block_of_proposals_is_judged_like_its_rows(layout, seed):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 3, rng)
    before, after = layout.levels(cells), random_levels(layout, (3, 4), rng)
    values = decode_levels(layout, after, cells[:, None], before[:, None], "median")
    together = obeys(layout, before[:, None], after, values)
    for draw in range(4):
        assert (obeys(layout, before, after[:, draw], values[:, draw]) == together[:, draw]).all()


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({}, True),
        ({"age": 2}, True),
        ({"age": 0}, False),  # age rises
        ({"debt": 0}, True),
        ({"debt": 2}, False),  # missing is never proposed
        ({"job": 0}, True),
        ({"job": 3}, False),
        ({"school": 0, "age": 2}, True),
        ({"sex": 1}, False),  # sex never moves
    ],
)
def test_a_person_of_middle_age_in_debt(changes, good):
    layout = small_layout()
    cells = np.array([[40.0, 150.0, 1.0, 1.0, 0.0]])
    before = layout.levels(cells)
    after = before.copy()
    for name, level in changes.items():
        after[0, layout.schema.index(name)] = level
    values = decode_levels(layout, after, cells, before, "median")
    assert obeys(layout, before, after, values).tolist() == [good]


def test_a_person_outside_the_range_may_stay_there_but_nobody_is_sent_there():
    layout = small_layout()
    layout = Layout(layout.schema.edit("age", low=20.0, high=50.0), layout.axes)
    cells = np.array([[85.0, 150.0, 1.0, 1.0, 0.0], [40.0, 150.0, 1.0, 1.0, 0.0]])
    before = layout.levels(cells)
    after = before.copy()
    after[:, 0], after[:, 3] = 2, 0  # to the last bin of age, whose median is 53.75
    values = decode_levels(layout, after, cells, before, "median")
    assert obeys(layout, before, after, values).tolist() == [True, False]


def test_a_rule_binds_two_features_that_are_free_alone():
    features = tuple(Feature(name=name, kind="ordinal", levels=(0, 1, 2)) for name in ("school", "age"))
    layout = Layout(
        Schema(features, rules=(Implies("school", "age"),)), tuple(categorical_axis(each) for each in features)
    )
    before = np.array([[0, 0]], dtype=np.int16)
    after = np.array([[1, 0], [1, 1], [0, 1]], dtype=np.int16)
    assert obeys(layout, before, after, after.astype(float)).tolist() == [False, True, True]
