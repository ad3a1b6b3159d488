"""All that a row has room for, against a walk through every combination of levels."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.limits import Limits
from l2c.release.exhaust import every_proposal
from tables import HOWS, SEEDS, layouts, question_for, random_cells, small_layout


@given(
    layouts(hows=HOWS, costs=True), SEEDS, st.none() | st.integers(1, 4), st.none() | st.sampled_from([0.0, 1.0, 3.5])
)
def test_every_combination_of_open_levels_with_few_enough_changes_comes_up_once(layout, seed, changes, cost):
    limits = Limits(max_changes=changes, max_cost=cost)
    question = question_for(layout, random_cells(layout, 4, np.random.default_rng(seed)), limits=limits)
    room, counted = question.room, question.room.combinations(layout, question.levels)
    for row, own in enumerate(question.levels):
        expected = {
            levels
            for levels in product(*(range(axis.size) for axis in layout.axes))
            if all(room.open[row, layout.offsets[i] + level] for i, level in enumerate(levels))
            and sum(now != was for now, was in zip(levels, own.tolist(), strict=True)) <= room.changes[row]
        }
        every = every_proposal(layout, room, row, own)
        assert every.dtype == np.int16
        assert len(every) == len(expected) == counted[row]
        assert {tuple(levels) for levels in every.tolist()} == expected


def test_a_feature_that_may_neither_stay_nor_go_leaves_nothing():
    layout = small_layout()
    cells = np.array([[40.0, 150.0, 1.0, 1.0, 0.0]])
    question = question_for(layout, cells, limits=Limits(lock=["job"], where=["job == 'cook'"]))
    assert every_proposal(layout, question.room, 0, question.levels[0]).shape == (0, 5)
    assert question.room.combinations(layout, question.levels).tolist() == [0.0]
