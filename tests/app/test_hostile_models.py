"""Models that break a promise: each is told in a typed error, in time, and nothing that is not valid leaves."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c.errors import ModelError

QUICK = l2c.L2C(epochs=0, select="first")
rng = np.random.default_rng(9)
ROWS = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 120),
        "debt": rng.normal(20, 7, 120).round(1),
        "job": rng.choice(["clerk", "cook", "nurse"], 120),
    }
)
SCHEMA = l2c.Schema.infer(ROWS)


def honest(frame):
    odds = (frame["age"] - 45) / 10 - (frame["debt"] - 20) / 5
    return 1 / (1 + np.exp(-odds.to_numpy()))


class Turning:
    """A model that is honest until it is told to be something else."""

    def __init__(self):
        self.now = honest

    def __call__(self, frame):
        return self.now(frame)


@pytest.fixture
def turning():
    return Turning()


@pytest.fixture
def explainer(turning):
    return QUICK.fit(ROWS, turning, SCHEMA)


def test_a_model_that_answers_at_random_is_not_fitted():
    source = np.random.default_rng(0)
    sentence = r"^the model is not steady: asked twice about the same row, its answers differ by up to 0\.\d+; turn off"
    with pytest.raises(ModelError, match=sentence):
        QUICK.fit(ROWS, lambda frame: source.random(len(frame)), SCHEMA)


def test_a_model_that_looks_at_the_other_rows_is_not_fitted():
    def relative(frame):
        return (frame["age"].rank(method="first") / (len(frame) + 1)).to_numpy()

    with pytest.raises(
        ModelError, match=r"^the model is not steady: its answer to a row depends on the rows beside it"
    ):
        QUICK.fit(ROWS, relative, SCHEMA)


def test_a_number_at_random_is_not_fitted_either():
    source = np.random.default_rng(0)

    def moody(frame):
        return source.normal(size=len(frame))

    moody.regression = True
    with pytest.raises(ModelError, match="the model is not steady"):
        QUICK.fit(ROWS, moody, SCHEMA, desired=(0, 1))


def test_a_model_that_starts_to_answer_at_random_is_reported_and_nothing_leaves(explainer, turning):
    source = np.random.default_rng(1)
    turning.now = lambda frame: source.random(len(frame))
    with pytest.raises(ModelError, match="the model is not steady: asked twice about the same row"):
        explainer.explain(ROWS[:20], 5)


def test_a_model_that_is_random_is_not_taken_for_another_one(explainer, turning, tmp_path):
    explainer.save(tmp_path / "bundle")
    source = np.random.default_rng(1)
    turning.now = lambda frame: source.random(len(frame))
    with pytest.raises(ModelError, match="the model is not steady"):
        l2c.load(tmp_path / "bundle", model=turning)


BROKEN = {
    "raises": (lambda _: 1 / 0, "the model raised ZeroDivisionError: division by zero"),
    "answers NaN": (lambda frame: np.full(len(frame), np.nan), "the model answered NaN for row 0"),
    "answers too few": (lambda frame: np.full(len(frame) - 1, 0.5), r"the model answered \d+ rows with shape"),
    "is no probability": (lambda frame: np.full(len(frame), 1.5), "is no probability: it is outside 0 to 1"),
    "answers words": (lambda frame: ["maybe"] * len(frame), "the model answered with no array of numbers"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("seconds", [None, 30.0])
def test_a_model_that_breaks_later_is_told_by_the_promise_it_broke(explainer, turning, name, seconds):
    turning.now, sentence = BROKEN[name]
    with pytest.raises(ModelError, match=sentence):
        explainer.explain(ROWS[:5], 2, seconds=seconds)


@pytest.mark.parametrize("from_call", [0, 1])
def test_a_model_that_hangs_is_left_behind_when_time_is_up(explainer, turning, from_call):
    released, calls = threading.Event(), []

    def hanging(frame):
        calls.append(len(frame))
        if len(calls) > from_call:
            released.wait(20)
        return honest(frame)

    turning.now = hanging
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"^the model did not answer within 0.3 s$"):
        replace(explainer, _twin=None).explain(ROWS[:20], 200, seconds=0.3)
    took = time.monotonic() - start
    released.set()
    assert took < 10


@pytest.mark.parametrize("from_call", [0, 1, 3])
def test_a_version_that_hangs_is_left_behind_too(explainer, from_call):
    released, calls = threading.Event(), []

    def hanging(frame):
        calls.append(len(frame))
        if len(calls) > from_call:
            released.wait(20)
        return honest(frame)

    with pytest.raises(ModelError, match=r"^the model did not answer within 0.3 s$"):
        explainer.explain(ROWS[:20], 5, robust=[hanging], seconds=0.3)
    released.set()


def test_with_time_enough_the_deadline_changes_nothing(explainer):
    rows = ROWS[:20]
    found = explainer.explain(rows, 5, seconds=60)
    assert found.to_frame().equals(explainer.explain(rows, 5).to_frame())
    assert found.scores(ROWS).to_dict() == explainer.explain(rows, 5).scores(ROWS).to_dict()


def test_what_is_released_is_what_the_model_says_once_more(explainer, turning):
    calls = []

    def fickle(frame):
        """Change its mind about cooks with every second question, but for the same frame twice in a row."""
        calls.append(len(frame))
        return np.where(frame["job"] == "cook", 0.5, honest(frame))

    turning.now = fickle
    long = explainer.explain(ROWS[:20], 5).to_frame()
    assert len(long)
    assert ((fickle(long) > 0.5) == (long["prediction"] == 1)).all()
    assert "cook" not in set(long["job"])
