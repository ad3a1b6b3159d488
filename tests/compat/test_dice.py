"""The surface of DiCE over L2C: its calls run, its results look alike, and nothing that it is told is swallowed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import l2c
from l2c.compat import dice as dice_ml
from l2c.compat.dice_arguments import CALL_INSTEAD, OWN
from l2c.errors import DataError, InputError

GUIDE = Path(__file__).parent.parent.parent / "docs" / "coming-from-dice.md"
NUMBERS = ["age", "hours", "kids"]


def people(rows=300):
    """Return people with numbers, texts, declared categories, and numbers that are names."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "job": rng.choice(["clerk", "cook", "nurse"], rows),
            "hours": rng.integers(10, 60, rows) + 0.5,
            "kids": rng.integers(0, 4, rows).astype("int32"),
            "region": pd.Categorical(rng.choice(["north", "south"], rows)),
            "branch": rng.integers(100, 115, rows),
        }
    )
    noise = rng.logistic(0, 0.5, rows)
    score = frame["age"] / 20 + frame["hours"] / 20 + (frame["job"] == "nurse") - frame["kids"] / 4 + noise
    return frame.assign(paid=(score > 4.5).astype("int8"))


FRAME = people()
ROWS = FRAME.drop(columns="paid")


def quick():
    """Return settings that fit in a moment."""
    return l2c.L2C(epochs=2, select="first")


@pytest.fixture(scope="module", autouse=True)
def _quick_fits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dice_ml, "L2C", quick)
        yield


def classifier(labels):
    columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["job", "region", "branch"]))
    return make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(ROWS, labels)


@pytest.fixture(scope="module")
def model():
    return classifier(FRAME["paid"])


def data(**changes):
    return dice_ml.Data(**{"dataframe": FRAME, "continuous_features": NUMBERS, "outcome_name": "paid"} | changes)


@pytest.fixture(scope="module")
def dice(model):
    return dice_ml.Dice(data(), dice_ml.Model(model=model, backend="sklearn"), method="random")


@pytest.fixture(scope="module")
def answer(dice):
    return dice.generate_counterfactuals(ROWS[:6], total_CFs=4, desired_class="opposite")


def problems_of(call, *args, **settings):
    with pytest.raises(InputError) as caught:
        call(*args, **settings)
    return list(caught.value.problems)


# Results


def test_every_row_has_as_many_valid_and_different_counterfactuals_as_asked(answer, model):
    assert len(answer.cf_examples_list) == 6
    for row, examples in enumerate(answer.cf_examples_list):
        cfs = examples.final_cfs_df
        assert len(cfs) == 4
        assert not cfs.duplicated().any()
        predicted = model.predict(cfs.drop(columns="paid"))
        assert (predicted == cfs["paid"]).all()
        assert (predicted != model.predict(ROWS[row : row + 1])).all()
        assert examples.new_outcome == predicted[0]
        assert examples.outcome.status == "found"


def test_frames_have_the_columns_and_the_types_of_the_data_with_the_outcome_behind(answer):
    for examples in answer.cf_examples_list:
        for frame in (examples.final_cfs_df, examples.test_instance_df):
            assert frame.columns.tolist() == [*ROWS.columns, "paid"]
            pd.testing.assert_series_equal(frame.dtypes, FRAME[frame.columns].dtypes)
            assert frame.index.tolist() == list(range(len(frame)))


def test_the_outcome_stands_behind_wherever_the_data_has_it(model):
    first = FRAME[["paid", *ROWS.columns]]
    asked = dice_ml.Dice(data(dataframe=first), dice_ml.Model(model)).generate_counterfactuals(ROWS[:1], 2)
    assert asked.cf_examples_list[0].final_cfs_df.columns.tolist() == [*ROWS.columns, "paid"]


def test_the_row_itself_is_given_back_with_the_models_class_for_it(answer, model):
    for row, examples in enumerate(answer.cf_examples_list):
        own = ROWS[row : row + 1].reset_index(drop=True)
        pd.testing.assert_frame_equal(examples.test_instance_df.drop(columns="paid"), own)
        assert examples.test_pred == model.predict(own)[0]


def test_the_sparse_frame_is_the_same_frame(answer):
    assert answer.cf_examples_list[0].final_cfs_df_sparse is answer.cf_examples_list[0].final_cfs_df


