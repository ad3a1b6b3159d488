"""A model by its name: each library's own file, an address or a Python object, and never a pickle."""

from __future__ import annotations

import json
import subprocess
import sys

import lightgbm
import numpy as np
import pytest
import xgboost
from catboost import CatBoostClassifier
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

from adapters.models.people import DECLARED, LATE, NUMBERS, TEXTS, THIRDS, WORDS, answers_as
from l2c.adapters.models import HttpModel
from l2c.adapters.models.files import open_model
from l2c.errors import InputError, MissingExtraError


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refusal(name: str, error: type[Exception] = InputError) -> str:
    with pytest.raises(error) as caught:
        open_model(name)
    return str(caught.value)


@pytest.mark.parametrize("name", ["credit.json", "credit.ubj", "CREDIT.JSON"])
@pytest.mark.parametrize("labels", [LATE, THIRDS], ids=["two", "three"])
def test_a_file_of_xgboost_takes_texts_as_they_are_in_a_csv_file(name, labels):
    model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, enable_categorical=True).fit(DECLARED, labels)
    model.save_model(name)
    blackbox = answers_as(open_model(name), TEXTS, model.predict_proba(DECLARED))
    assert blackbox.classes == tuple(range(1 + int(max(labels))))


@pytest.mark.parametrize("labels", [LATE, THIRDS], ids=["two", "three"])
def test_a_file_of_lightgbm_takes_texts_as_they_are_in_a_csv_file(labels):
    model = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(DECLARED, labels)
    model.booster_.save_model("credit.txt")
    blackbox = answers_as(open_model("credit.txt"), TEXTS, model.predict_proba(DECLARED))
    assert blackbox.classes == tuple(range(1 + int(max(labels))))


@pytest.mark.parametrize(("labels", "classes"), [(WORDS, ("late", "paid")), (LATE, (False, True)), (THIRDS, (0, 1, 2))])
def test_a_file_of_catboost_remembers_its_labels(labels, classes):
    model = CatBoostClassifier(
        iterations=3, verbose=False, allow_writing_files=False, thread_count=1, cat_features=["job", "school"]
    ).fit(TEXTS, labels)
    model.save_model("credit.cbm")
    assert answers_as(open_model("credit.cbm"), TEXTS, model.predict_proba(TEXTS)).classes == classes


def test_a_file_of_onnx_is_opened(tmp_path):
    model = LogisticRegression().fit(NUMBERS.to_numpy(np.float32), WORDS)
    (tmp_path / "credit.onnx").write_bytes(to_onnx(model, NUMBERS.to_numpy(np.float32)[:1]).SerializeToString())
    blackbox = answers_as(open_model("credit.onnx"), NUMBERS, model.predict_proba(NUMBERS.to_numpy(np.float32)))
    assert blackbox.classes == ("late", "paid")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/score", "https://models.example/score.json"])
def test_an_address_is_a_model_behind_it(url):
    model = open_model(url)
    assert isinstance(model, HttpModel)
    assert model.url == url


def test_a_python_object_is_imported():
    assert open_model("json:dumps.__name__") == "dumps"


def test_a_python_object_that_is_not_there_is_told_as_ever():
    assert refusal("json:dump_") == "--model 'json:dump_': there is no 'dump_' in it; did you mean 'dump'?"


@pytest.mark.parametrize("name", ["model.pkl", "model.pickle", "folder/model.joblib", "model.dill"])
def test_a_pickle_is_never_loaded(name):
    assert refusal(name) == (
        f"--model '{name}': a pickle is never loaded, for it can run any code; "
        "name a Python object instead, as package.module:object"
    )


@pytest.mark.parametrize("name", ["", "model", "model.py", "model.bin", "model.pt"])
def test_a_name_of_another_form_says_what_is_expected(name):
    assert refusal(name) == (
        f"--model '{name}': expected package.module:object, a URL, or a file that ends in "
        ".onnx, .json, .ubj, .txt or .cbm"
    )


@pytest.mark.parametrize("name", ["credit.onnx", "credit.json", "credit.txt", "credit.cbm", "none/credit.ubj"])
def test_a_file_that_is_not_there_is_told(name):
    assert refusal(name) == f"--model '{name}': there is no such file"


def test_a_file_that_is_not_there_is_told_with_the_nearest_one(tmp_path):
    (tmp_path / "credit.txt").write_text("")
    assert refusal("credits.txt") == "--model 'credits.txt': there is no such file; did you mean 'credit.txt'?"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("credit.onnx", "file 'credit.onnx' cannot be read as an ONNX model: [ONNXRuntimeError]"),
        ("credit.json", "it cannot be read: XGBoostError: "),
        ("credit.ubj", "it cannot be read: XGBoostError: "),
        ("credit.txt", "it is a text, but not a LightGBM model"),
        ("credit.cbm", "it cannot be read: CatBoostError: "),
    ],
)
def test_a_file_of_something_else_is_told_in_one_line(tmp_path, capfd, name, told):
    (tmp_path / name).write_text("hello: " + "5, " * 100)
    sentence = refusal(name)
    assert sentence.startswith(f"--model '{name}': {told}")
    assert "\n" not in sentence
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "package", "told"),
    [
        ("credit.onnx", "onnxruntime", 'an ONNX model needs onnxruntime: pip install "l2c[onnx]"'),
        ("credit.json", "xgboost", 'an XGBoost model needs xgboost: pip install "l2c[xgboost]"'),
        ("credit.txt", "lightgbm", 'a LightGBM model needs lightgbm: pip install "l2c[lightgbm]"'),
        ("credit.cbm", "catboost", 'a CatBoost model needs catboost: pip install "l2c[catboost]"'),
    ],
)
def test_without_its_library_the_extra_is_named(tmp_path, monkeypatch, name, package, told):
    (tmp_path / name).write_text("hello")
    monkeypatch.setitem(sys.modules, package, None)
    assert refusal(name, MissingExtraError) == told


def test_no_library_is_imported_before_a_model_needs_it():
    heavy = ["xgboost", "lightgbm", "catboost", "onnxruntime", "httpx", "sklearn", "torch"]
    code = f"import json, sys, l2c.adapters.models.files; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout) == []
