"""A torch module as a black box: a frozen copy, asked in blocks of one size, with gradients for soft rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import l2c
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox, differentiable
from l2c.adapters.models.torch_model import BLOCK, LARGE_BLOCK
from l2c.engine.discretise import discretise
from l2c.errors import InputError, ModelError

ROWS = LARGE_BLOCK + 300
rng = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 80, ROWS),
        "debt": pd.Series(rng.normal(2000, 700, ROWS)).mask(rng.random(ROWS) < 0.2),
        "job": pd.Series(rng.choice(["clerk", "cook", "nurse"], ROWS)).mask(rng.random(ROWS) < 0.1),
        "school": rng.choice([1, 2, 3], ROWS),
    }
)
SCHEMA = l2c.Schema.infer(PEOPLE)
CELLS = frames.strict(frames.read(PEOPLE, SCHEMA))
SHAPE = frames.shape_of(PEOPLE, SCHEMA)
LAYOUT = discretise(SCHEMA, CELLS, np.zeros(ROWS, dtype=np.int64))
INPUTS = l2c.OneHotInput.fit(PEOPLE, SCHEMA)
MATRIX = torch.from_numpy(INPUTS.transform(PEOPLE))


def network(outputs: int, *after: nn.Module, units: int = 32) -> nn.Sequential:
    """Return a small network with random weights, the same every time.

    Not too small: MKL multiplies 10 × 8 matrices such that odd and even rows round differently.
    """
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(INPUTS.width, units), nn.ReLU(), nn.Linear(units, outputs), *after)


def answers(module: nn.Module) -> np.ndarray:
    with torch.no_grad():
        return module.eval()(MATRIX).double().numpy()


class Answering(nn.Module):
    """A module that gives back whatever a function makes of its input."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, matrix: torch.Tensor) -> Any:
        return self.answer(matrix)


def test_one_logit_is_the_log_odds_of_the_second_class():
    yes = 1 / (1 + np.exp(-answers(network(1))))
    proba = l2c.TorchModel(network(1), INPUTS).proba(CELLS)
    np.testing.assert_allclose(proba, np.hstack([1 - yes, yes]), rtol=0, atol=1e-6)


def test_a_module_may_answer_one_number_a_row_without_a_column():
    expected = l2c.TorchModel(network(1), INPUTS).proba(CELLS)
    assert (l2c.TorchModel(network(1, nn.Flatten(0)), INPUTS).proba(CELLS) == expected).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_several_logits_become_probabilities_by_softmax(classes):
    mass = np.exp(answers(network(classes)))
    model = l2c.TorchModel(network(classes), INPUTS, classes=range(classes))
    np.testing.assert_allclose(model.proba(CELLS), mass / mass.sum(axis=1, keepdims=True), rtol=0, atol=1e-6)


def test_one_probability_is_that_of_the_second_class():
    yes = answers(network(1, nn.Sigmoid()))
    model = l2c.TorchModel(network(1, nn.Sigmoid()), INPUTS, outputs="probabilities")
    np.testing.assert_allclose(model.proba(CELLS), np.hstack([1 - yes, yes]), rtol=0, atol=1e-6)


def test_several_probabilities_are_taken_as_they_are():
    module = network(3, nn.Softmax(dim=1))
    model = l2c.TorchModel(module, INPUTS, classes=("a", "b", "c"), outputs="probabilities")
    np.testing.assert_allclose(model.proba(CELLS), answers(module), rtol=0, atol=1e-7)


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_a_module_that_is_quite_sure_is_believed_and_has_a_finite_gradient(sure):
    model = l2c.TorchModel(Answering(lambda m: m[:, 0] * 0 + sure), INPUTS, outputs="probabilities")
    assert model.proba(CELLS[:2]).tolist() == [[1 - sure, sure]] * 2
    values, hot = soft(CELLS[:2])
    logits = model.differentiable(LAYOUT).logits(values.requires_grad_(), hot)
    logits.softmax(dim=1)[:, 1].sum().backward()
    assert logits.isfinite().all()
    assert values.grad.isfinite().all()


def test_classes_keep_their_order_and_become_plain_values():
    model = l2c.TorchModel(network(2), INPUTS, classes=np.array(["late", "paid"]))
    assert model.classes == ("late", "paid")
    assert [type(label) for label in model.classes] == [str, str]