def test_a_row_without_counterfactuals_has_none_and_says_why(dice, capsys):
    nothing = dice.generate_counterfactuals(
        ROWS[:1], 2, features_to_vary=["kids"], permitted_range={"kids": [int(ROWS["kids"][0])] * 2}
    )
    (examples,) = nothing.cf_examples_list
    assert examples.final_cfs_df is None
    assert examples.only_changes() is None
    assert examples.outcome.status in ("none_valid", "infeasible")
    nothing.visualize_as_dataframe()
    assert f"No counterfactuals found! {examples.outcome.sentence}" in capsys.readouterr().out
    assert json.loads(nothing.to_json())["cfs_list"] == [None]


def test_a_row_that_is_there_already_has_none(dice, model):
    there = ROWS[model.predict(ROWS) == 1][:1]
    (examples,) = dice.generate_counterfactuals(there, 2, desired_class=1).cf_examples_list
    assert examples.final_cfs_df is None
    assert examples.outcome.status == "already"


def test_a_row_that_cannot_be_read_has_none_and_the_others_have_theirs(dice):
    rows = ROWS[:2].assign(job=["pilot", "cook"])
    unreadable, fine = dice.generate_counterfactuals(rows, 2).cf_examples_list
    assert unreadable.final_cfs_df is None
    assert unreadable.outcome.status == "bad_input"
    assert "'pilot' is not a known level" in unreadable.outcome.sentence
    assert len(fine.final_cfs_df) == 2


# What is asked


def test_only_the_features_that_may_vary_change(dice):
    vary = ["hours", "job"]
    answer = dice.generate_counterfactuals(ROWS[:5], 3, features_to_vary=iter(vary))
    kept = [name for name in ROWS.columns if name not in vary]
    for row, examples in enumerate(answer.cf_examples_list):
        own = pd.concat([ROWS[row : row + 1]] * len(examples.final_cfs_df), ignore_index=True)
        pd.testing.assert_frame_equal(examples.final_cfs_df[kept], own[kept])


def test_what_is_proposed_lies_in_the_permitted_range(dice):
    ranges = {"age": np.array([25, 60]), "job": ["nurse"], "hours": [15, 50]}
    answer = dice.generate_counterfactuals(ROWS[:8], 5, permitted_range=ranges)
    found = [(row, examples.final_cfs_df) for row, examples in enumerate(answer.cf_examples_list)]
    found = [(ROWS.iloc[row], cfs) for row, cfs in found if cfs is not None]
    assert len(found) > 5
    for own, cfs in found:
        assert (cfs["age"].between(25, 60) | (cfs["age"] == own["age"])).all()
        assert (cfs["hours"].between(15, 50) | (cfs["hours"] == own["hours"])).all()
        assert cfs["job"].isin(["nurse", own["job"]]).all()


def test_a_range_of_the_data_stands_until_a_call_names_another(model):
    dice = dice_ml.Dice(data(permitted_range={"age": [30, 40]}), dice_ml.Model(model=model))
    for asked, (low, high) in ((None, (30, 40)), ({"hours": [0, 60]}, (30, 40)), ({"age": [50, 60]}, (50, 60))):
        answer = dice.generate_counterfactuals(ROWS[:6], 4, permitted_range=asked)
        for row, examples in enumerate(answer.cf_examples_list):
            age = examples.final_cfs_df["age"]
            assert (age.between(low, high) | (age == ROWS["age"][row])).all()


def test_a_class_is_named_by_its_label(dice, model):
    answer = dice.generate_counterfactuals(ROWS[:10], 2, desired_class=np.int64(0))
    for row, examples in enumerate(answer.cf_examples_list):
        if model.predict(ROWS[row : row + 1])[0] == 1:
            assert (examples.final_cfs_df["paid"] == 0).all()
        else:
            assert examples.final_cfs_df is None


