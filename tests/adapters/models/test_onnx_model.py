"""ONNX classifiers as converters write them: one input a column or one matrix, mappings or matrices, with labels."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)  # fmt: skip
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from adapters.models.people import DECLARED, GAPS, KINDS, LATE, NUMBERS, TEXTS, THIRDS, WORDS, answers_as, box_of, hot
from l2c.adapters.models import OnnxModel
from l2c.errors import InputError, MissingExtraError, ModelError

INPUTS = {
    "age": Int64TensorType([None, 1]),
    "the debt": FloatTensorType([None, 1]),
    "job": StringTensorType([None, 1]),
    "school": StringTensorType([None, 1]),
    "married": BooleanTensorType([None, 1]),
}


def pipeline(labels: Any, frame: Any = TEXTS) -> Any:
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["the debt"]),
        (StandardScaler(), ["age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["job", "school"]),
        ("passthrough", ["married"]),
    )
    return make_pipeline(columns, LogisticRegression()).fit(frame, labels)


def by_column(model: Any, *, mapped: bool, **inputs: Any) -> bytes:
    kinds = [*(INPUTS | inputs).items()]
    return convert_sklearn(model, initial_types=kinds, options={id(model): {"zipmap": mapped}}).SerializeToString()


def by_matrix(model: Any, *, mapped: bool, kind: Any = FloatTensorType) -> bytes:
    width = model.n_features_in_
    kinds = [("X", kind([None, width]))]
    return convert_sklearn(model, initial_types=kinds, options={id(model): {"zipmap": mapped}}).SerializeToString()


def forest(labels: Any) -> Any:
    # Single precision, as the converted model will have it.
    return RandomForestClassifier(5, max_depth=4, random_state=0).fit(NUMBERS.to_numpy(np.float32), labels)


def built(outputs: list[Any], *nodes: Any, inputs: list[Any] | None = None) -> bytes:
    """Return a model that is put together by hand."""
    inputs = inputs or [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["rows", 2])]
    graph = helper.make_graph([*nodes], "made", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8).SerializeToString()


def refusal(model: OnnxModel, frame: Any = NUMBERS, error: type[Exception] = InputError) -> Any:
    with pytest.raises(error) as caught:
        box_of(model, frame)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mapped", [True, False], ids=["mappings", "matrix"])
@pytest.mark.parametrize("frame", [TEXTS, DECLARED], ids=["texts", "declared"])
def test_one_input_a_column_takes_the_column_of_its_name(frame, mapped, kind):
    model = pipeline(WORDS, frame)
    made = OnnxModel(by_column(model, mapped=mapped), classes=None if mapped else ("late", "paid"))
    assert "the_debt" in [each.name for each in made.session.get_inputs()]
    blackbox = answers_as(made, KINDS[kind](frame), model.predict_proba(frame))
    assert blackbox.classes == ("late", "paid")
    assert not blackbox.labels_only


def test_the_answers_are_those_of_the_runtime_itself():
    made = OnnxModel(by_column(pipeline(WORDS), mapped=True))
    feed = {
        "age": TEXTS[["age"]].to_numpy(np.int64),
        "the_debt": TEXTS[["the debt"]].to_numpy(np.float32),
        "job": TEXTS[["job"]].to_numpy(object),
        "school": TEXTS[["school"]].to_numpy(object),
        "married": TEXTS[["married"]].to_numpy(bool),
    }
    labels, mappings = onnxruntime.InferenceSession(
        by_column(pipeline(WORDS), mapped=True), providers=["CPUExecutionProvider"]
    ).run(None, feed)
    expected = np.array([[row["late"], row["paid"]] for row in mappings])
    blackbox = answers_as(made, TEXTS, expected)
    assert [blackbox.classes[place] for place in expected.argmax(axis=1)] == labels.tolist()


def test_columns_that_the_model_does_not_use_are_left_out_and_any_order_will_do():
    model = pipeline(LATE.astype(int))
    frame = TEXTS.assign(fee=1.5)[["fee", *TEXTS.columns[::-1]]]
    answers_as(OnnxModel(by_column(model, mapped=True)), frame, model.predict_proba(TEXTS))


def test_a_missing_number_reaches_the_model():
    frame = TEXTS.assign(**{"the debt": GAPS["the debt"]})
    model = pipeline(LATE.astype(int), frame)
    assert np.isnan(frame["the debt"]).any()
    answers_as(OnnxModel(by_column(model, mapped=True)), frame, model.predict_proba(frame))


@pytest.mark.parametrize(("labels", "classes"), [(LATE.astype(int), (0, 1)), (THIRDS, (0, 1, 2)), (WORDS, None)])
@pytest.mark.parametrize("mapped", [True, False], ids=["mappings", "matrix"])
def test_one_matrix_takes_all_columns_in_the_frames_order(labels, classes, mapped, tmp_path):
    model = forest(labels)
    path = tmp_path / "forest.onnx"
    path.write_bytes(by_matrix(model, mapped=mapped))
    made = OnnxModel(path, classes=None if classes or mapped else ("late", "paid"))
    expected = model.predict_proba(NUMBERS.to_numpy(np.float32))
    assert answers_as(made, NUMBERS, expected).classes == (classes or ("late", "paid"))


def test_a_matrix_of_double_precision_is_given_double_precision():
    model = LogisticRegression().fit(NUMBERS.to_numpy(), LATE.astype(int))
    made = OnnxModel(by_matrix(model, mapped=False, kind=DoubleTensorType))
    answers_as(made, NUMBERS, model.predict_proba(NUMBERS.to_numpy()))


def test_labels_that_are_not_counted_from_0_must_be_named():
    model = forest(THIRDS + 1)
    source = by_matrix(model, mapped=False)
    assert str(refusal(OnnxModel(source), error=ModelError)) == (
        "the ONNX model's labels are not the places of its probabilities: name its classes, in the order of its "
        "probabilities, as in OnnxModel(path, classes=(1, 2))"
    )
    expected = model.predict_proba(NUMBERS.to_numpy(np.float32))
    assert answers_as(OnnxModel(source, classes=(1, 2, 3)), NUMBERS, expected).classes == (1, 2, 3)


def test_labels_that_are_texts_must_be_named():
    assert str(refusal(OnnxModel(by_matrix(forest(WORDS), mapped=False)))) == (
        "the ONNX model does not tell its classes: name them, in the order of its probabilities, "
        "as in OnnxModel(path, classes=('bad', 'good'))"
    )


def test_classes_that_mappings_name_can_be_put_in_another_order_but_not_changed():
    model = forest(WORDS)
    made = OnnxModel(by_matrix(model, mapped=True), classes=("paid", "late"))
    answers_as(made, NUMBERS, model.predict_proba(NUMBERS.to_numpy(np.float32))[:, ::-1])
    made = OnnxModel(by_matrix(model, mapped=True), classes=("good", "bad"))
    assert str(refusal(made)) == "the ONNX model's classes are 'late', 'paid', not 'good', 'bad'"


def test_one_probability_a_row_is_that_of_class_1():
    made = built(
        [helper.make_tensor_value_info("yes", TensorProto.FLOAT, ["rows", 1])],
        helper.make_node("ReduceMean", ["X"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Sigmoid", ["mean"], ["yes"]),
    )
    yes = 1 / (1 + np.exp(-NUMBERS.to_numpy().mean(axis=1)))
    assert answers_as(OnnxModel(made), NUMBERS, np.stack([1 - yes, yes], axis=1)).classes == (0, 1)


def labelling() -> bytes:
    return built(
        [helper.make_tensor_value_info("label", TensorProto.INT64, ["rows"])],
        helper.make_node("ArgMax", ["X"], ["label"], axis=1, keepdims=0),
    )


def test_labels_alone_are_all_that_is_known():
    larger = NUMBERS.to_numpy().argmax(axis=1)
    blackbox = answers_as(OnnxModel(labelling(), classes=("age", "debt")), NUMBERS, hot(larger, (0, 1)), atol=0)
    assert blackbox.labels_only
    assert str(refusal(OnnxModel(labelling()))).startswith("the ONNX model does not tell its classes")


def test_an_input_may_be_a_plain_row_of_values():
    made = built(
        [helper.make_tensor_value_info("yes", TensorProto.FLOAT, ["rows"])],
        helper.make_node("Sigmoid", ["age"], ["yes"]),
        inputs=[helper.make_tensor_value_info("age", TensorProto.FLOAT, ["rows"])],
    )
    yes = 1 / (1 + np.exp(-NUMBERS["age"].to_numpy(float)))
    answers_as(OnnxModel(made), NUMBERS, np.stack([1 - yes, yes], axis=1))


def test_inputs_that_the_schema_does_not_have_are_all_named():
    made = OnnxModel(by_column(pipeline(LATE.astype(int)), mapped=True))
    frame = TEXTS.rename(columns={"job": "jobs"}).drop(columns="married")
    assert refusal(made, frame).problems == (
        "the ONNX model has an input 'job' that the schema does not have; did you mean 'jobs'?",
        "the ONNX model has an input 'married' that the schema does not have",
    )


def test_a_matrix_of_another_width_is_told():
    told = str(refusal(OnnxModel(by_matrix(forest(THIRDS), mapped=True)), NUMBERS.assign(fee=1.0)))
    assert told == "the ONNX model was trained on 2 columns without names, and the schema has 3"


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (TEXTS.assign(age=TEXTS["job"]), "the ONNX model takes numbers, and column 'age' holds texts"),
        (TEXTS.assign(job=1), "the ONNX model takes texts, and column 'job' holds numbers"),
        (
            TEXTS.assign(job=TEXTS["job"].mask(TEXTS.index < 4)),
            "the ONNX model's input for column 'job' cannot hold a missing value",
        ),
        (
            TEXTS.assign(age=TEXTS["age"] + 0.5),
            "the ONNX model takes whole numbers for column 'age', and it holds fractions",
        ),
    ],
    ids=["texts", "numbers", "missing", "fractions"],
)
def test_a_column_that_an_input_cannot_hold_is_named(frame, told):
    assert str(refusal(OnnxModel(by_column(pipeline(LATE.astype(int)), mapped=True)), frame)) == told


def test_an_input_or_an_output_of_another_kind_is_named():
    halves = [helper.make_tensor_value_info("X", TensorProto.FLOAT16, ["rows", 2])]
    outputs = [helper.make_tensor_value_info("label", TensorProto.FLOAT16, ["rows", 2])]
    made = built(outputs, helper.make_node("Identity", ["X"], ["label"]), inputs=halves)
    assert str(refusal(OnnxModel(made))) == "the ONNX model's input 'X' takes tensor(float16), not numbers or texts"
    made = built(outputs, helper.make_node("Cast", ["X"], ["label"], to=TensorProto.FLOAT16))
    assert str(refusal(OnnxModel(made))) == (
        "the ONNX model answers with neither probabilities nor labels: 'label' (tensor(float16))"
    )


def test_scores_that_are_no_probabilities_are_refused():
    scores = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", 2])]
    told = str(refusal(OnnxModel(built(scores, helper.make_node("Identity", ["X"], ["scores"]))), error=ModelError))
    assert told == "the model's answer for row 0 is no probability: it is outside 0 to 1"


def test_what_is_no_onnx_model_is_told(tmp_path):
    with pytest.raises(InputError) as caught:
        OnnxModel(tmp_path / "none.onnx")
    assert str(caught.value) == f"there is no file '{tmp_path / 'none.onnx'}'"
    (tmp_path / "text.onnx").write_text("hello")
    for source, name in ((b"hello", "these bytes"), (tmp_path / "text.onnx", f"file '{tmp_path / 'text.onnx'}'")):
        with pytest.raises(InputError) as caught:
            OnnxModel(source)
        assert str(caught.value).startswith(f"{name} cannot be read as an ONNX model: [ONNXRuntimeError]")


def test_without_the_runtime_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError) as caught:
        OnnxModel(b"")
    assert str(caught.value) == 'an ONNX model needs onnxruntime: pip install "l2c[onnx]"'


def test_these_models_are_what_the_standard_says_they_are():
    for made in (labelling(), by_matrix(forest(THIRDS), mapped=True)):
        onnx.checker.check_model(onnx.load_from_string(made))
