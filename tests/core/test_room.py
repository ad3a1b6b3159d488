"""Rooms: what each row may become, against a walk through every level in plain Python."""

from __future__ import annotations

from itertools import product
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from core.rooms import (
    Case,
    most_changes,
    obeys_rules,
    random_case,
    rule_proof,
    slow_changes,
    slow_price,
    slow_range,
    slow_room,
)
from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout, categorical_axis
from l2c.core.limits import Limits
from l2c.core.room import Room, room_for
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from tables import SEEDS

many = settings(max_examples=200)


def opened(case: Case, room: Room, row: int, of: np.ndarray | None = None) -> list[dict[int, float]]:
    """Return the open levels of each feature of a row with their values (or what else is given for the places)."""
    found = []
    for start, size in zip(case.layout.offsets.tolist(), case.layout.sizes.tolist(), strict=True):
        places = range(start, start + size)
        chosen = room.values if of is None else of
        found.append({place - start: float(chosen[row, place]) for place in places if room.open[row, place]})
    return found


def same(left: list[dict[int, float]], right: list[dict[int, float]]) -> bool:
    """Whether levels and values are the same; a missing value is the same as itself."""
    return repr(left) == repr([{level: float(value) for level, value in levels.items()} for levels in right])


# Against the oracle


@many
@given(SEEDS)
def test_levels_are_open_as_the_limits_say_one_by_one(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row in range(len(case.cells)):
        slow, own = slow_room(case, row), case.levels[row].tolist()
        kept = rule_proof(case.layout.schema, own, slow.values)
        found = opened(case, room, row)
        for levels, before, needed in zip(found, slow.values, kept, strict=True):
            assert needed <= set(levels) <= set(before)
        if all(level in levels for level, levels in zip(own, slow.values, strict=True)):
            # Every feature may stay: what rules can never let through is then closed to the last level.
            assert [set(levels) for levels in found] == kept


@many
@given(SEEDS)
def test_each_open_level_has_the_first_value_that_will_do(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row in range(len(case.cells)):
        slow, found = slow_room(case, row), opened(case, room, row)
        for expected, chosen in ((slow.values, room.values), (slow.others, room.others)):
            left = [{level: of[level] for level in levels} for of, levels in zip(expected, found, strict=True)]
            assert same(opened(case, room, row, chosen), left)


@many
@given(SEEDS)
def test_values_lie_in_their_bins_and_ranges_and_keep_every_condition(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row, was in enumerate(case.cells):
        asked = case.of_row(row)
        for chosen in (room.values, room.others):
            for i, levels in enumerate(opened(case, room, row, chosen)):
                feature, axis = case.layout.schema.features[i], case.layout.axes[i]
                for level, value in levels.items():
                    assert all(said.means(value, was) for a in asked for said in a.said if said.feature == i)
                    if level == case.levels[row, i]:
                        assert value == was[i] or (isnan(value) and isnan(was[i]))
                    elif feature.numeric:
                        low, high = slow_range(feature, asked)
                        assert low <= value <= high
                        assert sum(value > cut for cut in axis.cuts) == level
                        assert value == int(value) or not feature.integer
                    else:
                        assert value == level


@many
@given(SEEDS)
def test_levels_behind_are_those_that_a_direction_alone_forbids(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row in range(len(case.cells)):
        behind = [
            {place - start for place in range(start, start + size) if room.backwards[row, place]}
            for start, size in zip(case.layout.offsets.tolist(), case.layout.sizes.tolist(), strict=True)
        ]
        assert behind == slow_room(case, row).behind
    assert not (room.open & room.backwards).any()


@many
@given(SEEDS)
def test_prices_and_the_number_of_changes_that_they_leave(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row, was in enumerate(case.cells):
        found = opened(case, room, row)
        for i, levels in enumerate(found):
            for level, value in levels.items():
                moved = level != case.levels[row, i]
                price = slow_price(case.layout.schema.features[i], was[i], value) if moved else 0.0
                place = case.layout.offsets[i] + level
                assert (float(moved) if room.prices is None else room.prices[row, place]) == pytest.approx(price)
                assert price <= room.spend[row]
        assert room.changes[row] == slow_changes(case, row, found)


@given(SEEDS)
def test_limits_of_some_rows_do_not_touch_the_others(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row in range(len(case.cells)):
        alone = case.alone(row).room()
        assert np.array_equal(room.open[row], alone.open[0])
        assert np.array_equal(room.backwards[row], alone.backwards[0])
        usable = alone.open[0]
        for together, single in ((room.values, alone.values), (room.others, alone.others)):
            assert np.array_equal(together[row, usable], single[0, usable], equal_nan=True)
        if room.prices is not None and alone.prices is not None:
            assert np.array_equal(room.prices[row], alone.prices[0])
        assert (room.changes[row], room.spend[row]) == (alone.changes[0], alone.spend[0])
        kept = [condition for condition, rows in room.conditions if rows[row]]
        assert kept == [condition for condition, _ in alone.conditions]


@given(SEEDS)
def test_what_binds_several_features_is_left_to_be_checked(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    for row in range(len(case.cells)):
        texts = [said.text for asked in case.of_row(row) for said in asked.said if said.feature is None]
        assert [condition.text for condition, rows in room.conditions if rows[row]] == texts


@given(SEEDS)
def test_some_of_the_rows_have_the_room_that_they_had(seed: int) -> None:
    case = random_case(seed)
    room = case.room()
    rows = np.random.default_rng(seed).integers(0, len(case.cells), 5)
    some = room.take(rows)
    for name in ("open", "backwards", "values", "others", "changes", "spend"):
        assert np.array_equal(getattr(some, name), getattr(room, name)[rows], equal_nan=True)
    assert (some.prices is None) == (room.prices is None)
    assert room.prices is None or np.array_equal(some.prices, room.prices[rows])
    for (condition, which), (expected, whose) in zip(some.conditions, room.conditions, strict=True):
        assert condition is expected
        assert np.array_equal(which, whose[rows])


@given(SEEDS)
def test_combinations_choices_and_what_must_change_are_counted_one_by_one(seed: int) -> None:
    case = random_case(seed)
    room, levels = case.room(), case.levels
    counted = room.combinations(case.layout, levels)
    for row in range(len(case.cells)):
        own, found = levels[row].tolist(), opened(case, room, row)
        every = [
            proposal
            for proposal in product(*found)
            if sum(now != was for now, was in zip(proposal, own, strict=True)) <= room.changes[row]
        ]
        assert counted[row] == len(every)
        assert room.choices(case.layout)[row].tolist() == [len(choices) for choices in found]
        assert room.must_change(case.layout, levels)[row].tolist() == [
            level not in choices for level, choices in zip(own, found, strict=True)
        ]


@given(SEEDS)
def test_without_conditions_every_row_may_stay_as_it_is(seed: int) -> None:
    case = random_case(seed, conditions=False)
    room = case.room()
    assert not room.must_change(case.layout, case.levels).any()
    assert (room.combinations(case.layout, case.levels) >= 1).all()


@given(SEEDS)
def test_no_proposal_that_can_be_paid_has_more_changes_than_are_counted(seed: int) -> None:
    case = random_case(seed)
    room, features = case.room(), case.layout.schema.features
    for row, was in enumerate(case.cells):
        own, found = case.levels[row].tolist(), opened(case, room, row)
        most = min(most_changes(asked.limits, len(own)) for asked in case.of_row(row))
        for proposal in product(*found):
            changed = [i for i, level in enumerate(proposal) if level != own[i]]
            cost = sum(slow_price(features[i], was[i], found[i][proposal[i]]) for i in changed)
            if cost <= room.spend[row] and len(changed) <= most and obeys_rules(case.layout.schema, own, proposal):
                assert len(changed) <= room.changes[row]


# One by one


HOURS = Feature(name="hours", kind="numeric")
WHOLE = Feature(name="hours", kind="numeric", integer=True)
JOB = Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook"), missing=True)
SCHOOL = Feature(name="school", kind="ordinal", levels=("low", "middle", "high"))
SEX = Feature(name="sex", kind="binary", levels=("f", "m"))

# Three bins, [0, 20], (20, 40] and (40, 60], and the same with open ends.
BINS = Axis((20.0, 40.0), 0.0, 60.0, (10.0, 30.0, 55.0), (8.0, 28.0, 50.0))
OPEN_BINS = Axis((20.0, 40.0), None, None, (10.0, 30.0, 55.0), (8.0, 28.0, 50.0))


def room_of(feature: Feature, own: float, axis: Axis | None = None, **limits: Any) -> dict[int, float]:
    """Return the open levels of a lone row of one feature, beside another one, with their values."""
    axis = axis or (BINS if feature.numeric else categorical_axis(feature))
    other = Feature(name="free", kind="binary", levels=("no", "yes"))
    layout = Layout(Schema((feature, other)), (axis, categorical_axis(other)))
    cells = np.array([[own, 0.0]])
    asked = Limits(**limits)
    assert list(asked.problems(layout.schema.features)) == []
    room = room_for(layout, cells, layout.levels(cells), "median", [(asked, np.array([True]))])
    return {level: float(room.values[0, level]) for level in range(axis.size) if room.open[0, level]}


def test_a_range_cuts_a_bin_and_its_value_is_brought_inside() -> None:
    assert room_of(HOURS, 30.0) == {0: 8.0, 1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, permit={"hours": (12, 45)}) == {0: 12.0, 1: 30.0, 2: 45.0}
    assert room_of(HOURS, 30.0, permit={"hours": (20, 40)}) == {0: 20.0, 1: 30.0}
    assert room_of(HOURS, 30.0, permit={"hours": {"from": 20.5}}) == {1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, permit={"hours": 40.25}) == {1: 30.0, 2: 40.25}


def test_a_whole_number_stays_whole_within_ends_that_are_not() -> None:
    assert room_of(WHOLE, 30.0, permit={"hours": (12.5, 40.75)}) == {0: 13.0, 1: 30.0}
    assert room_of(WHOLE, 30.0, permit={"hours": (19.25, 41.5)}) == {0: 20.0, 1: 30.0, 2: 41.0}
    halves = Axis((20.5, 40.5), None, None, (10.0, 30.0, 55.0), (8.0, 28.0, 50.0))
    assert room_of(WHOLE, 30.0, halves, where="hours >= 19") == {0: 20.0, 1: 30.0, 2: 50.0}
    assert room_of(WHOLE, 30.0, halves, where="hours < 45") == {0: 8.0, 1: 30.0, 2: 41.0}


def test_a_person_outside_the_range_may_stay_there() -> None:
    declared = Feature(name="hours", kind="numeric", low=10, high=45)
    assert room_of(declared, 95.0) == {0: 10.0, 1: 28.0, 2: 95.0}
    assert room_of(declared, -3.0, permit={"hours": (30, 50)}) == {0: -3.0, 1: 30.0, 2: 45.0}
    assert room_of(HOURS, 95.0, lock="hours") == {2: 95.0}


def test_a_range_beyond_the_data_belongs_to_the_outer_bin() -> None:
    assert room_of(HOURS, 30.0, permit={"hours": (70, 80)}) == {1: 30.0, 2: 70.0}
    assert room_of(HOURS, 30.0, permit={"hours": (70, 80)}, forbid={"hours": [("*", (65, 75))]}) == {1: 30.0}


def test_ranges_of_several_limits_hold_together() -> None:
    layout = Layout(Schema((HOURS,), limits=Limits(permit={"hours": {"from": 12}})), (BINS,))
    cells = np.array([[30.0], [30.0]])
    mine = (Limits(permit={"hours": (5, 45)}), np.array([True, False]))
    yours = (Limits(permit={"hours": {"to": 15}}), np.array([True, True]))
    room = room_for(layout, cells, layout.levels(cells), "median", [mine, yours])
    assert room.values.tolist() == [[12.0, 30.0, 15.0], [12.0, 30.0, 15.0]]
    assert room.open.tolist() == [[True, True, False], [True, True, False]]


def test_a_forbidden_range_closes_every_bin_that_it_reaches_into() -> None:
    assert room_of(HOURS, 30.0, forbid={"hours": [("*", (45, 47))]}) == {0: 8.0, 1: 30.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [("*", (20, 40))]}) == {1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [((30, 31), {"to": 5})]}) == {1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [((31, None), {"to": 5})]}) == {0: 8.0, 1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [((None, 30), {"to": 5})]}) == {1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [((None, 29.5), {"to": 5})]}) == {0: 8.0, 1: 30.0, 2: 50.0}


def test_the_first_bin_holds_its_left_end() -> None:
    nothing_or_some = Axis((0.0,), 0.0, None, (0.0, 9.0), (0.0, 5.0))
    assert room_of(HOURS, 7.0, nothing_or_some, forbid={"hours": [("*", 0)]}) == {1: 7.0}
    assert room_of(HOURS, 7.0, nothing_or_some, permit={"hours": 0}) == {0: 0.0, 1: 7.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [("*", {"to": 0})]}) == {1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, forbid={"hours": [("*", {"to": -0.5})]}) == {0: 8.0, 1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, where="hours <= 0 or hours > 50") == {0: 0.0, 2: 55.0}


def test_a_missing_value_may_stay_and_is_never_proposed() -> None:
    gaps = Axis((20.0, 40.0), 0.0, 60.0, (10.0, 30.0, 55.0), (8.0, 28.0, 50.0), missing=True)
    some = Feature(name="hours", kind="numeric", missing=True)
    assert 3 not in room_of(some, 30.0, gaps)
    assert set(room_of(some, nan, gaps)) == {0, 1, 2, 3}
    assert set(room_of(some, nan, gaps, lock="hours")) == {3}
    assert set(room_of(some, nan, gaps, permit={"hours": (0, 20)})) == {0, 3}
    # It is in no range, so a transition from one does not begin there; one from anything does.
    assert set(room_of(some, nan, gaps, forbid={"hours": [((None, 100), (0, 10)), ((0, None), "*")]})) == {0, 1, 2, 3}
    assert set(room_of(some, nan, gaps, forbid={"hours": [("*", (0, 10))]})) == {1, 2, 3}
    assert set(room_of(JOB, nan, forbid={"job": [(["clerk", "nurse", "cook"], "*"), ("*", "cook")]})) == {0, 1, 3}
    assert set(room_of(JOB, nan, permit={"job": ["cook"]})) == {2, 3}
    # A comparison with it is false, so it must change; unless that is what is asked.
    assert set(room_of(some, nan, gaps, where="hours <= 40")) == {0, 1}
    assert set(room_of(some, nan, gaps, where="not hours > 40")) == {0, 1, 3}
    assert room_of(some, nan, gaps, where="hours <= was.hours + 10") == {}
    assert set(room_of(JOB, nan, where="job != 'cook'")) == {0, 1}
    one_way = Feature(name="hours", kind="numeric", missing=True, moves="rises")
    assert set(room_of(one_way, nan, gaps)) == {3}


def test_nothing_becomes_missing_because_a_condition_would_allow_it() -> None:
    assert room_of(HOURS, 30.0, OPEN_BINS, where="not hours > 40") == {0: 8.0, 1: 30.0}
    assert room_of(HOURS, 30.0, OPEN_BINS, where="not hours < 20.5") == {1: 30.0, 2: 50.0}


def test_a_condition_takes_another_value_of_the_bin_where_one_will_do() -> None:
    assert room_of(HOURS, 35.0, where="hours <= was.hours + 10") == {0: 8.0, 1: 35.0, 2: pytest.approx(40.2)}
    assert room_of(HOURS, 35.0, where="hours > 52") == {2: 55.0}
    assert room_of(HOURS, 35.0, where="hours > 58 or hours < 1") == {0: 0.0, 2: 60.0}
    assert room_of(WHOLE, 35.0, where="hours <= was.hours + 6") == {0: 8.0, 1: 35.0, 2: 41.0}


def test_the_ends_of_a_bin_are_whole_where_the_number_is_and_lie_in_it() -> None:
    halves = Axis((20.5, 40.5), -0.5, 60.5, (10.0, 30.0, 55.0), (8.0, 28.0, 50.0))
    least = room_of(WHOLE, 30.0, halves, where="hours <= 0 or hours > 55")
    assert repr(least) == "{0: 0.0, 2: 60.0}"
    # The lower end of a bin that is as narrow as can be is that of the bin below.
    narrow = Axis((1.0, np.nextafter(1.0, 2.0)), 0.0, 3.0, (0.5, np.nextafter(1.0, 2.0), 2.0), (0.5, 1.0 + 2**-52, 2.0))
    assert room_of(HOURS, 0.5, narrow, where="hours <= 1") == {0: 0.5}


def test_conditions_on_one_feature_hold_together() -> None:
    # 40.2 would do for the second and 50 for the first, but neither for both.
    assert room_of(HOURS, 30.0, where="hours >= 42 and hours <= 43") == {}
    assert room_of(HOURS, 30.0, where=["hours >= 42", "hours != 50"]) == {2: 55.0}
    assert room_of(HOURS, 30.0, where="52 <= hours <= 56") == {2: 55.0}


def test_a_condition_may_ask_a_person_to_change() -> None:
    layout = Layout(Schema((HOURS, SEX)), (BINS, categorical_axis(SEX)))
    cells = np.array([[30.0, 0.0], [50.0, 0.0]])
    levels = layout.levels(cells)
    asked = [(Limits(where="hours > 45"), np.array([True, True]))]
    room = room_for(layout, cells, levels, "median", asked)
    assert room.must_change(layout, levels).tolist() == [[True, False], [False, False]]
    assert room.combinations(layout, levels).tolist() == [2.0, 2.0]


def test_a_feature_of_one_bin_has_nowhere_to_go() -> None:
    one = Axis((), 5.0, 5.0, (5.0,), (5.0,))
    assert room_of(HOURS, 5.0, one) == {0: 5.0}
    assert room_of(HOURS, 7.0, one, permit={"hours": (5, 6)}) == {0: 7.0}
    assert room_of(HOURS, 7.0, one, where="hours < 6") == {}
    assert room_of(HOURS, 7.0, Axis((), None, None, (5.0,), (5.0,)), where="hours < 6") == {}


def test_levels_are_permitted_by_name_and_by_range() -> None:
    assert set(room_of(SCHOOL, 1.0, permit={"school": {"from": "middle"}})) == {1, 2}
    assert set(room_of(SCHOOL, 1.0, permit={"school": {"from": "low", "to": "middle"}})) == {0, 1}
    assert set(room_of(SCHOOL, 1.0, permit={"school": ["low", "high"]})) == {0, 1, 2}
    assert set(room_of(SCHOOL, 0.0, permit={"school": "high"})) == {0, 2}
    assert set(room_of(SEX, 0.0, permit={"sex": "f"})) == {0}
    assert set(room_of(SEX, 0.0, forbid={"sex": [("f", "m")]})) == {0}
    assert set(room_of(SEX, 1.0, forbid={"sex": [("f", "m")]})) == {0, 1}
    assert set(room_of(SEX, 0.0, where="sex == 'm'")) == {1}


def test_too_dear_a_level_is_closed_and_the_purse_counts_the_changes() -> None:
    dear = Feature(name="hours", kind="numeric", cost=0.1, cost_up=0.25, cost_down=0.0)
    assert room_of(dear, 30.0, max_cost=5.0) == {0: 8.0, 1: 30.0}
    assert room_of(dear, 30.0, max_cost=5.1) == {0: 8.0, 1: 30.0, 2: 50.0}
    assert room_of(HOURS, 30.0, max_cost=0) == {1: 30.0}


def priced_room(costs: tuple[float, ...], max_cost: float | None) -> Room:
    features = tuple(Feature(name=f"f{i}", kind="binary", levels=(0, 1), cost=cost) for i, cost in enumerate(costs))
    layout = Layout(Schema(features), tuple(map(categorical_axis, features)))
    cells = np.zeros((1, len(costs)))
    return room_for(layout, cells, layout.levels(cells), "median", [(Limits(max_cost=max_cost), np.array([True]))])


def test_a_purse_says_how_many_changes_it_pays_for() -> None:
    assert priced_room((1.0, 1.0, 1.0), None).prices is None
    assert priced_room((1.0, 1.0, 1.0), 2.0).changes.tolist() == [2]
    assert priced_room((4.0, 2.0, 1.0), 3.5).changes.tolist() == [2]
    assert priced_room((4.0, 2.0, 1.0), None).changes.tolist() == [3]
    assert priced_room((0.0, 0.0, 1.0), 0.0).changes.tolist() == [2]


def test_a_purse_is_not_a_hair_too_small() -> None:
    # 0.1 + 0.2 + 0.3 is more than 0.6, and 0.3 + 0.2 + 0.1 is not.
    assert priced_room((0.3, 0.2, 0.1), 0.6).changes.tolist() == [3]


# Rules


def chained(rules: list[Implies], own: tuple[int, ...], **limits: Any) -> list[list[int]]:
    """Return the open levels of a row of four features with three levels each."""
    features = tuple(Feature(name=name, kind="ordinal", levels=("x", "y", "z")) for name in "abcd")
    layout = Layout(Schema(features, rules=tuple(rules)), tuple(map(categorical_axis, features)))
    cells = np.array([own], dtype=np.float64)
    room = room_for(layout, cells, layout.levels(cells), "median", [(Limits(**limits), np.array([True]))])
    return [np.flatnonzero(room.open[0, start : start + 3]).tolist() for start in layout.offsets]


def test_a_cause_may_not_rise_where_its_effect_cannot_follow() -> None:
    rule = Implies("a", "b")
    assert chained([rule], (1, 1, 1, 1))[0] == [0, 1, 2]
    assert chained([rule], (1, 2, 1, 1))[0] == [0, 1]
    assert chained([rule], (1, 1, 1, 1), lock="b")[0] == [0, 1]
    assert chained([rule], (1, 1, 1, 1), permit={"b": ["x", "y"]})[0] == [0, 1]
    assert chained([rule], (1, 1, 1, 1), where="b <= was.b")[0] == [0, 1]


def test_chains_of_rules_are_followed_in_whatever_order_they_are_written() -> None:
    for rules in ([("a", "b"), ("b", "c"), ("c", "d")], [("c", "d"), ("a", "b"), ("b", "c")]):
        links = [Implies(*rule) for rule in rules]
        assert chained(links, (1, 1, 1, 2)) == [[0, 1], [0, 1], [0, 1], [0, 1, 2]]
        assert chained(links, (1, 1, 2, 1)) == [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2]]
        only = [Implies(*rule, "only_if") for rule in rules]
        assert chained(only, (2, 1, 1, 1)) == [[0, 1, 2], [0, 1], [0, 1], [0, 1]]


