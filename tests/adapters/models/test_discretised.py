"""A model of levels: it sees bins alone, and what is explained of it holds all over its intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import l2c
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox, differentiable, own_layout
from l2c.adapters.models.additive import AdditiveTwin
from l2c.adapters.models.discretised import DifferentiableLevels, level_twin
from l2c.adapters.models.watch import within
from l2c.errors import DataError, InputError, ModelError, OtherModelError

EDUCATION = ("school", "college", "university")


def people(rows=400):
    """Return people whose debt may be unknown, and whether they were paid."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "education": rng.choice(EDUCATION, rows),
            "debt": pd.Series(rng.gamma(2, 900, rows).round(2)).mask(rng.random(rows) < 0.15),
            "married": rng.random(rows) < 0.5,
        }
    )
    score = frame["age"] / 25 + frame["education"].map(EDUCATION.index) - frame["debt"].fillna(500) / 1500
    return frame.assign(paid=np.where(score + rng.logistic(0, 0.4, rows) > 1.7, "yes", "no"))


FRAME = people()
ROWS = FRAME.drop(columns="paid")
SCHEMA = l2c.Schema.infer(
    FRAME, target="paid", rises=["age"], ordinal={"education": EDUCATION}, rules=[l2c.Implies("education", "age")]
)


def by_hand(rows, layout):
    """Return the one-hot matrix of levels, by plain pandas."""
    parts = []
    for feature, axis in zip(layout.schema.features, layout.axes, strict=True):
        column = rows[feature.name]
        if feature.numeric:
            codes = pd.cut(column.astype(float), [-np.inf, *axis.cuts, np.inf], labels=False)
        else:
            codes = column.map({level: code for code, level in enumerate(feature.levels)})
        codes = codes.fillna(axis.known)
        parts.append(np.stack([(codes == level).to_numpy() for level in range(axis.size)], axis=1))
    return np.concatenate(parts, axis=1).astype(float)


def cells_of(rows, schema=SCHEMA):
    return frames.strict(frames.read(rows, schema))


@pytest.fixture(scope="module")
def model():
    return l2c.discretised(LogisticRegression(C=100, max_iter=1000), FRAME, SCHEMA)


@pytest.fixture(scope="module")
def explainer(model):
    return l2c.L2C(epochs=3, beta=0.5).fit(FRAME, model, SCHEMA)


@pytest.fixture(scope="module")
def found(explainer):
    return explainer.explain(ROWS[:60], 10, seed=2)