def test_where_labels_are_texts_a_class_is_named_by_its_label_or_its_place():
    labels = np.where(FRAME["paid"] == 1, "yes", "no")
    frame = ROWS.assign(paid=labels)
    model = classifier(labels)
    dice = dice_ml.Dice(data(dataframe=frame), dice_ml.Model(model=model))
    refused = ROWS[model.predict(ROWS) == "no"][:2]
    for desired in (1, "yes", "opposite"):
        answer = dice.generate_counterfactuals(refused, 2, desired_class=desired)
        for examples in answer.cf_examples_list:
            assert examples.test_pred == "no"
            assert examples.final_cfs_df["paid"].tolist() == ["yes", "yes"]
            assert examples.final_cfs_df["paid"].dtype == frame["paid"].dtype
    (problem,) = problems_of(dice.generate_counterfactuals, refused, 2, desired_class="yess")
    assert problem == "desired 'yess' is no class of the model; its classes are 'no', 'yes'; did you mean 'yes'?"


def test_opposite_needs_two_classes():
    thirds = np.digitize(FRAME["age"] + FRAME["hours"], [60, 100])
    dice = dice_ml.Dice(data(dataframe=ROWS.assign(paid=thirds)), dice_ml.Model(model=classifier(thirds)))
    (problem,) = problems_of(dice.generate_counterfactuals, ROWS[:1], 1)
    assert problem == "desired_class 'opposite' needs two classes; name one of 0, 1, 2"
    wanted = (int(thirds[0]) + 1) % 3
    (examples,) = dice.generate_counterfactuals(ROWS[:1], 2, desired_class=wanted).cf_examples_list
    assert examples.final_cfs_df["paid"].tolist() == [wanted, wanted]


def test_a_stopping_threshold_is_the_least_probability_of_the_desired_class(dice, model):
    answer = dice.generate_counterfactuals(ROWS[:5], 3, stopping_threshold=0.8)
    for examples in answer.cf_examples_list:
        proba = model.predict_proba(examples.final_cfs_df.drop(columns="paid"))
        assert (proba[:, examples.new_outcome] >= 0.8).all()


def test_the_same_seed_gives_the_same_answer_and_none_is_zero(dice):
    plain, none, zero, other = (
        dice.generate_counterfactuals(ROWS[:3], 3, **seed)
        for seed in ({}, {"random_seed": None}, {"random_seed": 0}, {"random_seed": 8})
    )
    for one, two, three, four in zip(*(got.cf_examples_list for got in (plain, none, zero, other)), strict=True):
        pd.testing.assert_frame_equal(one.final_cfs_df, two.final_cfs_df)
        pd.testing.assert_frame_equal(one.final_cfs_df, three.final_cfs_df)
        assert not one.final_cfs_df.equals(four.final_cfs_df)


def test_rows_may_be_dictionaries_and_take_the_types_of_the_data(dice):
    frame = dice.generate_counterfactuals(ROWS[:2], 2)
    records = ROWS[:2].to_dict("records")
    several, single = dice.generate_counterfactuals(records, 2), dice.generate_counterfactuals(records[0], 2)
    for one, other in zip(frame.cf_examples_list, several.cf_examples_list, strict=True):
        pd.testing.assert_frame_equal(one.final_cfs_df, other.final_cfs_df)
        pd.testing.assert_frame_equal(one.test_instance_df, other.test_instance_df)
    pd.testing.assert_frame_equal(single.cf_examples_list[0].final_cfs_df, frame.cf_examples_list[0].final_cfs_df)


def test_an_outcome_in_the_rows_is_ignored(dice):
    with_it, without = dice.generate_counterfactuals(FRAME[:2], 2), dice.generate_counterfactuals(ROWS[:2], 2)
    for one, other in zip(with_it.cf_examples_list, without.cf_examples_list, strict=True):
        pd.testing.assert_frame_equal(one.final_cfs_df, other.final_cfs_df)


def test_a_fraction_in_a_column_of_whole_numbers_is_told_and_not_cut_off(dice):
    (examples,) = dice.generate_counterfactuals(ROWS[:1].assign(age=30.5), 2).cf_examples_list
    assert examples.outcome.status == "bad_input"
    assert "30.5 is not whole" in examples.outcome.sentence


def test_arguments_of_explain_go_along(dice):
    answer = dice.generate_counterfactuals(ROWS[:5], 3, max_changes=1, where="hours <= was.hours + 20", reasons=False)
    found = [row for row, examples in enumerate(answer.cf_examples_list) if examples.final_cfs_df is not None]
    assert found
    for row in found:
        examples = answer.cf_examples_list[row]
        changed = examples.only_changes().drop(columns="paid") != "-"
        assert (changed.sum(axis=1) == 1).all()
        assert (examples.final_cfs_df["hours"] <= ROWS["hours"][row] + 20).all()