def test_rules_of_different_sorts_are_followed_through_each_other() -> None:
    # b cannot rise, so a cannot, so c, which rises only if a does, cannot, so d cannot.
    rules = [Implies("a", "b"), Implies("a", "c", "only_if"), Implies("d", "c")]
    assert chained(rules, (1, 2, 1, 1)) == [[0, 1], [0, 1, 2], [0, 1], [0, 1]]
    assert chained(rules, (1, 1, 1, 1)) == [[0, 1, 2]] * 4


def test_an_effect_that_may_stay_does_not_hold_its_cause_back() -> None:
    rule = Implies("a", "b", "must_not_fall")
    assert chained([rule], (1, 2, 1, 1))[0] == [0, 1, 2]
    assert chained([rule], (1, 2, 1, 1), lock="b")[0] == [0, 1, 2]
    assert chained([rule], (1, 2, 1, 1), where="b < 'z'")[:2] == [[0, 1], [0, 1]]
    assert chained([rule], (1, 1, 1, 1), where="b != 'y'")[:2] == [[0, 1, 2], [0, 2]]


def test_an_effect_that_is_too_dear_to_rise_holds_its_cause_back() -> None:
    features = (
        Feature(name="a", kind="ordinal", levels=(1, 2)),
        Feature(name="b", kind="ordinal", levels=(1, 2), cost=9.0),
    )
    layout = Layout(Schema(features, rules=(Implies("a", "b"),)), tuple(map(categorical_axis, features)))
    cells = np.zeros((1, 2))
    room = room_for(layout, cells, layout.levels(cells), "median", [(Limits(max_cost=5), np.array([True]))])
    assert room.open.tolist() == [[True, False, True, False]]
    assert room.changes.tolist() == [0]


