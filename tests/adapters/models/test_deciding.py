"""How a model's answer becomes a decision, and how another version of it is held against the same classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import l2c
from adapters.models.people import DECLARED, NUMBERS, THIRDS, WORDS
from l2c.adapters import frames
from l2c.adapters.models import FrameModel, differentiable
from l2c.adapters.models.deciding import another_version, decided, described
from l2c.adapters.models.discretised import discretised
from l2c.adapters.models.threshold import with_threshold
from l2c.adapters.models.watch import within
from l2c.core.blackbox import class_of, threshold_of
from l2c.engine.discretise import discretise
from l2c.errors import InputError, OtherModelError

SCHEMA = l2c.Schema.infer(NUMBERS)
SHAPE = frames.shape_of(NUMBERS, SCHEMA)
CELLS = frames.strict(frames.read(NUMBERS, SCHEMA))


def logistic(labels=WORDS):
    return LogisticRegression(max_iter=1000).fit(NUMBERS, labels)


def torch_model():
    inputs = l2c.OneHotInput.fit(NUMBERS, SCHEMA)
    module = torch.nn.Linear(inputs.width, 1)
    with torch.no_grad():
        module.weight.fill_(1.0)
        module.bias.fill_(0.2)
    return l2c.TorchModel(module, inputs, classes=("late", "paid"))


BOXES = {
    "a frame's model": lambda: decided(logistic(), SHAPE, CELLS[:8]),
    "a torch module": torch_model,
    "a discretised one": lambda: discretised(LogisticRegression(), NUMBERS.assign(paid=WORDS), SCHEMA, target="paid"),
    "one in a hurry": lambda: within(torch_model(), 5.0),
}


def careful_one(name):
    """Return the same with a threshold of 0.3."""
    if name == "one in a hurry":
        return within(with_threshold(torch_model(), 0.3), 5.0)
    return with_threshold(BOXES[name](), 0.3)


@pytest.mark.parametrize("name", BOXES)
def test_any_model_of_two_classes_can_be_decided_elsewhere_and_stays_what_it_is(name):
    plain = BOXES[name]()
    careful = careful_one(name)
    assert type(careful) is type(plain)
    assert (threshold_of(plain), threshold_of(careful)) == (None, 0.3)
    proba = plain.proba(CELLS)
    np.testing.assert_array_equal(careful.proba(CELLS), proba)
    assert class_of(careful, CELLS).tolist() == [int(p > 0.3) for p in proba[:, 1]]
    assert described(careful) == {"threshold": 0.3}
    assert described(plain) == {}


def test_no_threshold_changes_nothing():
    blackbox = BOXES["a frame's model"]()
    assert with_threshold(blackbox, None) is blackbox


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, float("nan"), "0.3", True])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(InputError, match=r"^threshold is a probability above 0 and below 1, not "):
        with_threshold(BOXES["a frame's model"](), threshold)


def test_a_threshold_needs_two_classes_and_their_probabilities():
    with pytest.raises(InputError, match=r"^threshold is for models of two classes; this one has 3$"):
        decided(logistic(THIRDS), SHAPE, CELLS[:8], threshold=0.3)
    with pytest.raises(InputError, match=r"^threshold needs probabilities, and this model answers with labels alone$"):
        decided(LinearSVC().fit(NUMBERS, WORDS), SHAPE, CELLS[:8], threshold=0.3)


@pytest.mark.parametrize("name", ["a frame's model", "a torch module", "one in a hurry"])
def test_learning_sees_log_odds_of_zero_at_the_threshold(name):
    plain = BOXES[name]()
    careful = (
        within(with_threshold(torch_model(), 0.3), 5.0) if name == "one in a hurry" else with_threshold(plain, 0.3)
    )
    layout = discretise(SCHEMA, CELLS, class_of(plain, CELLS))
    values = torch.from_numpy(CELLS).float()
    one_hot = torch.from_numpy(layout.one_hot(layout.levels(CELLS)))
    before, after = (differentiable(box, layout, CELLS).logits(values, one_hot) for box in (plain, careful))
    lead = (after[:, 1] - after[:, 0]).detach().numpy()
    expected = plain.proba(CELLS)[:, 1]
    clear = np.abs(expected - 0.3) > 1e-4
    assert ((lead > 0) == (expected > 0.3))[clear].all()
    shift = (before - after).detach().numpy()
    np.testing.assert_allclose(shift, np.tile([0.0, np.log(0.3 / 0.7)], (len(CELLS), 1)), atol=1e-5)


def test_another_version_answers_in_the_order_of_the_first_ones_classes():
    model = logistic()
    version = another_version(model, SHAPE, CELLS[:1], ("paid", "late"), threshold=0.4)
    assert isinstance(version, FrameModel)
    assert (version.classes, threshold_of(version)) == (("paid", "late"), 0.4)
    np.testing.assert_array_equal(version.proba(CELLS), model.predict_proba(NUMBERS)[:, ::-1])
    turned = another_version(torch_model(), SHAPE, CELLS[:1], ("paid", "late"), threshold=0.4)
    np.testing.assert_array_equal(turned.proba(CELLS), torch_model().proba(CELLS)[:, ::-1])
    assert (turned.classes, threshold_of(turned), turned.labels_only) == (("paid", "late"), 0.4, False)


@pytest.mark.parametrize("labels", [np.where(WORDS == "late", "late", "repaid"), THIRDS])
def test_another_version_has_the_same_classes(labels):
    with pytest.raises(OtherModelError, match=r"are about the classes 'late', 'paid', and this model has .*the same$"):
        another_version(logistic(labels), SHAPE, CELLS[:1], ("late", "paid"))


def test_categories_stay_as_declared_under_a_threshold():
    schema = l2c.Schema.infer(DECLARED)
    cells = frames.strict(frames.read(DECLARED, schema))

    def model(frame):
        assert frame["job"].dtype == DECLARED["job"].dtype
        return np.full(len(frame), 0.4)

    blackbox = decided(model, frames.shape_of(DECLARED, schema), cells[:8], threshold=0.3)
    assert class_of(blackbox, cells).all()
