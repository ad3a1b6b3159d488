"""Bundles: an explainer comes back the same, from sound files, for its own model, or not at all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from safetensors.numpy import load as load_arrays
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import l2c
from l2c.adapters import seals
from l2c.adapters.bundles import read_bundle
from l2c.adapters.seals import seal, sha256
from l2c.app.demo import credit_model
from l2c.errors import OtherModelError, StoredFileError

FILES = ("manifest.json", "schema.toml", "layout.json", "arrays.safetensors", "secret.safetensors")
GERMAN = l2c.datasets.load("german")
APPLICANTS = GERMAN.test[:25]
QUICK = l2c.L2C(epochs=3, select="first", model_rows=2000)


@pytest.fixture(scope="module")
def model() -> Any:
    return credit_model(GERMAN)


@pytest.fixture(scope="module")
def explainer(model) -> l2c.Explainer:
    return QUICK.fit(GERMAN.train, model, GERMAN.schema)


@pytest.fixture(scope="module")
def saved(explainer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bundles") / "german"
    explainer.save(folder)
    return folder


@pytest.fixture
def bundle(saved, tmp_path) -> Path:
    """Return a copy of a sound bundle, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "bundle"))


def refusal(folder: Path) -> str:
    with pytest.raises(StoredFileError) as caught:
        read_bundle(folder)
    return str(caught.value)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same(found: l2c.Explanations, other: l2c.Explanations) -> bool:
    return found.outcomes == other.outcomes and found.to_frame().equals(other.to_frame())


def test_a_loaded_explainer_explains_identically(explainer, saved, model):
    found = explainer.explain(APPLICANTS, n=7, seed=3)
    assert len(found) == 25 * 7
    assert same(l2c.load(saved, model=model).explain(APPLICANTS, n=7, seed=3), found)


def test_a_loaded_explainer_says_the_same_of_itself(explainer, saved, model):
    loaded = l2c.load(saved, model=model)
    assert loaded.schema == explainer.schema
    assert loaded.layout == explainer.layout
    assert loaded.classes == ("bad", "good")
    assert loaded.training == explainer.training
    assert loaded.bundle.notes == explainer.bundle.notes


def test_saving_what_was_loaded_writes_the_same_bytes(saved, model, tmp_path):
    l2c.load(saved, model=model).save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved)


def answer_by_age(frame: pd.DataFrame) -> np.ndarray:
    return 1 / (1 + np.exp(-(frame["age"].to_numpy() - 40.0) / 10))


def network(schema: l2c.Schema) -> l2c.TorchModel:
    torch.manual_seed(0)
    inputs = l2c.OneHotInput.fit(GERMAN.train, schema)
    return l2c.TorchModel(torch.nn.Linear(inputs.width, 1), inputs, classes=("bad", "good"))


@pytest.mark.parametrize(
    ("recipe", "asked"),
    [
        (replace(QUICK, inputs="values"), credit_model(GERMAN)),
        (replace(QUICK, selector="constant", decode="midpoint"), credit_model(GERMAN)),
        (l2c.L2C.paper(epochs=1), credit_model(GERMAN)),
        (QUICK, network(GERMAN.schema)),
        (QUICK, answer_by_age),
    ],
    ids=["values", "constant selector", "paper", "torch", "function"],
)
def test_every_kind_of_explainer_comes_back_the_same(recipe, asked, tmp_path):
    explainer = recipe.fit(GERMAN.train, asked, GERMAN.schema)
    explainer.save(tmp_path / "bundle")
    found = explainer.explain(APPLICANTS[:8], n=3)
    assert len(found) > 0
    assert same(l2c.load(tmp_path / "bundle", model=asked).explain(APPLICANTS[:8], n=3), found)


def of_three(frame: pd.DataFrame) -> np.ndarray:
    """Return probabilities of three classes, by age and duration together."""
    score = np.stack([frame["age"] / 10, frame["age"] * frame["duration"] / 200, np.full(len(frame), 4.0)], axis=1)
    mass = np.exp(score - score.max(axis=1, keepdims=True))
    return mass / mass.sum(axis=1, keepdims=True)


of_three.classes = ("low", "high", "middle")


def test_networks_of_three_classes_are_told_the_desired_one_after_loading_too(tmp_path):
    rows = GERMAN.train[["duration", "credit_amount", "age", "purpose"]][:80]
    explainer = l2c.L2C(epochs=3, select="first", model_rows=400).fit(rows, of_three, l2c.Schema.infer(rows))
    counterer = explainer.bundle.counterer
    assert counterer.foresight.network[0].weight.shape[1] == counterer.encoder.width + 3
    explainer.save(tmp_path / "bundle")
    loaded = l2c.load(tmp_path / "bundle", model=of_three)
    for desired in ("low", ["low", "middle"], None):
        found = explainer.explain(rows[:20], n=4, desired=desired)
        assert len(found) > 0
        assert same(loaded.explain(rows[:20], n=4, desired=desired), found)