def test_what_l2c_tells_is_at_hand(answer, dice):
    assert isinstance(dice.explainer, l2c.Explainer)
    assert isinstance(answer.found, l2c.Explanations)
    assert answer.found.scores().validity == 1.0
    assert len(answer.found.to_frame()) == 24


def test_the_explainer_is_fitted_once_and_not_before_it_is_asked(model, monkeypatch):
    fitted = []

    class Counting:
        def fit(self, *args, **settings):
            fitted.append(settings)
            return quick().fit(*args, **settings)

    monkeypatch.setattr(dice_ml, "L2C", Counting)
    dice = dice_ml.Dice(data(), dice_ml.Model(model=model))
    assert fitted == []
    for _ in range(2):
        dice.generate_counterfactuals(ROWS[:1], 1)
    assert fitted == [{"seed": 0}]


# What the data says


def test_continuous_features_are_numbers_and_all_others_categories():
    described = data()
    kinds = {feature.name: feature.kind for feature in described.schema.features}
    assert {name for name, kind in kinds.items() if kind == "numeric"} == set(NUMBERS)
    assert described.schema["kids"].integer
    assert not described.schema["hours"].integer
    assert described.schema["branch"].levels == tuple(range(100, 115))
    assert described.categorical_feature_names == ["job", "region", "branch"]
    assert described.continuous_feature_names == NUMBERS
    assert described.feature_names == list(ROWS.columns)


def test_the_frame_is_not_changed(model):
    frame = FRAME.copy()
    dice_ml.Dice(data(dataframe=frame), dice_ml.Model(model=model)).generate_counterfactuals(frame[:1], 1)
    pd.testing.assert_frame_equal(frame, FRAME)


# Showing


def test_only_changes_are_shown_and_the_rest_are_dashes(answer, capsys):
    answer.visualize_as_dataframe(show_only_changes=True)
    shown = capsys.readouterr().out
    for examples in answer.cf_examples_list:
        cfs, dashed = examples.final_cfs_df, examples.only_changes()
        own = pd.concat([examples.test_instance_df] * len(cfs), ignore_index=True)
        assert ((dashed == "-") == (cfs.astype(object) == own.astype(object))).all(axis=None)
        assert f"Query instance (original outcome : {examples.test_pred})" in shown
        assert f"Diverse Counterfactual set (new outcome: {examples.new_outcome})" in shown
        assert dashed.to_string() in shown


def test_everything_is_shown_by_default_whatever_is_said_of_sparse_frames(answer, capsys):
    for settings in ({}, {"display_sparse_df": False}, {"display_sparse_df": True}):
        answer.visualize_as_dataframe(**settings)
        assert answer.cf_examples_list[2].final_cfs_df.to_string() in capsys.readouterr().out


def test_lists_hold_the_same(answer, capsys):
    answer.visualize_as_list()
    shown = capsys.readouterr().out
    line = answer.cf_examples_list[0].final_cfs_df.astype(object).to_numpy()[0].tolist()
    assert str(line) in shown
    answer.visualize_as_list(show_only_changes=True)
    assert "'-'" in capsys.readouterr().out


def test_in_a_notebook_frames_are_displayed(answer, capsys, monkeypatch):
    seen = []
    ipython = SimpleNamespace(get_ipython=lambda: object(), display=SimpleNamespace(display=seen.append))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    answer.visualize_as_dataframe()
    assert [len(frame) for frame in seen] == [1, 4] * 6
    assert "Query instance" in capsys.readouterr().out


def test_verbose_says_a_sentence_for_each_row(dice, capsys):
    dice.generate_counterfactuals(ROWS[:2], 2, verbose=True)
    assert capsys.readouterr().out == "row 0: 2 different counterfactuals\nrow 1: 2 different counterfactuals\n"
    dice.generate_counterfactuals(ROWS[:2], 2, verbose=False)
    assert capsys.readouterr().out == ""