def network(inputs, rows, labels):
    """Return a small network trained on a matrix of levels."""
    source = torch.Generator().manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(inputs.width, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    for parameter in module.parameters():
        torch.nn.init.uniform_(parameter, -0.4, 0.4, generator=source)
    x, y = torch.from_numpy(inputs.transform(rows)), torch.tensor(labels, dtype=torch.float32)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(module(x)[:, 0], y).backward()
        optimiser.step()
    return module


@pytest.fixture(scope="module")
def torch_model():
    inputs = l2c.LevelInput.fit(FRAME, SCHEMA)
    module = network(inputs, ROWS, (FRAME["paid"] == "yes").to_numpy())
    return l2c.DiscretisedModel.of(module, inputs, classes=("no", "yes"))


# What it sees


def test_its_input_is_every_feature_one_hot_with_numbers_by_their_bins():
    inputs = l2c.LevelInput.fit(FRAME, SCHEMA)
    matrix = inputs.transform(ROWS)
    assert matrix.shape == (400, inputs.width)
    np.testing.assert_array_equal(matrix, by_hand(ROWS, inputs.layout))
    assert np.isnan(cells_of(ROWS)[:, 2]).any()


def test_its_answers_are_those_of_the_estimator_on_levels(model):
    matrix = by_hand(FRAME, model.layout)
    expected = LogisticRegression(C=100, max_iter=1000).fit(matrix, FRAME["paid"])
    np.testing.assert_allclose(model.predict_proba(ROWS), expected.predict_proba(matrix), rtol=0, atol=1e-12)
    assert model.classes == ("no", "yes")
    assert model.predict(FRAME) == expected.predict(matrix).tolist()


def test_any_value_of_a_bin_gets_the_same_answer(model):
    rng = np.random.default_rng(0)
    expected = model.predict_proba(ROWS)
    for _ in range(5):
        np.testing.assert_array_equal(model.predict_proba(drawn_within(ROWS, model.layout, rng)), expected)


def drawn_within(rows, layout, rng):
    """Return rows whose numbers are drawn from the intervals that they lie in."""
    drawn = rows.copy()
    for feature, axis in zip(layout.schema.features, layout.axes, strict=True):
        if feature.numeric:
            left, right = [axis.low, *axis.cuts], [*axis.cuts, axis.high]
            place = np.searchsorted(axis.cuts, rows[feature.name].to_numpy(float), side="left")
            gone = rows[feature.name].isna().to_numpy()
            place = np.where(gone, 0, place)
            low, high = np.array(left)[place], np.array(right)[place]
            # Up to the right end, and not down to the left one.
            value = high - rng.random(len(rows)) * (high - low)
            if feature.integer:
                value = np.maximum(np.floor(value), np.where(place > 0, np.floor(low) + 1, low))
            drawn[feature.name] = pd.Series(np.where(gone, np.nan, value)).astype(rows[feature.name].dtype).to_numpy()
    return drawn


def test_the_estimator_that_is_given_stays_as_it_was():
    estimator = LogisticRegression()
    l2c.discretised(estimator, FRAME, SCHEMA)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_other_kinds_of_frames_make_the_same_model(model, kind):
    other = l2c.discretised(LogisticRegression(C=100, max_iter=1000), kind(FRAME), SCHEMA)
    assert other.layout == model.layout
    np.testing.assert_allclose(other.predict_proba(kind(ROWS)), model.predict_proba(ROWS), rtol=0, atol=1e-12)


def test_labels_may_be_numbers_and_stand_in_another_column():
    frame = ROWS.assign(late=(FRAME["paid"] == "no").astype(int))
    schema = replace(SCHEMA, target=None)
    model = l2c.discretised(LogisticRegression(), frame, schema, target="late")
    assert model.classes == (0, 1)
    assert model.layout.schema == schema
    assert set(model.predict(ROWS)) == {0, 1}


def test_bins_that_look_at_classes_look_at_the_labels():
    schema = SCHEMA.edit("age", binning=l2c.MinimalEntropy())
    frame = FRAME.assign(paid=np.where(FRAME["age"] > 41, "yes", "no"))
    model = l2c.discretised(LogisticRegression(), frame, schema)
    assert model.layout.axes[0].cuts == (41.5,)
    assert l2c.LevelInput.fit(frame, schema).layout == model.layout


# What is learned through


def test_logistic_regression_has_a_twin_with_an_entry_for_every_level(model):
    unseen = cells_of(people(600)[400:].drop(columns="paid"))
    twin = differentiable(model, model.layout, cells_of(ROWS))
    assert isinstance(twin, AdditiveTwin)
    assert (twin.slopes == 0).all()
    np.testing.assert_allclose(twin.proba(unseen), model.proba(unseen), rtol=0, atol=1e-9)
    hot = torch.from_numpy(model.inputs.of_cells(unseen)).double()
    logits = twin.logits(torch.from_numpy(np.nan_to_num(unseen)), hot)
    np.testing.assert_allclose(logits.softmax(dim=1), model.proba(unseen), rtol=0, atol=1e-9)


def test_the_entries_are_the_coefficients_of_the_regression(model):
    twin = level_twin(model, model.layout, cells_of(ROWS))
    weights = model.blackbox.estimator.coef_[0]
    for start, size in zip(model.layout.offsets, model.layout.sizes, strict=True):
        entries = twin.entries[start : start + size, 1]
        np.testing.assert_allclose(entries - entries[0], weights[start : start + size] - weights[start], atol=1e-9)


def test_trees_and_models_that_name_a_class_alone_have_no_twin():
    tree = l2c.discretised(DecisionTreeClassifier(max_depth=4, random_state=0), FRAME, SCHEMA)
    assert tree.differentiable(cells_of(ROWS)) is None
    ridge = l2c.discretised(RidgeClassifier(), FRAME, SCHEMA)
    assert ridge.labels_only
    assert ridge.differentiable(cells_of(ROWS)) is None
    assert set(np.unique(ridge.predict_proba(ROWS))) == {0.0, 1.0}


def test_a_torch_module_is_asked_with_levels_and_gradients_flow_to_them(torch_model):
    cells = cells_of(ROWS)
    hot = torch.from_numpy(by_hand(ROWS, torch_model.layout)).float().requires_grad_()
    soft = torch_model.differentiable(cells)
    assert isinstance(soft, DifferentiableLevels)
    logits = soft.logits(torch.zeros(400, 4), hot)
    np.testing.assert_allclose(logits.softmax(dim=1).detach(), torch_model.proba(cells), rtol=0, atol=1e-6)
    logits[:, 1].sum().backward()
    assert (hot.grad != 0).any(dim=0).sum() > 8


# How it is explained


def test_an_explainer_has_the_models_own_bins(model, explainer):
    assert explainer.layout.axes == model.layout.axes
    # The bins of the rows that it learned from would be others.
    assert l2c.LevelInput.fit(FRAME[:320], SCHEMA).layout.axes != model.layout.axes
    assert "epochs on 320 rows" in explainer.training
    assert not explainer.bundle.counterer.recipe.decode_again


def test_a_model_that_must_answer_in_time_keeps_its_bins(model):
    blackbox = as_blackbox(model, frames.shape_of(ROWS, SCHEMA), cells_of(ROWS[:2]))
    assert own_layout(within(blackbox, 60.0)).axes == model.layout.axes
    assert (
        own_layout(as_blackbox(lambda frame: frame["age"] / 100, frames.shape_of(ROWS, SCHEMA), cells_of(ROWS))) is None
    )


def levels_by_hand(rows, layout, name):
    axis, feature = layout.axes[layout.schema.index(name)], layout.schema[name]
    if feature.numeric:
        return pd.cut(rows[name].astype(float), [-np.inf, *axis.cuts, np.inf], labels=False).to_numpy()
    return rows[name].map(feature.levels.index).to_numpy()


@pytest.mark.parametrize("which", ["model", "torch_model"])
def test_a_rule_holds_and_every_answer_is_valid_all_over_its_intervals(which, request):
    model, rng = request.getfixturevalue(which), np.random.default_rng(3)
    explainer = l2c.L2C(epochs=3, beta=0.5).fit(FRAME, model, SCHEMA)
    refused = ROWS[np.array(model.predict(ROWS)) == "no"][:60].reset_index(drop=True)
    found = explainer.explain(refused, 10, seed=2)
    long = found.to_frame()
    before = refused.iloc[long["row"]].reset_index(drop=True)
    education, age = (
        levels_by_hand(long, explainer.layout, name) - levels_by_hand(before, explainer.layout, name)
        for name in ("education", "age")
    )
    assert (education > 0).sum() > 50
    assert (age[education > 0] > 0).all()
    assert (long["age"] >= before["age"]).all()
    own = np.array(model.predict(before))
    assert (np.array(model.predict(long[ROWS.columns])) != own).all()
    for _ in range(10):
        drawn = drawn_within(long[list(ROWS.columns)], explainer.layout, rng)
        assert not drawn["debt"].equals(long["debt"])
        assert (np.array(model.predict(drawn)) != own).all()
    assert found.scores().binary == 1.0


def test_other_moves_and_rules_may_be_asked_of_the_same_model(model):
    schema = l2c.Schema.infer(FRAME, target="paid", immutable=["age"], ordinal={"education": EDUCATION})
    explainer = l2c.L2C(epochs=0, select="first").fit(FRAME, model, schema)
    long = explainer.explain(ROWS[:20], 3).to_frame()
    assert (long["age"].to_numpy() == ROWS["age"].iloc[long["row"]].to_numpy()).all()


def test_other_bins_or_levels_are_refused_by_name(model):
    schema = SCHEMA.edit("age", binning=l2c.Edges((30, 50))).edit("debt", binning=l2c.EqualFrequency(3))
    with pytest.raises(InputError) as caught:
        l2c.L2C().fit(FRAME, model, schema)
    assert str(caught.value) == (
        "the discretised model was trained on other bins or levels than the schema has: 'age', 'debt'; "
        "give the explainer the features that the model was given"
    )
    with pytest.raises(InputError, match="trained on other features, or in another order, than the schema"):
        l2c.L2C().fit(FRAME.drop(columns="debt"), model, l2c.Schema.infer(FRAME.drop(columns="debt"), target="paid"))


def test_a_saved_explainer_knows_its_model_again_and_no_other(model, explainer, found, tmp_path):
    explainer.save(tmp_path / "bundle")
    again = l2c.load(tmp_path / "bundle", model=model)
    assert again.layout.axes == model.layout.axes
    pd.testing.assert_frame_equal(again.explain(ROWS[:60], 10, seed=2).to_frame(), found.to_frame())
    found.write(tmp_path / "found.parquet")
    assert l2c.read(tmp_path / "found.parquet", model=model).scores(FRAME) == found.scores(FRAME)
    other = l2c.discretised(LogisticRegression(C=0.01), FRAME, SCHEMA)
    with pytest.raises(OtherModelError):
        l2c.load(tmp_path / "bundle", model=other)


# Intervals


def test_numbers_are_told_as_intervals_in_every_row_and_the_rest_as_it_is(found, explainer):
    plain, told = found.to_frame(), found.to_frame(intervals=True)
    assert told.columns.tolist() == plain.columns.tolist()
    for place, feature in enumerate(SCHEMA.features):
        if not feature.numeric:
            pd.testing.assert_series_equal(told[feature.name], plain[feature.name])
            continue
        axis = explainer.layout.axes[place]
        for value, text in zip(plain[feature.name], told[feature.name], strict=True):
            if np.isnan(value):
                assert text == "missing"
                continue
            left, right = axis.bounds(int(np.searchsorted(axis.cuts, value, side="left")))
            assert text == f"{left:.12g} – {right:.12g}"
            assert left <= value <= right
    assert (told["debt"] == "missing").any()


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_intervals_come_in_the_callers_kind_of_frame(explainer, found, kind):
    told = explainer.explain(kind(ROWS[:60]), 10, seed=2).to_frame(intervals=True)
    assert type(told) is type(kind(ROWS))
    assert pa.table({"age": told["age"]})["age"].to_pylist() == found.to_frame(intervals=True)["age"].tolist()


def test_any_model_may_be_told_in_intervals():
    rows = ROWS[["age", "married"]]
    explainer = l2c.L2C(epochs=0, select="first").fit(
        rows, lambda frame: (frame["age"] / 100).to_numpy(), l2c.Schema.infer(rows)
    )
    found = explainer.explain(rows[:5], 2)
    layout = found.released.layout
    expected = [layout.text(0, level) for level in layout.levels(cells_of(found.features(), layout.schema))[:, 0]]
    assert found.to_frame(intervals=True)["age"].tolist() == expected


# What is refused


def test_a_torch_module_is_trained_by_the_caller():
    with pytest.raises(InputError) as caught:
        l2c.discretised(torch.nn.Linear(3, 1), FRAME, SCHEMA)
    assert str(caught.value) == (
        "a torch module is trained by you: inputs = l2c.LevelInput.fit(df_train, schema), train it on "
        "inputs.transform(df_train), then l2c.DiscretisedModel.of(module, inputs, classes=...)"
    )


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(InputError, match=r"^function has no fit: expected a scikit-learn classifier$"):
        l2c.discretised(lambda frame: frame, FRAME, SCHEMA)
    with pytest.raises(InputError, match="the schema names no target: say which column holds the labels, target="):
        l2c.discretised(LogisticRegression(), ROWS, replace(SCHEMA, target=None))
    with pytest.raises(DataError, match=r"^the target 'paid' is not a column$"):
        l2c.discretised(LogisticRegression(), ROWS, SCHEMA)
    gaps = FRAME.assign(paid=FRAME["paid"].where(FRAME.index != 3))
    with pytest.raises(DataError, match=r"^column 'paid', row 3: the label is missing$"):
        l2c.discretised(LogisticRegression(), gaps, SCHEMA)
    with pytest.raises(ModelError, match=r"^fitting LogisticRegression raised ValueError: "):
        l2c.discretised(LogisticRegression(), FRAME.assign(paid="yes"), SCHEMA)


def test_bins_that_look_at_classes_need_labels():
    schema = replace(SCHEMA, target=None).edit("age", binning=l2c.Tree())
    with pytest.raises(InputError) as caught:
        l2c.LevelInput.fit(ROWS, schema)
    assert str(caught.value) == "'age': cut where classes differ, so the frame needs the labels, target=..."


def test_an_estimator_tells_its_own_classes_and_must_be_fitted():
    inputs = l2c.LevelInput.fit(FRAME, SCHEMA)
    with pytest.raises(InputError, match="classes are for a torch module; an estimator tells its own"):
        l2c.DiscretisedModel.of(LogisticRegression(), inputs, classes=("no", "yes"))
    with pytest.raises(ModelError, match="LogisticRegression has no classes_: fit it before it is explained"):
        l2c.DiscretisedModel.of(LogisticRegression(), inputs)
