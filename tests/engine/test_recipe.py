"""The settings of Learning to Counter."""

from __future__ import annotations

import math

import pytest

from l2c.engine.recipe import PAPER, SHARES, Recipe, usual_pool
from l2c.errors import InputError


def test_the_paper_preset_is_appendix_a_2():
    assert (PAPER.alpha, PAPER.epochs, PAPER.temperature, PAPER.learning_rate) == (1e-4, 200, 0.2, 1e-4)
    assert PAPER.epsilon == math.exp(-10)
    assert (PAPER.beta, PAPER.patience, PAPER.steps) == (0.0, None, None)
    assert (PAPER.selector, PAPER.inputs, PAPER.decode) == ("learned", "levels", "midpoint")
    assert (PAPER.refine, PAPER.decode_again, PAPER.plausibility, PAPER.select) == (False, False, 0.0, "first")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"temperature": 0.0}, "temperature must be above 0, not 0.0"),
        ({"temperature": math.nan}, "temperature must be above 0, not nan"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0, not -1.0"),
        ({"batch_size": 0}, "batch_size must be above 0, not 0"),
        ({"hidden": 0}, "hidden must be above 0, not 0"),
        ({"alpha": -1.0}, "alpha must be at least 0, not -1.0"),
        ({"beta": -0.1}, "beta must be at least 0, not -0.1"),
        ({"share": 1.0}, "share must be at least 0 and below 1, or None, not 1.0"),
        ({"share": -0.1}, "share must be at least 0 and below 1, or None, not -0.1"),
        ({"epochs": -1}, "epochs must be at least 0, not -1"),
        ({"epsilon": 1.0}, "epsilon must be at least 0 and below 1, not 1.0"),
        ({"epsilon": -0.1}, "epsilon must be at least 0 and below 1, not -0.1"),
        ({"selection": 0.0}, "selection is a probability above 0, not 0.0"),
        ({"reference_selection": 1.1}, "reference_selection is a probability above 0, not 1.1"),
        ({"patience": 0}, "patience must be at least 1 epoch, or None, not 0"),
        ({"steps": -1}, "steps must be at least 0, not -1"),
        ({"plausibility": 1.01}, "plausibility is a dial from 0 to 1, not 1.01"),
        ({"plausibility": math.nan}, "plausibility is a dial from 0 to 1, not nan"),
        ({"pool": 0}, "pool must be at least 1, or None, not 0"),
        ({"select": "best"}, "select must be one of balanced, diverse, sparse, cheap, first, not 'best'"),
        ({"selector": "none"}, "selector must be one of learned, constant, absent, not 'none'"),
        ({"inputs": "raw"}, "inputs must be one of levels, values, not 'raw'"),
        ({"decode": "mean"}, "decode must be one of auto, median, midpoint, not 'mean'"),
        ({"epochs": "a"}, "epochs must be a whole number, not 'a'"),
        ({"hidden": 1.5}, "hidden must be a whole number, not 1.5"),
        ({"pool": 2.5}, "pool must be a whole number, not 2.5"),
        ({"steps": True}, "steps must be a whole number, not True"),
        ({"temperature": "warm"}, "temperature must be a number, not 'warm'"),
    ],
)
def test_a_setting_out_of_bounds_is_refused_in_words(setting, words):
    with pytest.raises(InputError) as caught:
        Recipe(**setting)
    assert caught.value.problems == (words,)


def test_all_wrong_settings_are_listed_at_once():
    with pytest.raises(InputError) as caught:
        Recipe(temperature=0.0, alpha=-1.0, decode="mean")
    assert len(caught.value.problems) == 3


def test_the_ends_of_the_bounds_are_inside():
    Recipe(
        alpha=0.0, beta=0.0, epochs=0, steps=0, epsilon=0.0, selection=1.0, reference_selection=1.0, patience=1, pool=1,
        plausibility=0.0, share=0.0,
    )  # fmt: skip
    Recipe(plausibility=1.0)


def test_what_may_be_left_open_is_refused_only_where_it_is_given():
    Recipe(share=None, beta=None, steps=None, patience=None, pool=None)
    with pytest.raises(InputError, match=r"^alpha must be a number, not None$"):
        Recipe(alpha=None)


def test_the_shares_to_choose_from_fall():
    assert list(SHARES) == sorted(set(SHARES), reverse=True)
    assert all(0 < share < 1 for share in SHARES)


def test_a_pool_is_ten_for_each_one_asked_and_two_hundred_at_least():
    assert [usual_pool(n) for n in (1, 20, 21, 100)] == [200, 200, 210, 1000]
