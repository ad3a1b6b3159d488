"""Costs: what a change costs, against a loop over every cell."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from core.rooms import random_case
from l2c.core.costs import move_costs, price, total_costs
from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from tables import SEEDS, numeric_axis, random_levels

HOURS = Feature(name="hours", kind="numeric", cost=2.0, cost_up=0.5, cost_down=0.25)
SCHOOL = Feature(name="school", kind="ordinal", levels=("low", "middle", "high"), cost_up=3.0, missing=True)
JOB = Feature(
    name="job", kind="categorical", levels=("clerk", "nurse", "cook"), level_costs=(0.0, 1.5, 4.0), missing=True
)
AXES = (numeric_axis((20.0, 40.0), low=0.0, high=60.0), categorical_axis(SCHOOL), categorical_axis(JOB))
LAYOUT = Layout(Schema((HOURS, SCHOOL, JOB)), AXES)


def slow_price(feature: Feature, was: float, now: float) -> float:
    """Return what one changed cell costs, step by step."""
    cost = feature.cost
    if not isnan(was) and now > was:
        cost += feature.cost_up * (now - was)
    if not isnan(was) and now < was:
        cost += feature.cost_down * (was - now)
    if feature.level_costs:
        cost += feature.level_costs[int(now)]
    return cost


def cost_of(was: list[float], now: list[float]) -> float:
    cells, proposal = np.array([was]), np.array([now])
    return float(total_costs(LAYOUT, cells, proposal, LAYOUT.levels(cells), LAYOUT.levels(proposal))[0])


def test_a_change_costs_something_for_touching_and_for_every_unit_in_its_direction() -> None:
    assert cost_of([30.0, 1.0, 0.0], [50.0, 1.0, 0.0]) == 2.0 + 20 * 0.5
    assert cost_of([30.0, 1.0, 0.0], [10.0, 1.0, 0.0]) == 2.0 + 20 * 0.25
    assert cost_of([30.0, 0.0, 0.0], [30.0, 2.0, 0.0]) == 1.0 + 2 * 3.0
    assert cost_of([30.0, 2.0, 0.0], [30.0, 0.0, 0.0]) == 1.0
    assert cost_of([30.0, 1.0, 0.0], [50.0, 2.0, 0.0]) == 12.0 + 4.0


def test_a_level_that_is_taken_on_costs_its_own() -> None:
    assert cost_of([30.0, 1.0, 0.0], [30.0, 1.0, 2.0]) == 1.0 + 4.0
    assert cost_of([30.0, 1.0, 2.0], [30.0, 1.0, 0.0]) == 1.0
    assert cost_of([30.0, 1.0, 2.0], [30.0, 1.0, 2.0]) == 0.0


def test_from_a_missing_value_there_is_no_distance() -> None:
    assert cost_of([30.0, nan, 0.0], [30.0, 2.0, 0.0]) == 1.0
    assert cost_of([30.0, 1.0, nan], [30.0, 1.0, 1.0]) == 1.0 + 1.5
    assert cost_of([30.0, nan, nan], [30.0, nan, nan]) == 0.0


def test_what_did_not_change_its_level_costs_nothing() -> None:
    # A value that moved within its bin never leaves the engine, and would not be counted as a change either.
    assert cost_of([30.0, 1.0, 0.0], [35.0, 1.0, 0.0]) == 0.0


@given(SEEDS)
def test_the_total_is_what_each_changed_feature_costs(seed: int) -> None:
    case = random_case(seed)
    rng = np.random.default_rng(seed)
    layout, cells = case.layout, np.array(case.cells)
    own = case.levels
    levels = random_levels(layout, (len(cells), 6), rng)
    values = layout.values(levels, case.decode)
    values = np.where(levels == own[:, None, :], cells[:, None, :], values)
    totals = total_costs(layout, cells[:, None, :], values, own[:, None, :], levels)
    assert totals.shape == (len(cells), 6)
    for row, draw in np.ndindex(len(cells), 6):
        if np.isnan(values[row, draw][levels[row, draw] != own[row]]).any():
            continue  # what was there is never proposed to go missing
        expected = sum(
            slow_price(feature, cells[row, i], values[row, draw, i])
            for i, feature in enumerate(layout.schema.features)
            if levels[row, draw, i] != own[row, i]
        )
        assert totals[row, draw] == pytest.approx(expected)


@given(SEEDS)
def test_a_proposal_costs_what_its_moves_cost_together(seed: int) -> None:
    case = random_case(seed)
    rng = np.random.default_rng(seed)
    room, own, cells = case.room(), case.levels, np.array(case.cells)
    moves = move_costs(case.layout, cells, own, room.values)
    levels = random_levels(case.layout, (len(cells),), rng)
    places = levels + case.layout.offsets
    values = np.take_along_axis(room.values, places, axis=1)
    together = np.take_along_axis(moves, places, axis=1).sum(axis=1)
    assert total_costs(case.layout, cells, values, own, levels) == pytest.approx(together)
    for row in range(len(cells)):
        for i, feature in enumerate(case.layout.schema.features):
            for level in range(case.layout.axes[i].known):
                value = room.values[row, case.layout.offsets[i] + level]
                expected = 0.0 if level == own[row, i] else slow_price(feature, cells[row, i], value)
                assert moves[row, case.layout.offsets[i] + level] == pytest.approx(expected)


def test_prices_broadcast_one_person_against_many_values() -> None:
    found = price(HOURS, np.array([[30.0], [10.0]]), np.array([[20.0, 30.0, 50.0]]), np.array([[True, False, True]]))
    assert found.tolist() == [[4.5, 0.0, 12.0], [7.0, 0.0, 22.0]]


@pytest.mark.parametrize(
    ("changes", "dearer"),
    [
        ({}, False),
        ({"cost": 1}, False),
        ({"cost": 0.0}, True),
        ({"cost": 2.0}, True),
        ({"cost_up": 0.5}, True),
        ({"cost_down": 0.5}, True),
        ({"level_costs": (0.0, 0.0)}, True),
        ({"cost": 2.0, "moves": "never"}, False),
    ],
)
def test_some_change_costs_more_than_another_if_a_feature_that_may_move_says_so(
    changes: dict[str, Any], dearer: bool
) -> None:
    plain = Feature(name="a", kind="numeric")
    other = Feature(**{"name": "b", "kind": "ordinal", "levels": (1, 2)} | changes)
    layout = Layout(Schema((plain, other)), (numeric_axis((1.0,), low=None, high=None), categorical_axis(other)))
    assert layout.priced is dearer
