"""What each level adds to a model's lead: against the model's own answers, and kept in a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import l2c
from adapters.models.test_twins import CELLS, INPUTS, LAYOUT, NETWORKS, box_of, pipeline
from engine.proposing import network, untrained
from l2c.adapters.models import differentiable
from l2c.adapters.models.twins import twin_by_level, twin_of
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.engine.decode import decode_levels
from l2c.engine.encode import Encoder, inputs_of
from l2c.engine.foresight import Foreseen, Summed, arrays_of, foresight_of, summed
from l2c.engine.networks import forward
from l2c.engine.recipe import Recipe
from l2c.engine.tilt import eased, tilted
from tables import question_for, random_levels

DESIRED = np.arange(40) % 2
QUESTION = question_for(LAYOUT, CELLS[:40], current=1 - DESIRED, desired=DESIRED)


def foreseen(seen: Summed | Foreseen, question: Question, levels: np.ndarray) -> np.ndarray:
    """Return the lead that is foreseen for a combination of levels for each row."""
    gains, start = seen.gains(question)
    return np.take_along_axis(gains, levels + LAYOUT.offsets, axis=1).sum(axis=1) + start


def log_odds(model: object, question: Question, levels: np.ndarray) -> np.ndarray:
    """Return the model's own log-odds of the desired class for such combinations."""
    proba = model.proba(decode_levels(LAYOUT, levels, question.room.values, np.arange(len(question))))
    odds = np.log(proba[:, 1] / proba[:, 0])
    return np.where(question.desired == 1, odds, -odds)


@pytest.mark.parametrize("name", ["one layer", "logistic"])
def test_the_gains_of_a_sum_are_the_models_log_odds_for_or_against_its_second_class(name):
    module, classes, outputs = NETWORKS[name]
    model = l2c.TorchModel(module, INPUTS, classes=classes, outputs=outputs)
    seen = summed(twin_of(model, LAYOUT))
    levels = random_levels(LAYOUT, (40,), np.random.default_rng(0))
    assert foreseen(seen, QUESTION, levels) == pytest.approx(log_odds(model, QUESTION, levels), abs=1e-4)


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in ("one layer", "logistic")])
def test_a_network_of_more_layers_or_classes_is_no_such_sum(name):
    module, classes, outputs = NETWORKS[name]
    assert summed(twin_of(l2c.TorchModel(module, INPUTS, classes=classes, outputs=outputs), LAYOUT)) is None


@pytest.mark.parametrize("threshold", [None, 0.2])
def test_a_measured_sum_leads_beyond_where_its_model_decides(threshold):
    box, layout = box_of(*pipeline(LogisticRegression()))
    rows = CELLS[~np.isnan(CELLS).any(axis=1)]
    measured = differentiable(box if threshold is None else replace(box, threshold=threshold), layout, rows)
    seen = summed(twin_by_level(measured))
    question = question_for(layout, rows[:40], current=1 - DESIRED, desired=DESIRED)
    question = replace(question, goal=replace(question.goal, threshold=threshold))
    levels = random_levels(layout, (40,), np.random.default_rng(1))
    proba = box.proba(decode_levels(layout, levels, question.room.values, np.arange(40)))
    gains, start = seen.gains(question)
    lead = np.take_along_axis(gains, levels + layout.offsets, axis=1).sum(axis=1) + start
    assert ((lead > 0) == question.goal.reached(proba)).all()
    assert 0 < (lead > 0).sum() < 40


def test_what_is_differentiable_in_another_way_has_no_twin_by_level():
    assert twin_by_level(None) is None
    assert twin_by_level(l2c.TorchModel(NETWORKS["logistic"][0], INPUTS)) is None


def learned(classes: int = 2) -> Foreseen:
    encoder = Encoder.fit(LAYOUT, "levels", CELLS)
    width = encoder.width + (classes if classes > 2 else 0)
    return Foreseen(encoder, network([width, 6, LAYOUT.width + 1], np.random.default_rng(2)))


def test_a_network_foresees_the_gains_of_all_levels_and_after_them_the_lead_without_them():
    seen = learned()
    answer = forward(seen.network, inputs_of(seen.encoder, QUESTION))
    gains, start = seen.gains(QUESTION)
    sign = np.where(DESIRED == 1, 1, -1)
    assert (gains == answer[:, :-1] * sign[:, None]).all()
    assert (start == answer[:, -1] * sign).all()
    assert seen.noise == pytest.approx(np.var(np.random.default_rng(0).logistic(size=400_000)), rel=0.02)


def test_of_more_than_two_classes_it_foresees_the_one_that_is_desired():
    question = question_for(LAYOUT, CELLS[:9], current=np.arange(9) % 3, desired=(np.arange(9) + 1) % 3)
    seen = learned(3)
    gains, start = seen.gains(question)
    answer = forward(seen.network, inputs_of(seen.encoder, question))
    assert (np.hstack([gains, start[:, None]]) == answer).all()


def test_a_foresight_comes_back_from_a_file_as_it_was():
    logistic = summed(twin_of(l2c.TorchModel(NETWORKS["logistic"][0], INPUTS), LAYOUT))
    for seen in (learned(), logistic):
        arrays = arrays_of(seen)
        assert all(part.flags.c_contiguous for part in arrays.values())
        back = foresight_of(arrays, learned().encoder)
        assert type(back) is type(seen)
        for given, found in zip(seen.gains(QUESTION), back.gains(QUESTION), strict=True):
            assert given.tobytes() == found.tobytes()
    assert arrays_of(None) == {}
    assert foresight_of({}, learned().encoder) is None


def test_a_method_that_foresees_tilts_its_even_law_to_the_recipes_share():
    recipe = Recipe(selector="constant", share=0.8)
    even = untrained(LAYOUT, recipe, QUESTION)
    method = replace(even, foresight=learned())
    gains, start = method.foresight.gains(QUESTION)
    parts = even.local(QUESTION), even.selection(QUESTION)
    for ease in (1.0, 0.3):
        expected = tilted(
            LAYOUT, *parts, QUESTION.levels, gains, start, noise=method.foresight.noise, share=eased(0.8, ease)
        )
        for found, wanted in zip(method.parts(QUESTION, ease), expected, strict=True):
            assert found.tobytes() == wanted.tobytes()
    draws = method.proposer(QUESTION, Streams.for_rows(QUESTION.cells, 0))
    assert (draws.local == method.local(QUESTION)).all()
    assert (draws.selection == method.selection(QUESTION)).all()
    assert (method.law(QUESTION) != even.law(QUESTION)).any()
    assert (method.even_law(QUESTION) == even.even_law(QUESTION)).all()


@pytest.mark.parametrize("share", [None, 0.0])
def test_without_a_share_nothing_is_tilted(share):
    even = untrained(LAYOUT, Recipe(selector="constant", share=share), QUESTION)
    assert (replace(even, foresight=learned()).law(QUESTION) == even.law(QUESTION)).all()
