"""What a caller may ask of `explain`: defaults filled in, and every problem told at once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from l2c.app.asked import Asked
from l2c.app.requests import Request, Wish, checked_request
from l2c.core.feature import Feature
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.schema import Schema
from l2c.engine.recipe import PAPER, Recipe
from l2c.errors import InputError

CLASSES = ("refused", "granted")
SCHEMA = Schema(
    (
        Feature(name="age", kind="numeric", moves="rises"),
        Feature(name="hours", kind="numeric"),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook")),
        Feature(name="school", kind="ordinal", levels=("low", "middle", "high")),
    )
)
ROWS = 3


def request(recipe: Recipe = Recipe(), classes: tuple[object, ...] = CLASSES, **given: Any) -> Request:  # noqa: B008
    schema = given.pop("schema", SCHEMA)
    return checked_request(Asked(**({"n": 10, "seed": 0} | given)), recipe, classes, schema, rows=ROWS)


def problems(recipe: Recipe = Recipe(), classes: tuple[object, ...] = CLASSES, **given: object) -> tuple[str, ...]:  # noqa: B008
    with pytest.raises(InputError) as caught:
        request(recipe, classes, **given)
    return caught.value.problems


def test_what_is_not_said_is_filled_in():
    assert request() == Request(
        n=10, seed=0, tries=20_000, seconds=None, plausibility=0.5, select="balanced", pool=200, patience=500,
        wish=Wish(None, None, NO_LIMITS), by_row={}, reasons=True,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "pool"), [(1, 200), (20, 200), (21, 210), (1000, 10_000)])
@pytest.mark.parametrize("select", ["balanced", "diverse", "sparse", "cheap"])
def test_a_set_is_chosen_from_ten_for_each_one_asked_and_at_least_200(n, pool, select):
    assert request(n=n, select=select).pool == pool


@pytest.mark.parametrize("given", [{}, {"pool": 500}])
def test_the_first_ones_are_chosen_from_no_pool(given):
    assert request(n=7, select="first", **given).pool == 7
    assert request(PAPER, n=7, **given).pool == 7


def test_a_pool_is_never_smaller_than_what_was_asked():
    assert request(n=50, pool=30).pool == 50
    assert request(n=50, pool=60).pool == 60
    assert request(Recipe(pool=70), n=50).pool == 70
    assert request(Recipe(pool=70), n=50, pool=60).pool == 60


@pytest.mark.parametrize(("given", "tries"), [({}, 20_000), ({"n": 50}, 20_000), ({"n": 51}, 20_400)])
def test_draws_end_after_forty_for_each_valid_one_sought_and_not_before_20000(given, tries):
    assert request(**given).tries == tries


def test_tries_and_seconds_that_are_given_are_taken():
    asked = request(n=1000, tries=7, seconds=0.5)
    assert (asked.tries, asked.seconds) == (7, 0.5)


def test_the_dial_and_the_strategy_come_from_the_caller_or_else_from_the_recipe():
    recipe = Recipe(plausibility=0.25, select="sparse")
    assert (request(recipe).plausibility, request(recipe).select) == (0.25, "sparse")
    turned = request(recipe, plausibility=0, select="diverse")
    assert (turned.plausibility, turned.select) == (0.0, "diverse")
    assert isinstance(turned.plausibility, float)


@pytest.mark.parametrize("place", [0, 0.0, 1, 1.0, np.float32(0.5)])
def test_both_ends_of_the_dial_may_be_asked_for(place):
    assert request(plausibility=place).plausibility == place


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n": 0}, "n must be at least 1, not 0"),
        ({"n": 2.0}, "n must be a whole number, not 2.0"),
        ({"n": True}, "n must be a whole number, not True"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"tries": 0}, "tries must be at least 1, not 0"),
        ({"tries": "many"}, "tries must be a whole number, not 'many'"),
        ({"pool": 0}, "pool must be at least 1, not 0"),
        ({"pool": 1.5}, "pool must be a whole number, not 1.5"),
        ({"seconds": 0}, "seconds must be above 0, not 0"),
        ({"seconds": "ten"}, "seconds must be above 0, not 'ten'"),
        ({"plausibility": -0.01}, "plausibility is a dial from 0 to 1, not -0.01"),
        ({"plausibility": 1.01}, "plausibility is a dial from 0 to 1, not 1.01"),
        ({"plausibility": float("nan")}, "plausibility is a dial from 0 to 1, not nan"),
        ({"plausibility": "high"}, "plausibility is a dial from 0 to 1, not 'high'"),
        ({"select": "best"}, "select must be one of balanced, diverse, sparse, cheap, first, not 'best'"),
        ({"n": 10**30}, f"n must be at most 1000000000, not {10**30}"),
        ({"pool": 10**20}, f"pool must be at most 1000000000, not {10**20}"),
        ({"desired": pd.NA}, "desired <NA> is no class of the model; its classes are 'refused', 'granted'"),
        ({"desired_proba": (True, 1)}, "desired_proba is a range (low, high) within 0 to 1, not (True, 1)"),
        ({"desired_proba": {0.5}}, "desired_proba is a range (low, high) within 0 to 1, not {0.5}"),
        (
            {"desired": "grantd"},
            "desired 'grantd' is no class of the model; its classes are 'refused', 'granted'; did you mean 'granted'?",
        ),
    ],
)
def test_a_request_out_of_bounds_is_refused_in_words(given, words):
    assert problems(**given) == (words,)


@pytest.mark.parametrize("make", [list, tuple, pd.Index, pd.Series, np.array])
def test_names_may_come_in_any_kind_of_list(make):
    assert request(lock=make(["job", "age"])) == request(lock=["job", "age"])
    assert request(lock=make([])) == request()
    assert request(limits=make([None] * ROWS)).by_row == {}


@pytest.mark.parametrize("seconds", [1e8, 1e300, float("inf")])
def test_a_deadline_in_years_is_none(seconds):
    assert request(seconds=seconds) == request()


def test_the_range_of_a_number_is_not_desired_row_by_row():
    (problem,) = problems(classes=("outside", "inside"), limits=[{"desired": (10, 20)}, None, {"lock": ["job"]}])
    assert (
        problem
        == "limits of row 0: the range that a predicted number should come to lie in is desired of the whole call"
    )


def test_all_problems_are_told_at_once():
    wrong = {
        "n": 0, "seed": -1, "desired": "x", "tries": 0, "seconds": -1.0, "plausibility": 2.0, "select": "best",
        "pool": 0, "desired_proba": (0.9, 0.1), "max_changes": 0, "min_sparsity": 2, "max_cost": -1,
    }  # fmt: skip
    told = problems(**wrong)
    for name in wrong:
        assert sum(name in sentence.split() for sentence in told) == 1, name
    assert len(told) == len(wrong)


# What should be reached


@pytest.mark.parametrize(
    ("desired", "indices"),
    [
        (None, None),
        ("b", (1,)),
        (["c"], (2,)),
        (("a", "c"), (0, 2)),
        ({"b"}, (1,)),
        (iter("ab"), (0, 1)),
        (np.array(["c", "a"]), (2, 0)),
        (pd.Series(["b"]), (1,)),
        (np.str_("b"), (1,)),
    ],
)
def test_one_class_or_any_of_several_may_be_desired(desired, indices):
    assert request(classes=("a", "b", "c"), desired=desired).wish.desired == indices


def test_classes_that_are_numbers_are_named_as_numbers():
    assert request(classes=(0, 1, 2), desired=np.int64(2)).wish.desired == (2,)
    assert request(classes=(0, 1, 2), desired=range(2)).wish.desired == (0, 1)


PROBA = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]])


def test_by_default_any_class_will_do_but_the_one_that_a_row_has():
    goal = request(classes=("a", "b", "c")).goal(PROBA, np.arange(3))
    assert goal.accepted.tolist() == [[False, True, True], [True, True, False], [True, False, True]]
    assert np.isnan(goal.low).all()
    assert np.isnan(goal.high).all()


def test_a_row_may_wish_for_other_classes_and_another_range_than_the_call():
    limits = [None, {"desired": ["a", "b"]}, {"desired_proba": (0.2, 0.4), "lock": "age"}]
    asked = request(classes=("a", "b", "c"), desired="c", desired_proba=(0.5, 1), limits=limits)
    goal = asked.goal(PROBA, np.arange(3))
    assert goal.accepted.tolist() == [[False, False, True], [True, True, False], [False, False, True]]
    assert goal.low.tolist() == [0.5, 0.5, 0.2]
    assert goal.high.tolist() == [1.0, 1.0, 0.4]
    some = asked.goal(PROBA[[2]], np.array([2]))  # only the last row could be read
    assert (some.low.tolist(), some.accepted.tolist()) == ([0.2], [[False, False, True]])


@pytest.mark.parametrize(
    "proba", [0.7, (0.5,), (0.1, 0.2, 0.3), (0.6, 0.5), (-0.1, 1), (0, 1.1), ("a", "b"), (np.nan, 1), "ab", None]
)
def test_a_range_of_probability_is_two_numbers_from_0_to_1(proba):
    if proba is None:
        assert request(desired_proba=None).wish.proba is None
        return
    assert problems(desired_proba=proba) == (f"desired_proba is a range (low, high) within 0 to 1, not {proba!r}",)


def test_a_desired_class_that_is_none_of_the_models_is_refused_each_by_itself():
    assert problems(desired=["refused", "x", "grant"]) == (
        "desired 'x' is no class of the model; its classes are 'refused', 'granted'",
        "desired 'grant' is no class of the model; its classes are 'refused', 'granted'; did you mean 'granted'?",
    )
    assert problems(desired=[]) == ("desired names no class at all",)


# What should be kept to


def test_limits_hold_for_all_rows_and_those_of_a_row_on_top_for_it_alone():
    tight = {"max_changes": 1, "where": "hours <= 40 and age < 60"}
    asked = request(lock=["job"], limits=[tight, None, dict(tight)])
    whole, single = asked.limits(np.arange(3))
    assert (whole[0], whole[1].tolist()) == (Limits(lock=["job"]), [True] * 3)
    assert single[0] == Limits(max_changes=1, where=["hours <= 40", "age < 60"])  # each part by itself
    assert single[1].tolist() == [True, False, True]
    (_, (_, rows)) = asked.limits(np.array([1, 2]))  # the first row could not be read
    assert rows.tolist() == [False, True]


def test_the_stack_of_a_row_is_what_the_schema_the_call_and_the_row_say():
    schema = Schema(SCHEMA.features, limits=Limits(where=["age < 70 and hours > 10"]))
    asked = request(schema=schema, max_cost=3, limits=[None, {"lock": ["job"]}, {}])
    standing, call = Limits(where=["age < 70", "hours > 10"]), Limits(max_cost=3)
    assert asked.stacks(schema, np.arange(3)) == [
        (standing, call), (standing, call, Limits(lock=["job"])), (standing, call)
    ]  # fmt: skip
    assert request().stacks(SCHEMA, np.arange(3)) == [(), (), ()]


def test_a_rows_limits_may_be_an_object_and_come_in_anything_that_can_be_walked_along():
    one = Limits(lock=["job"], max_changes=2)
    expected = request(limits=[None, one, None]).by_row
    assert expected == {1: Wish(None, None, one)}
    for given in ((None, one, None), iter([None, one, None]), pd.Series([None, one, None], dtype=object)):
        assert request(limits=given).by_row == expected
    assert request(limits=np.array([None, {"lock": ["job"], "max_changes": 2}, None])).by_row == expected


def test_what_numpy_gives_and_what_can_be_walked_along_only_once_is_understood():
    asked = request(
        lock=(name for name in ["job", "age"]),
        permit={"hours": (np.int64(20), np.float32(45)), "school": np.array(["low", "middle"])},
        where=iter(["age < 60"]),
        max_changes=np.int64(2),
        min_sparsity=np.float64(0.25),
        max_cost=np.int32(7),
        desired_proba=np.array([0.5, 0.75]),
    )
    plain = request(
        lock=["job", "age"], permit={"hours": (20, 45), "school": ["low", "middle"]}, where="age < 60", max_changes=2,
        min_sparsity=0.25, max_cost=7, desired_proba=(0.5, 0.75),
    )  # fmt: skip
    assert asked.wish.limits.to_dict() == plain.wish.limits.to_dict()
    assert asked.wish.proba == (0.5, 0.75)
    assert json.loads(json.dumps(asked.to_dict())) == plain.to_dict()


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"lock": ["job"]}, "not {'lock': ['job']}"),
        (Limits(max_changes=2), f"not {Limits(max_changes=2)!r}"),
        ([None, None], "not 2"),
        ([], "not 0"),
        (7, "not 7"),
        ("abc", "not 'abc'"),
    ],
)
def test_limits_by_row_are_one_entry_for_each_row(limits, words):
    assert problems(limits=limits) == (
        f"limits takes one entry for each of the 3 rows (None for no more), {words}",
    )  # fmt: skip


def test_all_problems_of_all_limits_are_told_at_once_with_their_rows():
    told = problems(
        lock=["jobb"],
        permit={"job": ["pilot"], "age": (60, 20)},
        where="hours <= 40 and agee < 3",
        limits=[
            {"lokc": ["job"], "desired": "grantd"},
            {"max_changes": 0, "min_sparsity": 7},
            {"where": ["school > 'tall'", "hours +"], "desired_proba": 3},
        ],
    )
    assert told == (
        "lock: there is no feature 'jobb'; did you mean 'job'?",
        "permit 'job': 'pilot' is none of its levels, 'clerk', 'nurse', 'cook'",
        "permit 'age': the range 60 to 20 is empty",
        "where: there is no feature 'agee'; did you mean 'age'?\n  hours <= 40 and agee < 3\n                  ^^^^",
        "limits of row 0: desired 'grantd' is no class of the model; its classes are 'refused', 'granted'; "
        "did you mean 'granted'?",
        "limits of row 0: limits have no 'lokc'; did you mean 'lock'?",
        "limits of row 1: max_changes must be a whole number of at least 1, not 0",
        "limits of row 1: min_sparsity is a share from 0 to 1, not 7",
        "limits of row 2: desired_proba is a range (low, high) within 0 to 1, not 3",
        "limits of row 2: where: 'school' has no level 'tall'; its levels are 'low', 'middle', 'high'\n"
        "  school > 'tall'\n"
        "           ^^^^^^",
        "limits of row 2: where: expected a value, but the expression ends\n  hours +\n         ^",
    )


def test_a_row_that_is_given_something_else_than_limits_is_named():
    assert problems(limits=[None, 5, ["lock"]]) == (
        "limits of row 1: expected limits by name, not 5",
        "limits of row 2: expected limits by name, not ['lock']",
    )


def test_whole_numbers_of_numpy_become_plain_ones():
    asked = request(n=np.int64(3), seed=np.int32(4), tries=np.int64(5), pool=np.int64(6))
    assert (asked.n, asked.seed, asked.tries, asked.pool) == (3, 4, 5, 6)
    assert {type(number) for number in (asked.n, asked.seed, asked.tries, asked.pool)} == {int}


def test_the_notes_of_a_request_hold_everything_that_decides_the_answer_but_the_goal():
    assert request(n=3, seed=8, seconds=2.0, max_changes=3, permit={"hours": (None, 40)}).to_dict() == {
        "limits": {"max_changes": 3, "permit": {"hours": {"to": 40}}},
        "seed": 8, "tries": 20_000, "seconds": 2.0, "plausibility": 0.5, "select": "balanced", "pool": 200,
    }  # fmt: skip
    assert request(n=3, seed=8, seconds=2.0).to_dict() == {
        "seed": 8, "tries": 20_000, "seconds": 2.0, "plausibility": 0.5, "select": "balanced", "pool": 200,
    }  # fmt: skip


def test_patience_is_two_and_a_half_times_the_pool_unless_the_pool_was_asked_for():
    assert request(n=30).patience == 750
    assert request(n=30, pool=500).patience is None
    assert request(Recipe(pool=500), n=30).patience is None