def test_what_fitting_settled_about_choosing_sets_comes_back(tmp_path):
    rows = GERMAN.train[["duration", "credit_amount", "age", "purpose"]][:80]
    explainer = l2c.L2C().fit(rows, answer_by_age, l2c.Schema.infer(rows))
    explainer.save(tmp_path / "bundle")
    loaded = l2c.load(tmp_path / "bundle", model=answer_by_age)
    for dial in (0.0, 0.4, 1.0):
        found = explainer.explain(rows[:5], n=4, plausibility=dial)
        assert same(loaded.explain(rows[:5], n=4, plausibility=dial), found)


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (1.5, 2.5), ("no", "yes")])
def test_class_labels_keep_their_type(labels, tmp_path):
    rows = GERMAN.train[["duration", "credit_amount", "age"]]

    def model(frame: pd.DataFrame) -> np.ndarray:
        return answer_by_age(frame)

    model.classes = np.array(labels)
    QUICK.fit(rows, model, l2c.Schema.infer(rows)).save(tmp_path / "bundle")
    loaded = l2c.load(tmp_path / "bundle", model=model)
    assert loaded.classes == labels
    assert [type(label) for label in loaded.classes] == [type(label) for label in labels]


def test_a_bundle_of_polars_rows_asks_its_model_with_polars_rows(tmp_path):
    rows = pl.from_pandas(GERMAN.train[["duration", "credit_amount", "age"]])

    def model(frame: Any) -> np.ndarray:
        assert isinstance(frame, pl.DataFrame)
        return answer_by_age(frame)

    explainer = QUICK.fit(rows, model, l2c.Schema.infer(rows))
    explainer.save(tmp_path / "bundle")
    found = l2c.load(tmp_path / "bundle", model=model).explain(rows[:5], n=2)
    assert found.to_frame().equals(explainer.explain(rows[:5], n=2).to_frame())


WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is not here")

sys.meta_path.insert(0, NoTorch())
import l2c
from l2c.app.demo import credit_model

