"""Limits: how they are given, every sentence about what does not fit, and how they are read back."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rooms import random_case
from l2c.core.feature import Feature
from l2c.core.limits import ANY, NO_LIMITS, Limits, Span, chosen_levels, in_words
from l2c.errors import InputError
from tables import SEEDS

HOURS = Feature(name="hours", kind="numeric", low=0, high=80)
AGE = Feature(name="age", kind="numeric", integer=True)
JOB = Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook"))
SCHOOL = Feature(name="school", kind="ordinal", levels=("low", "middle", "high"))
GRADE = Feature(name="grade", kind="ordinal", levels=(1, 2, 3))
OWNER = Feature(name="owner", kind="binary", levels=(False, True))
FEATURES = (HOURS, AGE, JOB, SCHOOL, GRADE, OWNER)


def refused(**given: Any) -> list[str]:
    """Return what is said against limits whatever the features are."""
    with pytest.raises(InputError) as caught:
        Limits(**given)
    return list(caught.value.problems)


def told(**given: Any) -> list[str]:
    """Return what is said against limits for these features."""
    return list(Limits(**given).problems(FEATURES))


# How they are given


def test_a_single_name_or_condition_needs_no_list() -> None:
    assert Limits(lock="job", where="hours < 9") == Limits(lock=["job"], where=("hours < 9",))


def test_whatever_is_walked_through_only_once_is_kept() -> None:
    pairs = (pair for pair in [("clerk", "nurse")])
    limits = Limits(lock=(name for name in ["job", "age"]), where=iter(["hours < 9"]), forbid={"job": pairs})
    assert limits == Limits(lock=["job", "age"], where=["hours < 9"], forbid={"job": [("clerk", "nurse")]})
    assert limits.lock == ("job", "age")


def test_the_same_limits_are_equal_however_they_are_written() -> None:
    assert Limits(permit={"hours": [20, 45]}) == Limits(permit={"hours": (20, 45)})
    assert Limits(permit={"hours": (20, None)}) == Limits(permit={"hours": {"from": 20}})
    assert Limits(permit={"hours": (20, None)}) == Limits(permit={"hours": Span(20)})
    assert Limits(permit={"school": {"to": "low"}}) == Limits(permit={"school": Span(None, "low")})
    assert Limits(forbid={"job": [["clerk", ["nurse"]]]}) == Limits(forbid={"job": (("clerk", ("nurse",)),)})
    assert Limits(forbid={"hours": [((None, 9), ANY)]}) == Limits(forbid={"hours": [({"to": 9}, "*")]})
    assert Limits(lock={"b", "a", "c"}) == Limits(lock=["a", "b", "c"])
    assert Limits(permit={"job": {"nurse", "clerk"}}) == Limits(permit={"job": ["clerk", "nurse"]})


def test_numbers_of_numpy_become_plain_ones() -> None:
    limits = Limits(
        permit={"hours": (np.int64(20), np.float32(45.5)), "age": np.int16(30), "grade": [np.int64(1), np.int64(2)]},
        forbid={"hours": [(np.float64(1.5), {"to": np.int8(3)})]},
        max_changes=np.int64(3),
        min_sparsity=np.float32(0.5),
        max_cost=np.float64(2.5),
    )
    assert told(permit=limits.permit) == []
    assert json.loads(json.dumps(limits.to_dict())) == {
        "permit": {"hours": [20, 45.5], "age": 30, "grade": [1, 2]},
        "forbid": {"hours": [[1.5, {"to": 3}]]},
        "max_changes": 3,
        "min_sparsity": 0.5,
        "max_cost": 2.5,
    }


def test_no_limits_are_false() -> None:
    assert not NO_LIMITS
    assert not Limits(lock=[], permit={}, forbid={}, where=[])
    for some in ({"lock": "a"}, {"max_cost": 0}, {"min_sparsity": 0.0}, {"max_changes": 1}, {"where": "a > 1"}):
        assert Limits(**some)


def test_changing_what_was_given_does_not_change_the_limits() -> None:
    permit, levels = {"job": ["clerk"]}, ["clerk"]
    limits = Limits(permit=permit | {"school": levels})
    permit["job"].append("nurse")
    levels.append("cook")
    assert limits.permit == {"job": ("clerk",), "school": ("clerk",)}


# What does not fit, whatever the features


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"lock": 3}, "lock takes names, each a text, not 3"),
        ({"lock": ["a", 3]}, "lock takes names, each a text, not ('a', 3)"),
        ({"where": [3]}, "where takes conditions, each a text, not (3,)"),
        ({"where": None}, "where takes conditions, each a text, not None"),
        ({"permit": ["job"]}, "permit takes a feature's name with what it means for it, not ['job']"),
        ({"forbid": "job"}, "forbid takes a feature's name with what it means for it, not 'job'"),
        (
            {"forbid": {"job": ("clerk", "nurse")}},
            "forbid 'job': expected transitions, each a pair (before, after), not ('clerk', 'nurse')",
        ),
        (
            {"forbid": {"job": {"clerk": "nurse"}}},
            "forbid 'job': expected transitions, each a pair (before, after), not {'clerk': 'nurse'}",
        ),
        ({"forbid": {"job": "*"}}, "forbid 'job': expected transitions, each a pair (before, after), not '*'"),
        ({"forbid": {"job": 3}}, "forbid 'job': expected transitions, each a pair (before, after), not 3"),
        (
            {"forbid": {"job": [("a", "b", "c")]}},
            "forbid 'job': expected transitions, each a pair (before, after), not (('a', 'b', 'c'),)",
        ),
        ({"max_changes": 0}, "max_changes must be a whole number of at least 1, not 0"),
        ({"max_changes": 2.0}, "max_changes must be a whole number of at least 1, not 2.0"),
        ({"max_changes": True}, "max_changes must be a whole number of at least 1, not True"),
        ({"max_changes": "3"}, "max_changes must be a whole number of at least 1, not '3'"),
        ({"min_sparsity": 1.01}, "min_sparsity is a share from 0 to 1, not 1.01"),
        ({"min_sparsity": -0.1}, "min_sparsity is a share from 0 to 1, not -0.1"),
        ({"min_sparsity": nan}, "min_sparsity is a share from 0 to 1, not nan"),
        ({"min_sparsity": "half"}, "min_sparsity is a share from 0 to 1, not 'half'"),
        ({"max_cost": -1}, "max_cost is a number of at least 0, not -1"),
        ({"max_cost": nan}, "max_cost is a number of at least 0, not nan"),
        ({"max_cost": True}, "max_cost is a number of at least 0, not True"),
    ],
)
def test_limits_of_the_wrong_shape_are_refused(given: dict[str, Any], problem: str) -> None:
    assert refused(**given) == [problem]


def test_everything_of_the_wrong_shape_is_told_at_once() -> None:
    assert refused(lock=3, where=[3], permit=[], forbid={"a": 3}, max_changes=0, min_sparsity=2, max_cost=-1) == [
        "lock takes names, each a text, not 3",
        "where takes conditions, each a text, not (3,)",
        "permit takes a feature's name with what it means for it, not []",
        "forbid 'a': expected transitions, each a pair (before, after), not 3",
        "max_changes must be a whole number of at least 1, not 0",
        "min_sparsity is a share from 0 to 1, not 2",
        "max_cost is a number of at least 0, not -1",
    ]


# What does not fit these features


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"lock": "jop"}, "lock: there is no feature 'jop'; did you mean 'job'?"),
        ({"permit": {"hour": (1, 2)}}, "permit: there is no feature 'hour'; did you mean 'hours'?"),
        ({"forbid": {"zzz": [("*", "*")]}}, "forbid: there is no feature 'zzz'"),
        ({"permit": {"hours": (45, 20)}}, "permit 'hours': the range 45 to 20 is empty"),
        ({"permit": {"school": {"from": "high", "to": "low"}}}, "permit 'school': the range high to low is empty"),
        ({"permit": {"age": (20.2, 20.8)}}, "permit 'age': the range 20.2 to 20.8 holds no whole number"),
        ({"permit": {"age": 20.5}}, "permit 'age': the range 20.5 holds no whole number"),
        ({"permit": {"hours": (90, 99)}}, "permit 'hours': 90 to 99 lies outside 0 to 80, where it is proposed"),
        ({"permit": {"hours": {"to": -1}}}, "permit 'hours': at most -1 lies outside 0 to 80, where it is proposed"),
        ({"permit": {"job": []}}, "permit 'job': no level is permitted at all; lock the feature instead"),
        ({"permit": {"hours": []}}, "permit 'hours': expected a range (low, high), not ()"),
        ({"permit": {"hours": (1, 2, 3)}}, "permit 'hours': expected a range (low, high), not (1, 2, 3)"),
        ({"permit": {"hours": {1, 2, 3}}}, "permit 'hours': expected a range (low, high), not (1, 2, 3)"),
        ({"permit": {"hours": None}}, "permit 'hours': expected a range (low, high), not None"),
        ({"permit": {"job": None}}, "permit 'job': expected levels or a range, not None"),
        ({"permit": {"hours": ("low", 5)}}, "permit 'hours': 'low' is not a number"),
        ({"permit": {"hours": (True, 5)}}, "permit 'hours': True is not a number"),
        ({"permit": {"hours": (nan, 5)}}, "permit 'hours': nan is not a number"),
        ({"permit": {"hours": "lots"}}, "permit 'hours': 'lots' is not a number"),
        ({"permit": {"hours": {}}}, "permit 'hours': a range has 'from' and 'to', not nothing"),
        ({"permit": {"hours": {"low": 3}}}, "permit 'hours': a range has 'from' and 'to', not 'low'"),
        (
            {"permit": {"hours": (None, None)}},
            "permit 'hours': a range has 'from', 'to' or both, and this one has neither",
        ),
        ({"permit": {"school": Span()}}, "permit 'school': a range has 'from', 'to' or both, and this one has neither"),
        (
            {"permit": {"job": {"from": "clerk"}}},
            "permit 'job': it is categorical and has no order, so it has no range; list its levels",
        ),
        (
            {"permit": {"job": ["clerc"]}},
            "permit 'job': 'clerc' is none of its levels, 'clerk', 'nurse', 'cook'; did you mean 'clerk'?",
        ),
        ({"permit": {"job": ["clerk", None]}}, "permit 'job': None is none of its levels, 'clerk', 'nurse', 'cook'"),
        ({"permit": {"grade": [4]}}, "permit 'grade': 4 is none of its levels, 1, 2, 3"),
        (
            {"permit": {"school": {"from": "midle"}}},
            "permit 'school': 'midle' is none of its levels, 'low', 'middle', 'high'; did you mean 'middle'?",
        ),
        (
            {"forbid": {"job": [("clerk", "nurs")]}},
            "forbid 'job': 'nurs' is none of its levels, 'clerk', 'nurse', 'cook'; did you mean 'nurse'?",
        ),
        ({"forbid": {"hours": [("*", "lots")]}}, "forbid 'hours': 'lots' is not a number"),
        ({"forbid": {"hours": [((1, 2, 3), "*")]}}, "forbid 'hours': expected a range (low, high), not (1, 2, 3)"),
        (
            {"where": "hours <= was.hour + 10"},
            "where: there is no feature 'hour'; did you mean 'hours'?\n  hours <= was.hour + 10\n               ^^^^",
        ),
        (
            {"where": "job < 'cook'"},
            "where: 'job' is categorical and has no order; declare it ordinal\n  job < 'cook'\n  ^^^",
        ),
    ],
)
def test_limits_that_do_not_fit_are_told(given: dict[str, Any], problem: str) -> None:
    assert told(**given) == [problem]


def test_all_that_does_not_fit_is_told_at_once() -> None:
    given = {
        "lock": ["jop", "job"],
        "permit": {"hours": (9, 1), "job": ["x", "y"]},
        "forbid": {"job": [("x", "clerk"), ("x", "*")], "agee": []},
        "where": ["hours <", "age > 3", "age > "],
    }
    assert told(**given) == [
        "lock: there is no feature 'jop'; did you mean 'job'?",
        "forbid: there is no feature 'agee'; did you mean 'age'?",
        "permit 'hours': the range 9 to 1 is empty",
        "permit 'job': 'x' is none of its levels, 'clerk', 'nurse', 'cook'",
        "permit 'job': 'y' is none of its levels, 'clerk', 'nurse', 'cook'",
        "forbid 'job': 'x' is none of its levels, 'clerk', 'nurse', 'cook'",
        "where: expected a value, but the expression ends\n  hours <\n         ^",
        "where: expected a value, but the expression ends\n  age >\n       ^",
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"permit": {"hours": (20, 20)}},
        {"permit": {"hours": (0, 10**30)}},
        {"permit": {"hours": (-inf, 20)}},
        {"permit": {"hours": (80, 90)}},
        {"permit": {"age": (20.5, 21)}},
        {"permit": {"age": (None, 20.5)}},
        {"permit": {"owner": True}},
        {"permit": {"owner": [False]}},
        {"permit": {"grade": (1, None)}},
        {"permit": {"school": ("low", "high")}},
        {"permit": {"school": {"from": "low", "to": "low"}}},
        {"forbid": {"job": []}},
        {"forbid": {"hours": [("*", "*"), ((1, None), 3), ({"to": 3}, [1, 2])]}},
        {"max_cost": inf},
        {"max_changes": 99},
    ],
)
def test_limits_that_fit_are_left_in_peace(given: dict[str, Any]) -> None:
    assert told(**given) == []


# What they stand for


def test_two_numbers_are_a_range_of_numbers_and_two_levels_of_others() -> None:
    assert chosen_levels(HOURS, (20, 45)) == Span(20, 45)
    assert chosen_levels(HOURS, 20) == Span(20, 20)
    assert chosen_levels(GRADE, (1, 3)) == (1, 3)
    assert chosen_levels(GRADE, 1) == (1,)
    assert chosen_levels(JOB, "clerk") == ("clerk",)
    assert chosen_levels(SCHOOL, {"from": "low"}) == Span("low", None)
    assert chosen_levels(SCHOOL, Span("low", "high")) == Span("low", "high")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("*", "anything"),
        ("clerk", "clerk"),
        (3.5, "3.5"),
        (True, "True"),
        (["clerk", "nurse", "cook"], "clerk or nurse or cook"),
        ((20, 45), "20 to 45"),
        ((20, 20), "20"),
        ((20, None), "20 or more"),
        ((None, 45), "at most 45"),
        ({"from": 20}, "20 or more"),
        ({"from": "low", "to": "high"}, "low to high"),
        ({"from": "middle"}, "middle or more"),
        ({"to": "middle"}, "at most middle"),
        (Span("low", "low"), "low"),
        (Span(), "anything"),
    ],
)
def test_what_is_permitted_is_said_as_people_would(given: object, words: str) -> None:
    assert in_words(given) == words


def test_two_levels_that_are_numbers_are_not_said_to_be_a_range() -> None:
    assert in_words([1, 3], GRADE) == "1 or 3"
    assert in_words([1, 3], HOURS) == "1 to 3"
    limits = Limits(permit={"grade": [1, 3], "hours": [1, 3]}, forbid={"grade": [([1, 2], 3)]})
    assert limits.sentences(FEATURES) == [
        "grade may become 1 or 3",
        "hours may become 1 to 3",
        "grade may not go from 1 or 2 to 3",
    ]


def test_all_limits_are_told_in_words() -> None:
    limits = Limits(
        lock=["job", "owner"],
        permit={"hours": {"from": 20}, "school": ["low", "high"]},
        forbid={"job": [("clerk", ["nurse", "cook"]), ("*", "clerk")]},
        where=["hours <= was.hours\n   + 10"],
        max_changes=2,
        min_sparsity=0.75,
        max_cost=2.5,
    )
    assert limits.sentences() == [
        "job stays as it is",
        "owner stays as it is",
        "hours may become 20 or more",
        "school may become low or high",
        "job may not go from clerk to nurse or cook",
        "job may not go from anything to clerk",
        "always hours <= was.hours + 10",
        "at most 2 features change",
        "at least 75% of the features stay",
        "a change costs at most 2.5",
    ]
    assert Limits(max_changes=1).sentences() == ["at most 1 feature changes"]
    assert NO_LIMITS.sentences() == []


# Conditions in parts


def test_conditions_are_split_into_the_parts_that_must_all_hold() -> None:
    limits = Limits(where=["20 <= hours <= 45 and (age > 3 and job == 'cook')", "age > 1 or hours > 2"], max_changes=2)
    assert limits.split(FEATURES) == Limits(
        where=["20 <= hours", "hours <= 45", "age > 3", "job == 'cook'", "age > 1 or hours > 2"], max_changes=2
    )
    assert [condition.text for condition in limits.conditions(FEATURES)] == list(limits.split(FEATURES).where)
    assert limits.split(FEATURES).split(FEATURES) == limits.split(FEATURES)
    assert NO_LIMITS.split(FEATURES) is NO_LIMITS


# How many may change


@given(st.integers(1, 60), st.integers(0, 10_000), st.none() | st.integers(1, 70))
def test_the_most_changes_leave_the_share_that_was_written(features: int, share: int, most: int | None) -> None:
    exact = Fraction(share, 10_000)
    limits = Limits(min_sparsity=share / 10_000, max_changes=most)
    fitting = [
        count
        for count in range(features + 1)
        if 1 - Fraction(count, features) >= exact and (most is None or count <= most)
    ]
    assert limits.most_changes(features) == max(fitting)


@given(st.integers(1, 200), st.data())
def test_a_share_that_is_worked_out_leaves_what_it_was_worked_out_from(features: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, features))
    for share in (1 - count / features, (features - count) / features):
        assert Limits(min_sparsity=share).most_changes(features) == count


def test_without_a_limit_everything_may_change() -> None:
    assert NO_LIMITS.most_changes(7) == 7
    assert Limits(max_changes=9).most_changes(7) == 7
    assert Limits(min_sparsity=0).most_changes(7) == 7
    assert Limits(min_sparsity=1).most_changes(7) == 0


# Plain data


@given(SEEDS)
def test_limits_are_read_back_equal_from_plain_data(seed: int) -> None:
    case = random_case(seed)
    for asked in (case.standing, *case.asked):
        back = Limits.from_dict(json.loads(json.dumps(asked.limits.to_dict())))
        assert back == asked.limits
        assert repr(back) == repr(asked.limits)


def test_plain_data_leaves_out_what_is_not_set() -> None:
    assert NO_LIMITS.to_dict() == {}
    limits = Limits(lock="job", permit={"hours": (20, None), "school": ("low",)}, forbid={"job": [("*", {"to": 3})]})
    assert limits.to_dict() == {
        "lock": ["job"],
        "permit": {"hours": {"from": 20}, "school": ["low"]},
        "forbid": {"job": [["*", {"to": 3}]]},
    }
    assert Limits(max_cost=0, min_sparsity=0.0).to_dict() == {"max_cost": 0, "min_sparsity": 0.0}


def test_plain_data_that_is_no_limit_is_told() -> None:
    with pytest.raises(InputError) as caught:
        Limits.from_dict({"locks": ["job"], "max_change": 2, "colour": "red"})
    assert caught.value.problems == (
        "limits have no 'locks'; did you mean 'lock'?",
        "limits have no 'max_change'; did you mean 'max_changes'?",
        "limits have no 'colour'",
    )
    with pytest.raises(InputError, match=r"^max_changes must be a whole number of at least 1, not 0\.5$"):
        Limits.from_dict({"max_changes": 0.5})
