"""The schema and the limits as a post-condition, against everything written out one cell at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.method import Question
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.core.types import Cells, Levels
from l2c.engine.decode import decode_levels
from l2c.release.obey import fits, obeys
from oracles import slow_decode, slow_obeys
from tables import HOWS, SEEDS, layouts, numeric_axis, question_for, random_cells, random_levels, small_layout

DECODES = st.sampled_from(["median", "midpoint"])


def allowed(layout: Layout, question: Question, after: Levels, row: np.ndarray | None = None) -> list[bool]:
    """Return which proposals both fit their row's room and obey."""
    row = np.arange(len(after)) if row is None else row
    values = decode_levels(layout, after, question.room.values, row)
    within = fits(layout, question.room, row, question.levels[row], after)
    return (within & obeys(layout, question, row, after, values)).tolist()


@given(layouts(hows=HOWS, costs=True), SEEDS, DECODES)
def test_a_proposal_is_allowed_exactly_if_every_cell_and_every_rule_is_kept(layout, seed, decode):
    rng = np.random.default_rng(seed)
    question = question_for(layout, random_cells(layout, 30, rng), decode=decode)
    before = question.levels
    # Most cells stay, so that both answers come up.
    after = np.where(rng.random(before.shape) < 0.6, before, random_levels(layout, (30,), rng))
    expected = [
        slow_obeys(layout, was, now, slow_decode(layout, was, now, cells, decode))
        for was, now, cells in zip(before.tolist(), after.tolist(), question.cells.tolist(), strict=True)
    ]
    assert allowed(layout, question, after) == expected


@given(layouts(hows=HOWS, costs=True), SEEDS)
def test_staying_as_one_is_always_obeys(layout, seed):
    question = question_for(layout, random_cells(layout, 10, np.random.default_rng(seed)))
    assert all(allowed(layout, question, question.levels))


@given(layouts(hows=HOWS), SEEDS)
def test_proposals_for_one_row_are_judged_by_that_row_in_any_order(layout, seed):
    rng = np.random.default_rng(seed)
    question, row = question_for(layout, random_cells(layout, 3, rng)), rng.integers(0, 3, 12)
    after = random_levels(layout, (12,), rng)
    together = allowed(layout, question, after, row)
    for place, one in enumerate(row):
        alone = question.take(np.array([one]))
        assert allowed(layout, alone, after[[place]], np.array([0])) == [together[place]]


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
    assert allowed(layout, question_for(layout, PERSON), changed(layout, changes)) == [good]


PERSON: Cells = np.array([[40.0, 150.0, 1.0, 1.0, 0.0]])


def changed(layout: Layout, changes: dict[str, int]) -> Levels:
    after = layout.levels(PERSON)
    for name, level in changes.items():
        after[0, layout.schema.index(name)] = level
    return after


@pytest.mark.parametrize(
    ("limits", "changes", "good"),
    [
        (Limits(lock=["age"]), {"age": 2}, False),
        (Limits(lock=["age"]), {"debt": 0}, True),
        (Limits(permit={"job": ["cook"]}), {"job": 2}, True),
        (Limits(permit={"job": ["cook"]}), {"job": 0}, False),
        (Limits(permit={"age": (None, 50)}), {"age": 2}, True),  # 53.75 stands for it, but 50 is in the bin too
        (Limits(permit={"age": (None, 45)}), {"age": 2}, False),
        (Limits(forbid={"school": [("middle", "low")]}), {"school": 0}, False),
        (Limits(forbid={"school": [("middle", "low")]}), {"school": 2}, True),
        (Limits(forbid={"school": [("high", "*")]}), {"school": 0}, True),
        (Limits(max_changes=1), {"school": 0}, True),
        (Limits(max_changes=1), {"school": 0, "job": 0}, False),
        (Limits(min_sparsity=0.5), {"school": 0, "job": 0}, True),
        (Limits(min_sparsity=0.7), {"school": 0, "job": 0}, False),
        (Limits(max_cost=1), {"school": 0, "job": 0}, False),
        (Limits(max_cost=2), {"school": 0, "job": 0}, True),
        (Limits(where=["school >= was.school or job == 'cook'"]), {"school": 0}, False),
        (Limits(where=["school >= was.school or job == 'cook'"]), {"school": 0, "job": 2}, True),
        (Limits(where=["debt < was.debt"]), {"debt": 0}, True),
        (Limits(where=["debt < was.debt"]), {"job": 0}, False),
    ],
)
def test_a_limit_is_kept_and_forbids_no_more_than_it_says(limits, changes, good):
    layout = small_layout()
    after = changed(layout, changes)
    assert allowed(layout, question_for(layout, PERSON, limits=limits), after) == [good]
    twice = question_for(layout, np.repeat(PERSON, 2, axis=0), limits=[(limits, np.array([False, True]))])
    assert allowed(layout, twice, np.repeat(after, 2, axis=0)) == [True, good]


def test_a_total_cost_is_what_every_change_costs_by_its_value():
    features = (
        Feature(name="hours", kind="numeric", cost=2.0, cost_up=0.5, cost_down=0.25),
        Feature(name="grade", kind="ordinal", levels=("a", "b", "c"), cost=0.0, level_costs=(0.0, 1.0, 5.0)),
    )
    layout = Layout(Schema(features), (numeric_axis((30.0, 45.0), low=18.0, high=80.0), categorical_axis(features[1])))
    # The medians are 21, 33.75 and 53.75: from 40 hours it is 19 down or 13.75 up.
    for after, cost in (([0, 0], 2 + 4.75), ([2, 0], 2 + 6.875), ([2, 1], 2 + 6.875 + 1), ([1, 2], 5.0), ([1, 0], 0)):
        for most, good in ((cost, True), (cost - 1e-6, False), (None, True)):
            limits = NO_LIMITS if most is None else Limits(max_cost=max(most, 0))
            question = question_for(layout, np.array([[40.0, 0.0]]), limits=limits)
            assert allowed(layout, question, np.array([after], dtype=np.int16)) == [good or after == [1, 0]]


def test_a_person_outside_the_range_may_stay_there_but_nobody_is_sent_there():
    layout = small_layout()
    layout = Layout(layout.schema.edit("age", low=20.0, high=44.0), layout.axes)
    question = question_for(layout, np.array([[85.0, 150.0, 1.0, 1.0, 0.0], [40.0, 150.0, 1.0, 1.0, 0.0]]))
    after = question.levels.copy()
    after[:, 0], after[:, 3] = 2, 0  # to the last bin of age, which begins at 45
    assert allowed(layout, question, after) == [True, False]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("must_rise", [False, True, True, True, False]),
        ("must_not_fall", [True, True, True, True, False]),
        ("only_if", [True, True, False, True, True]),
    ],
)
def test_a_rule_binds_two_features_that_are_free_alone(how, expected):
    features = tuple(Feature(name=name, kind="ordinal", levels=(0, 1, 2)) for name in ("school", "age"))
    rules = (Implies("school", "age", how),)
    layout = Layout(Schema(features, rules=rules), tuple(categorical_axis(each) for each in features))
    question = question_for(layout, np.array([[0.0, 1.0]]))
    after = np.array([[1, 1], [1, 2], [0, 2], [0, 0], [1, 0]], dtype=np.int16)
    assert allowed(layout, question, after, np.zeros(5, dtype=np.int64)) == expected