german = l2c.datasets.load("german")
found = l2c.load(sys.argv[1], model=credit_model(german)).explain(german.test[:25], n=7, seed=3)
found.write(sys.argv[2])
assert "torch" not in sys.modules
"""


def test_loading_and_explaining_need_no_torch(explainer, saved, tmp_path):
    out = tmp_path / "found.parquet"
    command = [sys.executable, "-W", "error", "-c", WITHOUT_TORCH, str(saved), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert same(l2c.read(out), explainer.explain(APPLICANTS, n=7, seed=3))


def test_a_bundle_is_files_of_text_and_plain_arrays(saved):
    assert sorted(path.name for path in saved.iterdir()) == sorted(FILES)
    for name in ("manifest.json", "layout.json"):
        json.loads((saved / name).read_text())
    tomllib.loads((saved / "schema.toml").read_text())
    arrays = (saved / "arrays.safetensors").read_bytes()
    header = json.loads(arrays[8 : 8 + int.from_bytes(arrays[:8], "little")])
    assert {entry["dtype"] for name, entry in header.items() if name != "__metadata__"} <= {"F32", "F64", "I64", "I16"}


def test_no_file_of_a_bundle_is_a_pickle_or_a_zip(saved):
    for name, content in contents(saved).items():
        assert not re.match(rb"\x80[\x01-\x05]|PK\x03\x04|\x93NUMPY", content), name


def test_a_bundle_does_not_grow_with_the_training_rows(model, saved, tmp_path):
    # The same people four times over: the same levels, so any row that were kept would show.
    more = pd.concat([GERMAN.train] * 4, ignore_index=True)
    QUICK.fit(more, model, GERMAN.schema).save(tmp_path / "more")
    size, larger = (sum(map(len, contents(folder).values())) for folder in (saved, tmp_path / "more"))
    assert larger < 1.1 * size


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    arrays = load_arrays((folder / "arrays.safetensors").read_bytes())
    return {name: array.shape for name, array in arrays.items()}


def test_no_array_of_a_bundle_has_a_row_for_each_person(saved):
    fit, dev = 640, 160
    for name, shape in shapes(saved).items():
        assert not {fit, dev, fit + dev} & set(shape), name


def test_of_hundreds_of_different_amounts_a_bundle_holds_only_the_cuts_and_what_stands_for_a_bin(saved):
    layout = json.loads((saved / "layout.json").read_text())
    axis = layout["axes"][GERMAN.schema.index("credit_amount")]
    mentioned = {float(number) for number in re.findall(r"-?\d+\.?\d*", json.dumps(layout))}
    amounts = set(GERMAN.train["credit_amount"].astype(float))
    assert len(amounts) > 700
    allowed = {*axis["cuts"], *axis["median"], *axis["midpoint"], axis["low"], axis["high"]}
    assert {amount for amount in amounts & mentioned if amount > 300} <= allowed
    assert len(axis["median"]) <= 4


def test_any_flipped_bit_of_the_manifest_is_refused(bundle):
    path = bundle / "manifest.json"
    text = path.read_bytes()
    for position in range(len(text)):
        path.write_bytes(flipped(text, position, position % 8))
        assert refusal(bundle)
    path.write_bytes(text)
    read_bundle(bundle)


@pytest.mark.parametrize("name", ["schema.toml", "layout.json", "arrays.safetensors"])
def test_any_flipped_bit_of_another_file_is_refused(bundle, name):
    path = bundle / name
    content = path.read_bytes()
    for position in {*np.linspace(0, len(content) - 1, 150).astype(int).tolist()}:
        path.write_bytes(flipped(content, position, position % 8))
        assert refusal(bundle) == f"{path} was altered: its content does not match the manifest"


def flipped(content: bytes, position: int, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[position] ^= 1 << bit
    return bytes(damaged)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_or_lengthened_file_is_refused(bundle, name):
    path = bundle / name
    content = path.read_bytes()
    for changed in (b"", content[:1], content[: len(content) // 2], content[:-1], content + b" "):
        path.write_bytes(changed)
        assert refusal(bundle)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(bundle, name):
    (bundle / name).unlink()
    assert refusal(bundle) == (
        f"{bundle / name} cannot be read (No such file or directory); is its folder a whole bundle?"
    )


def test_a_file_of_another_bundle_is_refused(bundle, model, tmp_path):
    QUICK.fit(GERMAN.train, model, GERMAN.schema, seed=1).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "arrays.safetensors", bundle)
    path = bundle / "arrays.safetensors"
    assert refusal(bundle) == f"{path} was altered: its content does not match the manifest"


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    path = tmp_path / "none" / "manifest.json"
    assert refusal(tmp_path / "none") == (
        f"{path} cannot be read (No such file or directory); is its folder a whole bundle?"
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("name = 1", "is damaged: it is not JSON"),
        ('{"manifest_version": 3, "name": "a browser extension"}', "is no l2c bundle"),
        (seal("l2c found", {}), "is no l2c bundle"),
    ],
)
def test_a_foreign_manifest_is_refused(bundle, content, told):
    (bundle / "manifest.json").write_text(content)
    assert refusal(bundle) == f"{bundle / 'manifest.json'} {told}"


def test_a_newer_format_says_which_one_is_read(explainer, tmp_path, monkeypatch):
    monkeypatch.setattr(seals, "FORMAT_VERSION", 2)
    explainer.save(tmp_path / "newer")
    monkeypatch.undo()
    path = tmp_path / "newer" / "manifest.json"
    assert refusal(tmp_path / "newer") == f"{path} has format 2; this version of L2C reads format 1"


def test_sound_hashes_around_nonsense_are_refused_too(bundle):
    (bundle / "layout.json").write_text('{"axes": [{}]}')
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["files"]["layout.json"] = sha256(b'{"axes": [{}]}')
    content = {key: manifest[key] for key in manifest if key not in ("kind", "format", "sha256")}
    (bundle / "manifest.json").write_text(seal("l2c bundle", content))
    assert refusal(bundle) == f"{bundle} cannot be read: 'cuts'"


def other_model(last: Any) -> Any:
    names = ["duration", "credit_amount", "age"]
    rows = GERMAN.train[list(GERMAN.schema.names)]
    numbers = make_pipeline(StandardScaler(), last).fit(rows[names], GERMAN.train["risk"])

    def model(frame: pd.DataFrame) -> np.ndarray:
        return numbers.predict_proba(frame[names])

    model.classes = ("bad", "good")
    return model


@pytest.mark.parametrize("last", [LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_a_model_that_answers_differently_is_refused(saved, last):
    with pytest.raises(OtherModelError) as caught:
        l2c.load(saved, model=other_model(last))
    assert str(caught.value) == f"{saved} was made with another model: this one answers its probe rows differently"


def test_a_model_that_answers_a_little_differently_is_refused(saved, model):
    def nearly(frame: pd.DataFrame) -> np.ndarray:
        proba = model.predict_proba(frame)
        return proba + 0.001 * (0.5 - proba)

    nearly.classes = ("bad", "good")
    with pytest.raises(OtherModelError):
        l2c.load(saved, model=nearly)


@pytest.mark.parametrize("classes", [("good", "bad"), ("bad", "better"), (0, 1)])
def test_a_model_of_other_classes_is_refused(saved, model, classes):
    def renamed(frame: pd.DataFrame) -> np.ndarray:
        return model.predict_proba(frame)

    renamed.classes = classes
    with pytest.raises(OtherModelError) as caught:
        l2c.load(saved, model=renamed)
    assert str(caught.value) == f"{saved} was made with a model of the classes ('bad', 'good'), not {classes}"


def test_the_same_model_behind_another_door_is_the_same_model(saved, explainer, model):
    def wrapped(frame: pd.DataFrame) -> np.ndarray:
        return model.predict_proba(frame)

    wrapped.classes = ("bad", "good")
    found = l2c.load(saved, model=wrapped).explain(APPLICANTS[:3], n=3)
    assert same(found, explainer.explain(APPLICANTS[:3], n=3))


def test_an_earlier_bundle_is_replaced_and_nothing_is_left_beside_it(bundle, model):
    fresh = QUICK.fit(GERMAN.train, model, GERMAN.schema, seed=1)
    fresh.save(bundle)
    assert read_bundle(bundle).notes["seed"] == 1
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


def test_missing_folders_above_are_made_and_an_empty_one_is_filled(explainer, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "a" / "b" / "bundle"):
        explainer.save(str(folder))
        read_bundle(folder)


def test_others_may_read_a_bundle_as_they_may_read_any_new_folder(saved, tmp_path):
    (tmp_path / "plain").mkdir()
    assert saved.stat().st_mode == (tmp_path / "plain").stat().st_mode


def a_thesis(folder: Path) -> None:
    (folder / "thesis.tex").write_text("years of work")


def a_website(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"kind": "web app", "name": "a website"}')
    (folder / "index.html").write_text("<html>")


def a_web_app(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"kind": "web app"}')


def a_list(folder: Path) -> None:
    (folder / "manifest.json").write_text("[]")


def a_manifest_that_cannot_be_read(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(b"\x00")


def a_bundle_with_notes(folder: Path) -> None:
    (folder / "manifest.json").write_text(seal("l2c bundle", {}))
    (folder / "notes.md").write_text("what the committee said")


@pytest.mark.parametrize(
    "fill", [a_thesis, a_website, a_web_app, a_list, a_manifest_that_cannot_be_read, a_bundle_with_notes]
)
def test_a_folder_of_anything_else_is_not_touched(explainer, tmp_path, fill):
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder)
    before = contents(folder)
    with pytest.raises(StoredFileError) as caught:
        explainer.save(folder)
    assert str(caught.value) == f"{folder} exists and is no bundle; choose another folder"
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_in_the_place_of_the_folder_is_not_touched(explainer, tmp_path):
    (tmp_path / "bundle").write_text("a file")
    with pytest.raises(StoredFileError, match="exists and is no bundle"):
        explainer.save(tmp_path / "bundle")
    assert (tmp_path / "bundle").read_text() == "a file"


def failing(action: Callable[..., Any], error: BaseException, when: Callable[[Path], bool]) -> Callable[..., Any]:
    """Return a file operation that fails for some paths."""

    def act(path: Path, *given: Any) -> Any:
        if when(path):
            raise error
        return action(path, *given)

    return act


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("name", FILES)
def test_a_crash_while_writing_a_file_leaves_the_old_bundle(explainer, bundle, monkeypatch, error, name):
    before = contents(bundle)
    monkeypatch.setattr(Path, "write_bytes", failing(Path.write_bytes, error, lambda path: path.name == name))
    with pytest.raises(type(error)):
        explainer.save(bundle)
    monkeypatch.undo()
    assert contents(bundle) == before
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


@pytest.mark.parametrize("error", [OSError("permission denied"), KeyboardInterrupt()])
def test_a_crash_while_putting_the_new_bundle_in_place_leaves_the_old_one(explainer, bundle, monkeypatch, error):
    before = contents(bundle)
    # The new one waits beside the old one, whose own move aside succeeds.
    waiting = failing(Path.replace, error, lambda path: path.name != "bundle" and not bundle.exists() and once())
    calls = []

    def once() -> bool:
        calls.append(1)
        return len(calls) == 1

    monkeypatch.setattr(Path, "replace", waiting)
    with pytest.raises(type(error)):
        explainer.save(bundle)
    monkeypatch.undo()
    assert calls
    assert contents(bundle) == before
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]
