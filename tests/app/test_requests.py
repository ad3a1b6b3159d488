"""What a caller may ask of `explain`: defaults filled in, and every problem told at once."""

from __future__ import annotations

import numpy as np
import pytest

from l2c.app.requests import Request, checked_request
from l2c.engine.recipe import PAPER, Recipe
from l2c.errors import InputError

CLASSES = ("refused", "granted")


def request(recipe: Recipe = Recipe(), classes: tuple[object, ...] = CLASSES, **given: object) -> Request:  # noqa: B008
    asked: dict[str, object] = {
        "n": 10, "seed": 0, "desired": None, "tries": None, "seconds": None,
        "plausibility": None, "select": None, "pool": None,
    }  # fmt: skip
    return checked_request(recipe, classes, **(asked | given))


def problems(recipe: Recipe = Recipe(), classes: tuple[object, ...] = CLASSES, **given: object) -> tuple[str, ...]:  # noqa: B008
    with pytest.raises(InputError) as caught:
        request(recipe, classes, **given)
    return caught.value.problems


def test_what_is_not_said_is_filled_in():
    assert request() == Request(
        n=10, seed=0, desired=None, tries=20_000, seconds=None, plausibility=0.5, select="balanced", pool=200
    )


@pytest.mark.parametrize(("n", "pool"), [(1, 200), (20, 200), (21, 210), (1000, 10_000)])
@pytest.mark.parametrize("select", ["balanced", "diverse", "sparse"])
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
        ({"select": "best"}, "select must be one of balanced, diverse, sparse, first, not 'best'"),
        (
            {"desired": "grantd"},
            "desired 'grantd' is no class of the model; its classes are 'refused', 'granted'; did you mean 'granted'?",
        ),
    ],
)
def test_a_request_out_of_bounds_is_refused_in_words(given, words):
    assert problems(**given) == (words,)


def test_all_problems_are_told_at_once():
    wrong = {
        "n": 0, "seed": -1, "desired": "x", "tries": 0, "seconds": -1.0, "plausibility": 2.0, "select": "best",
        "pool": 0,
    }  # fmt: skip
    told = problems(**wrong)
    for name in wrong:
        assert sum(name in sentence.split() for sentence in told) == 1, name
    assert len(told) == len(wrong)


def test_of_more_than_two_classes_the_desired_one_must_be_named():
    assert problems(classes=("a", "b", "c")) == (
        "the model has 3 classes: say which is desired, of ('a', 'b', 'c')",
    )  # fmt: skip
    assert request(classes=("a", "b", "c"), desired="c").desired == 2


def test_whole_numbers_of_numpy_become_plain_ones():
    asked = request(n=np.int64(3), seed=np.int32(4), tries=np.int64(5), pool=np.int64(6))
    assert (asked.n, asked.seed, asked.tries, asked.pool) == (3, 4, 5, 6)
    assert {type(number) for number in (asked.n, asked.seed, asked.tries, asked.pool)} == {int}


def test_the_notes_of_a_request_hold_everything_that_decides_the_answer_but_the_goal():
    assert request(n=3, seed=8, seconds=2.0).to_dict() == {
        "seed": 8, "tries": 20_000, "seconds": 2.0, "plausibility": 0.5, "select": "balanced", "pool": 200,
    }  # fmt: skip
