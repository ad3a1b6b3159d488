"""Models that are asked with frames: estimators, pipelines and functions, and every way in which they break."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import l2c
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox
from l2c.errors import InputError, ModelError

ROWS = 60
rng = np.random.default_rng(7)
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 80, ROWS),
        "debt": rng.normal(20, 7, ROWS),
        "job": rng.choice(["clerk", "cook", "nurse"], ROWS),
    }
)
PAID = (PEOPLE["age"] / 10 - PEOPLE["debt"] / 4 + (PEOPLE["job"] == "cook") > 0).to_numpy()
SCHEMA = l2c.Schema.infer(PEOPLE)
CELLS = frames.strict(frames.read(PEOPLE, SCHEMA))
SHAPE = frames.shape_of(PEOPLE, SCHEMA)

NUMBERS = PEOPLE[["age", "debt"]]
NUMBER_SCHEMA = l2c.Schema.infer(NUMBERS)
NUMBER_CELLS = frames.strict(frames.read(NUMBERS, NUMBER_SCHEMA))
NUMBER_SHAPE = frames.shape_of(NUMBERS, NUMBER_SCHEMA)


def pipeline() -> Any:
    prepared = make_column_transformer((StandardScaler(), ["age", "debt"]), (OneHotEncoder(), ["job"]))
    return make_pipeline(prepared, LogisticRegression())


def refusal(model: object, error: type[Exception] = ModelError) -> str:
    """Return the sentence with which a model is refused when four people are shown to it."""
    with pytest.raises(error) as caught:
        as_blackbox(model, SHAPE, CELLS[:4])
    return str(caught.value)


def test_a_pipeline_answers_cells_as_it_answers_the_frame():
    model = pipeline().fit(PEOPLE, PAID)
    blackbox = as_blackbox(model, SHAPE, CELLS[:8])
    assert (blackbox.proba(CELLS) == model.predict_proba(PEOPLE)).all()


def test_a_search_over_pipelines_is_a_model_too():
    model = GridSearchCV(pipeline(), {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(PEOPLE, PAID)
    assert (as_blackbox(model, SHAPE, CELLS[:8]).proba(CELLS) == model.predict_proba(PEOPLE)).all()


def test_a_target_column_in_the_training_frame_is_not_shown_to_the_model():
    schema = l2c.Schema.infer(PEOPLE.assign(paid=PAID), target="paid")
    model = pipeline().fit(PEOPLE, PAID)
    shape = frames.shape_of(PEOPLE.assign(paid=PAID)[["paid", "debt", "job", "age"]], schema)
    assert (as_blackbox(model, shape, CELLS[:8]).proba(CELLS) == model.predict_proba(PEOPLE)).all()


def test_an_estimator_gets_its_columns_in_the_order_it_was_fitted_on():
    model = LogisticRegression().fit(NUMBERS[["debt", "age"]], PAID)
    blackbox = as_blackbox(model, NUMBER_SHAPE, NUMBER_CELLS[:8])
    assert (blackbox.proba(NUMBER_CELLS) == model.predict_proba(NUMBERS[["debt", "age"]])).all()


def test_a_pipeline_may_have_been_fitted_on_columns_that_it_does_not_use():
    model = pipeline().fit(PEOPLE.assign(paid=PAID)[["paid", *PEOPLE.columns]], PAID)
    assert (as_blackbox(model, SHAPE, CELLS[:8]).proba(CELLS) == model.predict_proba(PEOPLE)).all()


def test_a_column_that_the_model_uses_and_the_schema_lacks_is_named():
    told = refusal(LogisticRegression().fit(NUMBERS.assign(fee=1.0), PAID))
    assert told.startswith("the model raised ValueError: The feature names should match")
    assert "yet now missing:\n- fee" in told


def test_an_estimator_fitted_on_an_array_gets_an_array_in_the_frames_order():
    model = LogisticRegression().fit(NUMBERS.to_numpy(), PAID)
    blackbox = as_blackbox(model, NUMBER_SHAPE, NUMBER_CELLS[:8])
    assert (blackbox.proba(NUMBER_CELLS) == model.predict_proba(NUMBERS.to_numpy())).all()


def test_an_array_has_the_frames_order_even_where_the_schema_has_another():
    schema = l2c.Schema.infer(NUMBERS[["debt", "age"]])
    assert schema.names == ("debt", "age")
    model = LogisticRegression().fit(NUMBERS.to_numpy(), PAID)
    blackbox = as_blackbox(model, frames.shape_of(NUMBERS, schema), NUMBER_CELLS[:8, ::-1])
    assert (blackbox.proba(NUMBER_CELLS[:, ::-1]) == model.predict_proba(NUMBERS.to_numpy())).all()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression().fit(NUMBERS.to_numpy(), PAID),
        LogisticRegression().fit(NUMBERS, PAID),
        lambda frame: 1 / (1 + np.exp(frame.to_numpy() @ [-0.1, 0.25])),
    ],
    ids=["array", "frame", "function"],
)
def test_rows_are_judged_alike_whatever_the_order_of_their_columns(model):
    explainer = l2c.L2C(epochs=1, select="first").fit(NUMBERS, model, NUMBER_SCHEMA)
    found = explainer.explain(NUMBERS[:20], n=4)
    turned = explainer.explain(NUMBERS[["debt", "age"]][:20], n=4)
    assert len(found) > 20
    assert turned.outcomes == found.outcomes
    assert turned.to_frame()[found.to_frame().columns].equals(found.to_frame())


@pytest.mark.parametrize("kind", ["polars", "arrow"])
@pytest.mark.parametrize("fitted_on", ["frame", "array"])
def test_an_estimator_is_asked_through_other_kinds_of_frame(kind, fitted_on):
    native = pl.from_pandas(NUMBERS) if kind == "polars" else pa.table(dict(NUMBERS.items()))
    model = LogisticRegression().fit(native if fitted_on == "frame" else NUMBERS.to_numpy(), PAID)
    blackbox = as_blackbox(model, frames.shape_of(native, NUMBER_SCHEMA), NUMBER_CELLS[:8])
    np.testing.assert_allclose(
        blackbox.proba(NUMBER_CELLS), LogisticRegression().fit(NUMBERS, PAID).predict_proba(NUMBERS), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (PAID, (False, True)),
        (PAID.astype(int), (0, 1)),
        (PAID * 2.0 - 1.0, (-1.0, 1.0)),
        (np.where(PAID, "paid", "late"), ("late", "paid")),
        (np.where(PAID, "paid", "late").astype(object), ("late", "paid")),
        (np.where(PEOPLE["age"] > 60, "old", np.where(PAID, "paid", "late")), ("late", "old", "paid")),
    ],
)
def test_classes_are_plain_values_in_the_order_of_the_answers(labels, classes):
    model = DecisionTreeClassifier(max_depth=2).fit(NUMBERS, labels)
    found = as_blackbox(model, NUMBER_SHAPE, NUMBER_CELLS[:8])
    assert found.classes == classes
    assert [type(label) for label in found.classes] == [type(label) for label in classes]
    assert found.proba(NUMBER_CELLS).argmax(axis=1).tolist() == [
        list(classes).index(label) for label in model.predict(NUMBERS)
    ]


YES = np.linspace(0.1, 0.9, ROWS)


@pytest.mark.parametrize(
    "answered",
    [
        lambda frame: YES[: len(frame)],
        lambda frame: YES[: len(frame), None],
        lambda frame: YES[: len(frame)].tolist(),
        lambda frame: np.stack([1 - YES, YES], axis=1)[: len(frame)],
        lambda frame: pd.Series(YES[: len(frame)], index=range(100, 100 + len(frame))),
        lambda frame: pd.DataFrame({"no": 1 - YES, "yes": YES})[: len(frame)],
        lambda frame: torch.from_numpy(YES[: len(frame)]),
    ],
    ids=["numbers", "one column", "list", "two columns", "series", "frame", "tensor"],
)
def test_a_function_may_answer_with_one_number_a_row_or_one_for_each_class(answered):
    blackbox = as_blackbox(answered, SHAPE, CELLS[:8])
    assert blackbox.classes == (0, 1)
    assert blackbox.proba(CELLS).tolist() == [[1 - yes, yes] for yes in YES.tolist()]


def test_a_function_of_three_columns_has_three_classes():
    answer = np.array([0.2, 0.3, 0.5])
    blackbox = as_blackbox(lambda frame: np.tile(answer, (len(frame), 1)), SHAPE, CELLS[:8])
    assert blackbox.classes == (0, 1, 2)
    assert blackbox.proba(CELLS[:2]).tolist() == [[0.2, 0.3, 0.5]] * 2


@pytest.mark.parametrize("classes", [("late", "paid"), ["late", "paid"], np.array(["late", "paid"])])
def test_a_function_names_its_classes_by_an_attribute(classes):
    def model(frame: Any) -> np.ndarray:
        return np.full(len(frame), 0.25)

    model.classes = classes
    blackbox = as_blackbox(model, SHAPE, CELLS[:8])
    assert blackbox.classes == ("late", "paid")
    assert blackbox.proba(CELLS[:1]).tolist() == [[0.75, 0.25]]


def test_classes_can_be_kept_in_a_file_even_if_they_were_numpy_values():
    def model(frame: Any) -> np.ndarray:
        return np.full(len(frame), 0.25)

    model.classes = np.array([0, 1])
    assert json.dumps(as_blackbox(model, SHAPE, CELLS[:8]).classes) == "[0, 1]"


def test_a_function_sees_a_frame_like_the_one_that_was_given():
    seen = []

    def model(frame: Any) -> np.ndarray:
        seen.append(frame)
        return np.full(len(frame), 0.5)

    as_blackbox(model, SHAPE, CELLS[:3]).proba(CELLS)
    assert seen[-1].equals(PEOPLE)
    assert [len(frame) for frame in seen] == [3, 3, 60]


def always(answer: object) -> Callable[[Any], object]:
    return lambda _: answer


def first_is(value: float) -> Callable[[Any], np.ndarray]:
    """Return a function whose answer to the first person is the given one."""
    return lambda frame: np.array([value, *[0.5] * (len(frame) - 1)])


def with_classes(function: Callable[[Any], object], *classes: str) -> Callable[[Any], object]:
    function.classes = classes
    return function


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (always([0.5]), "the model answered 4 rows with shape (1, 2); expected 4 rows of 2 classes"),
        (always([[0.5, 0.5]]), "the model answered 4 rows with shape (1, 2); expected 4 rows of 2 classes"),
        (always(0.5), "the model answered 4 rows with shape (); expected 4 rows of 2 classes"),
        (always(None), "the model answered 4 rows with shape (); expected 4 rows of 2 classes"),
        (
            always(np.full((4, 2, 2), 0.5)),
            "the model answered 4 rows with shape (4, 2, 2); expected 4 rows of 2 classes",
        ),
        (
            with_classes(always(np.full(4, 0.5)), "a", "b", "c"),
            "the model answered 4 rows with shape (4, 2); expected 4 rows of 3 classes",
        ),
        (
            always(["good", "bad", "bad", "bad"]),
            "the model answers with labels, and a few rows need not show them all: "
            "name every label in an attribute of the function, as in model.classes = ('bad', 'good')",
        ),
        (
            always(np.array(["good", 0.5, 0.5, 0.5], dtype=object)),
            "the model answered with no array of numbers: could not convert string to float: 'good'",
        ),
        (first_is(np.nan), "the model answered NaN for row 0"),
        (first_is(1.5), "the model's answer for row 0 is no probability: it is outside 0 to 1"),
        (first_is(-0.5), "the model's answer for row 0 is no probability: it is outside 0 to 1"),
        (
            always([[0.5, 0.5], [0.4, 0.5], [0.5, 0.5], [0.5, 0.5]]),
            "the model's probabilities do not add to 1: row 1 adds to 0.9",
        ),
        (lambda frame: frame["salary"], "the model raised KeyError: 'salary'"),
    ],
)
def test_a_function_that_breaks_a_promise_is_refused_at_once(function, told):
    assert refusal(function) == told


def test_rows_of_different_lengths_are_refused():
    told = refusal(always([[0.5, 0.5], [1.0], [1.0], [1.0]]))
    assert told.startswith("the model answered with no array of numbers: setting an array element with a sequence")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (np.full((4, 3), 1 / 3), "the model answered 4 rows with shape (4, 3); expected 4 rows of 2 classes"),
        (np.full((4, 2), 0.7), "the model's probabilities do not add to 1: row 0 adds to 1.4"),
        (np.full((4, 2), np.nan), "the model answered NaN for row 0"),
        (np.full(4, 0.5), "the model answered 4 rows with shape (4,); expected 4 rows of 2 classes"),
    ],
)
def test_an_estimator_that_breaks_a_promise_is_refused_at_once(answer, told):
    class Broken:
        classes_ = np.array(["late", "paid"])

        def predict_proba(self, frame: Any) -> np.ndarray:
            return answer[: len(frame)]

    assert refusal(Broken()) == told


def test_what_a_model_raised_is_told_and_kept_as_the_cause():
    def model(frame: Any) -> np.ndarray:
        raise ValueError(f"no idea about {len(frame)} rows")

    with pytest.raises(ModelError) as caught:
        as_blackbox(model, SHAPE, CELLS[:4])
    assert str(caught.value) == "the model raised ValueError: no idea about 4 rows"
    assert isinstance(caught.value.__cause__, ValueError)


def test_what_a_model_raised_is_told_without_the_stack_trace_of_its_library():
    def model(frame: Any) -> np.ndarray:
        raise RuntimeError(f"no idea about {len(frame)} rows\nStack trace:\n  [bt] (0) libmodel.so(+0x11031e)")

    assert refusal(model) == "the model raised RuntimeError: no idea about 4 rows"


def test_a_model_that_breaks_later_is_refused_then():
    blackbox = as_blackbox(lambda frame: np.full(len(frame), 0.5 if len(frame) < 10 else 2.0), SHAPE, CELLS[:4])
    with pytest.raises(ModelError) as caught:
        blackbox.proba(CELLS)
    assert str(caught.value) == "the model's answer for row 0 is no probability: it is outside 0 to 1"


@pytest.mark.parametrize(("model", "name"), [(LogisticRegression(), "LogisticRegression"), (pipeline(), "Pipeline")])
def test_an_estimator_that_was_not_fitted_is_refused(model, name):
    assert refusal(model) == f"{name} has no classes_: fit it before it is explained"


@pytest.mark.parametrize(("model", "name"), [(5, "int"), ("model.pkl", "str"), (None, "NoneType")])
def test_what_is_no_model_is_refused(model, name):
    assert refusal(model, InputError) == (
        f"{name} is no model: expected predict_proba or predict, an l2c.TorchModel, l2c.OnnxModel or l2c.HttpModel, "
        "or a function from a data frame to probabilities"
    )


@pytest.mark.parametrize("module", [torch.nn.Linear(3, 1), torch.nn.Sequential(torch.nn.Linear(3, 2))])
def test_a_bare_torch_module_is_told_how_to_be_wrapped(module):
    assert refusal(module, InputError) == (
        "a torch module needs to know its input: wrap it as "
        "l2c.TorchModel(module, l2c.OneHotInput.fit(df_train, schema), classes=...)"
    )