def test_a_missing_effect_cannot_rise() -> None:
    features = (
        Feature(name="a", kind="ordinal", levels=(1, 2)),
        Feature(name="b", kind="ordinal", levels=(1, 2), missing=True),
    )
    layout = Layout(Schema(features, rules=(Implies("a", "b"),)), tuple(map(categorical_axis, features)))
    cells = np.array([[0.0, nan], [0.0, 0.0]])
    room = room_for(layout, cells, layout.levels(cells), "median")
    assert room.open.tolist() == [[True, False, True, True, True], [True, True, True, True, False]]


# Batches


def test_no_rows_have_an_empty_room() -> None:
    layout = Layout(Schema((HOURS, JOB), limits=Limits(where="hours < 9", max_cost=3)), (BINS, categorical_axis(JOB)))
    cells = np.empty((0, 2))
    room = room_for(layout, cells, layout.levels(cells), "median", [(Limits(max_changes=1), np.empty(0, dtype=bool))])
    assert room.open.shape == (0, 7)
    assert room.combinations(layout, layout.levels(cells)).tolist() == []


def test_limits_for_no_row_at_all_change_nothing() -> None:
    layout = Layout(Schema((HOURS, JOB)), (BINS, categorical_axis(JOB)))
    cells = np.array([[30.0, 1.0]])
    limits = Limits(
        lock="job", permit={"hours": (0, 5)}, forbid={"hours": [("*", "*")]}, where="hours > 50", max_cost=0
    )
    nobody = room_for(layout, cells, layout.levels(cells), "median", [(limits, np.array([False]))])
    assert nobody.open.tolist() == [[True, True, True, True, True, True, False]]
    assert nobody.values[0, :3].tolist() == [8.0, 30.0, 50.0]
    assert (nobody.changes.tolist(), nobody.spend.tolist()) == ([2], [np.inf])