def test_the_users_module_stays_as_it_was():
    module = nn.Sequential(nn.Linear(INPUTS.width, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1)).train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    model = l2c.TorchModel(module, INPUTS)
    model.proba(CELLS)
    values, hot = soft(CELLS)
    model.differentiable(LAYOUT).logits(values.requires_grad_(), hot).sum().backward()
    assert all(part.training for part in module.modules())
    assert all(weight.requires_grad for weight in module.parameters())
    assert all(weight.grad is None for weight in module.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_the_copy_is_frozen_in_evaluation_mode():
    module = nn.Sequential(nn.Linear(INPUTS.width, 8), nn.Dropout(0.5), nn.Linear(8, 1)).train()
    model = l2c.TorchModel(module, INPUTS)
    first = model.proba(CELLS)
    assert (model.proba(CELLS) == first).all()
    with torch.no_grad():
        module[0].weight.zero_()
    assert (model.proba(CELLS) == first).all()
    assert not any(weight.requires_grad for weight in model.module.parameters())


@pytest.mark.parametrize("size", [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, LARGE_BLOCK - 1, LARGE_BLOCK, LARGE_BLOCK + 1])
@pytest.mark.parametrize(("units", "block"), [(32, LARGE_BLOCK), (96, BLOCK)])
def test_a_rows_answer_does_not_depend_on_the_rows_beside_it(units, block, size):
    model = l2c.TorchModel(network(2, units=units), INPUTS)
    assert model.block == block
    whole = model.proba(CELLS)
    rows = range(0, ROWS, size) if size > BLOCK / 2 else rng.choice(ROWS, 20)
    for start in rows:
        assert (model.proba(CELLS[start : start + size]) == whole[start : start + size]).all()


def test_a_probability_has_the_same_bits_whatever_the_number_of_rows():
    for module in (nn.Linear(INPUTS.width, 1), network(1), network(3)):
        model = l2c.TorchModel(module, INPUTS, classes=range(max(2, module(MATRIX[:1]).shape[1])))
        whole = model.proba(CELLS)
        for size in (1, 2, 3, 5, 7, 13, 101):
            for start in range(0, 500, 50):
                assert np.array_equal(model.proba(CELLS[start : start + size]), whole[start : start + size])


@pytest.mark.parametrize("ends", [(0, 0), (1, 1), (5, BLOCK), (BLOCK, BLOCK + 1), (300, 300, 2000, LARGE_BLOCK)])
@pytest.mark.parametrize("units", [32, 96])
def test_rows_in_parts_are_answered_as_all_of_them_at_once(units, ends):
    model = l2c.TorchModel(network(1, units=units), INPUTS)
    assert (model.proba_of_parts(np.split(CELLS, ends)) == model.proba(CELLS)).all()


def test_no_rows_have_no_answers():
    assert l2c.TorchModel(network(2), INPUTS).proba(CELLS[:0]).shape == (0, 2)


def soft(cells: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Return hard rows as the engine gives soft ones: values with missing as 0, and one-hot levels."""
    hot = torch.from_numpy(LAYOUT.one_hot(LAYOUT.levels(cells)))
    return torch.from_numpy(np.nan_to_num(cells).astype(np.float32)), hot


@pytest.mark.parametrize(
    ("module", "outputs"),
    [
        (network(1), "logits"),
        (network(2), "logits"),
        (network(1, nn.Sigmoid()), "probabilities"),
        (network(2, nn.Softmax(dim=1)), "probabilities"),
    ],
)
def test_soft_logits_of_hard_rows_are_the_black_boxs_answers(module, outputs):
    model = l2c.TorchModel(module, INPUTS, outputs=outputs)
    assert np.isnan(CELLS[:, 1]).any()
    assert np.isnan(CELLS[:, 2]).any()
    logits = differentiable(model, LAYOUT, CELLS).logits(*soft(CELLS))
    np.testing.assert_allclose(logits.softmax(dim=1), model.proba(CELLS), rtol=0, atol=2e-6)


def test_a_row_halfway_between_two_is_halfway_in_the_modules_input():
    seen = []

    def keep(matrix: torch.Tensor) -> torch.Tensor:
        seen.append(matrix.detach())
        return matrix[:, :1]

    model = l2c.TorchModel(Answering(keep), INPUTS).differentiable(LAYOUT)
    one, other = CELLS[:50], CELLS[50:100]
    for values, hot in (soft(one), soft(other)):
        model.logits(values, hot)
    model.logits((soft(one)[0] + soft(other)[0]) / 2, (soft(one)[1] + soft(other)[1]) / 2)
    np.testing.assert_allclose(seen[2], (seen[0] + seen[1]) / 2, rtol=0, atol=1e-6)
    np.testing.assert_allclose(seen[0], MATRIX[:50], rtol=0, atol=1e-6)


def test_gradients_reach_values_and_levels_and_agree_with_finite_differences():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(INPUTS.width, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    model = l2c.TorchModel(module, INPUTS).differentiable(LAYOUT)
    values, hot = (part.double().requires_grad_() for part in soft(CELLS[:3]))
    # A step suits the scale of its input: debts are in the thousands.
    assert torch.autograd.gradcheck(model.logits, (values, hot), eps=1e-4, atol=1e-6)
    numeric = [i for i, feature in enumerate(SCHEMA.features) if feature.numeric]
    model.logits(values, hot)[:, 1].sum().backward()
    assert (values.grad[:, numeric] != 0).all()
    assert (hot.grad[:, int(LAYOUT.offsets[2]) :] != 0).all()


@pytest.mark.parametrize(
    ("answer", "outputs", "told"),
    [
        (lambda m: m[:, :1] * float("nan"), "logits", "the model answered NaN for row 0"),
        (
            lambda m: m[:, :2] * 0 + 0.75,
            "probabilities",
            "the model's probabilities do not add to 1: row 0 adds to 1.5",
        ),
        (
            lambda m: m[:, 0] * 0 + 1.25,
            "probabilities",
            "the model's answer for row 0 is no probability: it is outside 0 to 1",
        ),
        (
            lambda m: m[:, :3],
            "logits",
            "the model answered 4 rows with shape (4, 3); expected 4 rows of 2 classes",
        ),
        (lambda m: (m[:, :2], m), "logits", "the module answered with a tuple, not a tensor"),
        (lambda m: m.mean(), "logits", f"the module answered {LARGE_BLOCK} rows with shape ()"),
        (lambda m: m[:1, :2], "logits", f"the module answered {LARGE_BLOCK} rows with shape (1, 2)"),
        (
            lambda m: m[:, :, None],
            "logits",
            f"the module answered {LARGE_BLOCK} rows with shape ({LARGE_BLOCK}, {INPUTS.width}, 1)",
        ),
        (lambda m: m.nothing, "logits", "the module raised AttributeError: 'Tensor' object has no attribute 'nothing'"),
    ],
)
def test_a_module_that_breaks_a_promise_is_refused(answer, outputs, told):
    model = l2c.TorchModel(Answering(answer), INPUTS, outputs=outputs)
    with pytest.raises(ModelError) as caught:
        as_blackbox(model, SHAPE, CELLS[:4])
    assert str(caught.value) == told


@pytest.mark.parametrize(
    "other",
    [
        l2c.Schema(SCHEMA.features[::-1]),
        SCHEMA.edit("job", levels=("nurse", "cook", "clerk")),
        SCHEMA.edit("debt", missing=False),
        l2c.Schema(SCHEMA.features[:-1]),
    ],
    ids=["order", "levels", "missing", "fewer"],
)
def test_an_input_of_other_features_than_the_schema_is_refused(other):
    complete = PEOPLE.dropna()[list(other.names)]
    model = l2c.TorchModel(network(2), l2c.OneHotInput.fit(complete, other))
    with pytest.raises(InputError) as caught:
        as_blackbox(model, SHAPE, CELLS[:4])
    assert str(caught.value) == (
        "the torch model's input has other features, levels or missing values than the schema: "
        "fit OneHotInput with the schema that the explainer is given"
    )


def test_what_does_not_change_the_input_may_differ_between_the_schemas():
    inputs = l2c.OneHotInput.fit(PEOPLE, SCHEMA.edit("age", moves="rises", cost=3.0).edit("job", moves="never"))
    assert as_blackbox(l2c.TorchModel(network(2), inputs), SHAPE, CELLS[:4]).classes == (0, 1)


def test_a_module_that_gives_back_a_part_of_its_input_answers_every_row_by_its_own():
    blackbox = l2c.TorchModel(Answering(lambda matrix: matrix[:, :2]), INPUTS)
    apart = np.concatenate([blackbox.proba(CELLS[start : start + 100]) for start in range(0, ROWS, 100)])
    assert (blackbox.proba(CELLS) == apart).all()