def test_json_has_the_layout_of_dice(answer):
    told = json.loads(answer.to_json())
    assert set(told) == {
        "test_data", "cfs_list", "local_importance", "summary_importance", "data_interface", "feature_names",
        "feature_names_including_target", "model_type", "desired_class", "desired_range", "metadata",
    }  # fmt: skip
    assert told["metadata"] == {"version": "2.0"}
    assert told["feature_names_including_target"] == [*told["feature_names"], "paid"]
    assert told["data_interface"]["outcome_name"] == "paid"
    for examples, own, cfs in zip(answer.cf_examples_list, told["test_data"], told["cfs_list"], strict=True):
        names = told["feature_names_including_target"]
        back = pd.DataFrame(cfs, columns=names).astype(FRAME[names].dtypes.to_dict())
        pd.testing.assert_frame_equal(back, examples.final_cfs_df)
        assert own[0] == examples.test_instance_df.astype(object).to_numpy()[0].tolist()


# What is refused


def test_all_problems_of_a_call_are_told_at_once_and_before_anything_is_fitted(model):
    dice = dice_ml.Dice(data(), dice_ml.Model(model=model))
    problems = problems_of(
        dice.generate_counterfactuals,
        ROWS[:1],
        total_CFs=0,
        desired_range=[0, 1],
        permitted_range={"hours": [5, 3], "jb": ["cook"], "job": ["pilot"]},
        features_to_vary=["agee"],
        features_to_var=["age"],
        proximity_weight=0.2,
        sample_size=100,
        stopping_threshold=0.2,
        random_seed=-1,
    )
    assert problems == [
        "generate_counterfactuals takes no 'desired_range': it is for regression; desired_class= names a class, "
        "stopping_threshold= its least probability",
        "generate_counterfactuals has no argument 'features_to_var'; did you mean 'features_to_vary'?",
        "generate_counterfactuals takes no 'proximity_weight': select='sparse' prefers the fewest changes, "
        "max_changes= bounds them",
        "generate_counterfactuals takes no 'sample_size': tries= is the most proposals drawn for a row",
        "total_CFs must be at least 1, not 0",
        "random_seed must be at least 0, not -1",
        "stopping_threshold is a probability from 0.5 to 1, not 0.2: below, the model itself decides otherwise",
        "permitted_range: there is no feature 'jb'; did you mean 'job'?",
        "permitted_range 'hours': the range 5 to 3 is empty",
        "permitted_range 'job': 'pilot' is none of its levels, 'clerk', 'cook', 'nurse'",
        "features_to_vary: there is no feature 'agee'; did you mean 'age'?",
    ]
    assert "explainer" not in vars(dice)


@pytest.mark.parametrize("name", CALL_INSTEAD)
def test_every_setting_that_means_nothing_here_says_what_to_use_and_as_none_asks_for_nothing(dice, name):
    (problem,) = problems_of(dice.generate_counterfactuals, ROWS[:1], 1, **{name: 1})
    assert problem == f"generate_counterfactuals takes no {name!r}: {CALL_INSTEAD[name]}"
    assert len(dice.generate_counterfactuals(ROWS[:1], 1, **{name: None}).cf_examples_list) == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("age", "features_to_vary is 'all' or a list of names, not 'age'"),
        (None, "features_to_vary is 'all' or a list of names, not None"),
        ([], "features_to_vary is empty: nothing could change"),
    ],
)
def test_features_to_vary_must_be_names(dice, given, sentence):
    assert problems_of(dice.generate_counterfactuals, ROWS[:1], 1, features_to_vary=given) == [sentence]


def test_a_permitted_range_must_name_features(dice):
    assert problems_of(dice.generate_counterfactuals, ROWS[:1], 1, permitted_range=[30, 40]) == [
        "permitted_range names features with their ranges, not [30, 40]"
    ]


def test_rows_of_another_kind_are_refused(dice):
    (problem,) = problems_of(dice.generate_counterfactuals, [1, 2, 3], 1)
    assert problem == (
        "query_instances is a pandas DataFrame, a dictionary or a list of dictionaries, not list; "
        "other kinds of frames go to l2c.L2C directly"
    )
    with pytest.raises(DataError, match="column 'job' is missing, but the schema declares it"):
        dice.generate_counterfactuals(ROWS[:1].drop(columns="job"), 1)


def test_what_is_wrong_with_the_data_is_told_at_once():
    assert problems_of(
        dice_ml.Data,
        dataframe=FRAME.assign(number=range(300)),
        continuous_features=["age", "hurs", "job", "paid"],
        outcome_name="paid",
        continous_features=["age"],
        continuous_features_precision={"age": 1},
    ) == [
        "Data has no argument 'continous_features'; did you mean 'continuous_features'?",
        "Data takes no 'continuous_features_precision': numbers are typical values of the data's own, whole where "
        "the column is whole",
        "continuous_features: there is no column 'hurs'; did you mean 'hours'?",
        f"continuous_features: 'job' holds no numbers, but {FRAME['job'].dtype}",
        "'paid' is the outcome and cannot be a continuous feature too",
        "'number' has 300 different numbers in 300 rows and is no continuous feature: name it in "
        "continuous_features, or drop it",
    ]
    assert problems_of(data, outcome_name="payed", continuous_features="age") == [
        "outcome_name 'payed' is not a column; did you mean 'paid'?",
        "continuous_features is a list of column names, not 'age'",
    ]
    assert problems_of(data, permitted_range={"age": [40, 30]}) == [
        "permitted_range 'age': the range 40 to 30 is empty"
    ]


def test_data_without_rows_are_refused():
    assert problems_of(dice_ml.Data, features={"age": [18, 80]}, outcome_name="paid") == [
        "Data takes no 'features': L2C learns from rows; give dataframe=, continuous_features= and outcome_name=",
        "dataframe is a pandas DataFrame, not NoneType",
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"backend": "PYT"}, "backend 'PYT': wrap the module as l2c.TorchModel("),
        ({"backend": "TF2"}, "backend 'TF2': give a function from a data frame to probabilities as model="),
        ({"backend": "sklern"}, "backend is 'sklearn', or left out, not 'sklern'; did you mean 'sklearn'?"),
        ({"backend": {"model": "x.Y"}}, "backend is 'sklearn', or left out, not {'model': 'x.Y'}"),
        ({"model_type": "regressor"}, "model_type is 'classifier', not 'regressor': classes are explained here"),
        ({"func": "ohe-min-max"}, "Model takes no 'func': make the transformation a step of the model"),
        ({"model_path": "model.pkl"}, "Model takes no 'model_path': a model is never read from a file"),
        ({"modl": 1}, "Model has no argument 'modl'; did you mean 'model'?"),
    ],
)
def test_what_a_model_cannot_be_given_is_refused(model, given, sentence):
    (problem,) = problems_of(dice_ml.Model, model, **given)
    assert problem.startswith(sentence)


def test_a_model_is_needed():
    assert problems_of(dice_ml.Model) == ["give the classifier as model="]


@pytest.mark.parametrize("method", ["random", "genetic", "gradient"])
def test_the_names_of_searches_are_accepted(model, method):
    assert dice_ml.Dice(data(), dice_ml.Model(model=model), method=method).data_interface.outcome_name == "paid"


def test_a_search_that_answers_with_real_rows_is_refused_and_so_is_an_unknown_one(model):
    (problem,) = problems_of(dice_ml.Dice, data(), dice_ml.Model(model=model), method="kdtree")
    assert problem.startswith("method 'kdtree' answers with rows of the data, which L2C never does on purpose")
    (problem,) = problems_of(dice_ml.Dice, data(), dice_ml.Model(model=model), method="gentic")
    assert problem == "method is one of random, genetic, gradient, not 'gentic'; did you mean 'genetic'?"


# The guide


def test_the_python_of_the_guide_runs_and_shows_what_it_says(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names = {}
    exec(compile(block, GUIDE.name, "exec"), names)
    printed = capsys.readouterr().out
    assert printed.count("Diverse Counterfactual set") == 2
    assert "4 different counterfactuals 1.0" in printed
    for examples in names["answer"].cf_examples_list:
        assert (
            names["model"].predict(examples.final_cfs_df[list(names["rows"])]) == examples.final_cfs_df["risk"]
        ).all()


def test_the_arguments_of_explain_that_the_guide_names_go_along():
    named = GUIDE.read_text().partition("may be given in the same call:")[2].partition(".")[0]
    told = re.findall(r"`(\w+)`", named)
    assert len(told) > 8
    assert set(told) <= set(OWN)
