"""The front door: what `fit` and `explain` promise, checked on frames in the caller's own units."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import l2c
from l2c import L2C, Feature, Implies, Schema
from l2c.app import answering
from l2c.errors import DataError, InputError, ModelError, OtherModelError
from l2c.release import search as release_stage
from l2c.release.explain import ALREADY
from loans import SCHEMA, applicants, granted, refused

QUICK = L2C(epochs=2, hidden=8, select="first", model_rows=2000)
"""Without a pool to choose from, fitting tries no settings and takes no time."""

# The checker: one cell after another, from frames alone, without a level in sight


def position(feature, value):
    """Return the place of a value in its feature's order, None if it is missing."""
    if pd.isna(value):
        return None
    return float(value) if feature.numeric else feature.levels.index(value)


def rose(feature, was, now):
    before, after = position(feature, was), position(feature, now)
    return before is not None and after is not None and after > before


def broken_by_cell(feature, was, now):
    if (pd.isna(was) and pd.isna(now)) or was == now:
        return None
    if feature.moves == "never":
        return "moved"
    if pd.isna(now):
        return "went missing"
    if feature.moves == "rises" and not rose(feature, was, now):
        return "did not rise"
    if feature.moves == "falls" and not rose(feature, now, was):
        return "did not fall"
    if feature.numeric:
        low, high = (end for end in (feature.low, feature.high))
        if (low is not None and now < low) or (high is not None and now > high):
            return "left its range"
        if feature.integer and now != int(now):
            return "is not whole"
    elif now not in feature.levels:
        return "has an unknown level"
    return None


def broken(schema, rows, long):
    """Return every promise of the schema that a long frame breaks, given the rows it started from."""
    problems = []
    originals = rows.to_dict("records")
    for number, after in enumerate(long.to_dict("records")):
        before = originals[after["row"]]
        for feature in schema.features:
            problem = broken_by_cell(feature, before[feature.name], after[feature.name])
            if problem:
                problems.append(f"{number}: {feature.name} {problem}")
        for rule in schema.rules:
            cause, effect = (rose(schema[name], before[name], after[name]) for name in (rule.cause, rule.effect))
            if cause and not effect:
                problems.append(f"{number}: {rule.sentence()}")
    return problems


def repeated(schema, rows, long):
    """Return how many counterfactuals equal an earlier one of their row, or the row itself."""
    originals = rows[list(schema.names)].assign(row=range(len(rows)))
    both = pd.concat([originals.astype(object), long[["row", *schema.names]].astype(object)])
    return int(both.duplicated().sum() - originals.duplicated().sum())


def answers(found):
    """Return each row's counterfactuals as tuples of values, in order.

    The last bits of a probability are the model's own affair: matrix products differ with the number of rows.
    """
    long = found.to_frame()
    long["probability"] = long["probability"].round(12)
    columns = [*found.schema.names, "prediction", "probability"]
    sets = {row: [] for row in range(len(found.outcomes))}
    for row, *values in zip(long["row"], *(long[name] for name in columns), strict=True):
        sets[row].append(tuple(None if pd.isna(value) else value for value in values))
    return list(sets.values())


def test_the_checker_of_these_tests_sees_every_kind_of_breach():
    schema = Schema(
        (
            Feature(name="age", kind="numeric", integer=True, moves="rises", high=90, missing=True),
            Feature(name="debt", kind="numeric", moves="falls"),
            Feature(name="sex", kind="binary", levels=("f", "m"), moves="never"),
            Feature(name="school", kind="ordinal", levels=("low", "middle", "high")),
        ),
        rules=(Implies("school", "age"),),
    )
    rows = pd.DataFrame({"age": [30.0], "debt": [5.0], "sex": ["f"], "school": ["low"]})
    breaches = {
        "age did not rise": {"age": 20.0},
        "age went missing": {"age": np.nan},
        "age left its range": {"age": 95.0},
        "age is not whole": {"age": 40.5},
        "debt did not fall": {"debt": 6.0},
        "sex moved": {"sex": "m"},
        "school has an unknown level": {"school": "higher"},
        "if school rises, age rises": {"school": "high"},
    }
    assert broken(schema, rows, rows.assign(row=0)) == []
    assert broken(schema, rows, rows.assign(row=0, school="high", age=31.0)) == []
    for sentence, change in breaches.items():
        if sentence == "school has an unknown level":
            assert broken_by_cell(schema["school"], "low", "higher") is not None
            continue
        assert broken(schema, rows, rows.assign(row=0, **change)) == [f"0: {sentence}"]
    assert repeated(schema, rows, rows.assign(row=0)) == 1


# What is released


def test_the_original_pipeline_puts_every_released_row_in_the_desired_class(german, model, found):
    long, names = found.to_frame(), list(german.schema.names)
    before = model.predict(german.test[:40])
    assert len(long) == 400
    assert (model.predict(long[names]) == long["prediction"]).all()
    assert (long["prediction"].to_numpy() != before[long["row"]]).all()
    places = [list(model.classes_).index(label) for label in long["prediction"]]
    own = model.predict_proba(long[names])[range(len(long)), places]
    assert long["probability"].to_numpy() == pytest.approx(own, abs=1e-12)
    assert (own > 0.5).all()


@pytest.mark.parametrize(
    "method",
    [
        QUICK,
        L2C.paper(epochs=1),
        L2C(epochs=0, selector="absent", select="first"),
        L2C(epochs=1, inputs="values", select="first", plausibility=1.0),
    ],
    ids=["quick", "paper", "absent", "values"],
)
def test_nothing_released_breaks_what_the_schema_declares(german, model, method):
    rows = german.test[:25]
    long = method.fit(german.train, model, german.schema, seed=1).explain(rows, 8).to_frame()
    assert len(long) == 200
    assert broken(german.schema, rows, long) == []
    assert repeated(german.schema, rows, long) == 0


def test_rows_and_ranks_count_the_counterfactuals_of_each_input_row(found):
    long = found.to_frame()
    assert long["row"].tolist() == [row for row in range(40) for _ in range(10)]
    assert long["rank"].tolist() == list(range(1, 11)) * 40
    assert {outcome.status for outcome in found.outcomes} == {"found"}
    assert {outcome.sentence for outcome in found.outcomes} == {"10 different counterfactuals"}
    assert all(outcome.tries >= outcome.found == 10 for outcome in found.outcomes)


# The small table of the other tests


PEOPLE = Schema(
    (
        Feature(name="age", kind="numeric", integer=True, moves="rises"),
        Feature(name="hours", kind="numeric"),
        Feature(name="school", kind="ordinal", levels=("low", "middle", "high")),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook")),
        Feature(name="sick", kind="binary", levels=(False, True)),
    ),
    target="paid",
)


def people(count=80, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "job": rng.choice(["clerk", "nurse", "cook"], count),
            "age": rng.integers(18, 70, count),
            "hours": (2 * rng.normal(35, 8, count)).round() / 2,
            "school": rng.choice(["low", "middle", "high"], count),
            "sick": rng.random(count) < 0.4,
        }
    )


def columns_of(frame):
    return frame.to_pandas() if hasattr(frame, "to_pandas") else frame


def odds(frame):
    """Return log-odds of being paid, from a frame of any kind."""
    data = columns_of(frame)
    schooled = data["school"].astype(str).map({"low": -1.0, "middle": 0.0, "high": 1.0}).to_numpy(float)
    nurse = (data["job"].astype(str) == "nurse").to_numpy(float)
    age, hours, sick = (data[name].to_numpy(float, na_value=np.nan) for name in ("age", "hours", "sick"))
    return (age - 44) / 10 + (np.nan_to_num(hours, nan=30.0) - 35) / 8 + schooled + nurse - sick


def paid(frame):
    """Return the probability of class 1."""
    return 1 / (1 + np.exp(-odds(frame)))


@pytest.fixture(scope="module")
def clerk():
    """Return an explainer of the small table, for a plain function."""
    return QUICK.fit(people(), paid, PEOPLE)


# Frames come back as they went in


def as_pandas(frame):
    return frame.astype({"age": "Int16", "hours": "float32", "sick": "boolean"}).assign(
        job=pd.Categorical(frame["job"], ["nurse", "cook", "clerk", "pilot"]), school=frame["school"].astype("string")
    )


def as_polars(frame):
    school = pl.Enum(["low", "middle", "high"])
    return pl.from_pandas(frame).cast({"age": pl.Int8, "hours": pl.Float32, "job": pl.Categorical, "school": school})


def as_arrow(frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    types = {"age": pa.uint8(), "hours": pa.float32(), "sick": pa.bool_()}
    texts = {"job": pa.dictionary(pa.int8(), pa.string()), "school": pa.string()}
    return table.cast(pa.schema([(name, (types | texts)[name]) for name in table.column_names]))


def dtypes(frame):
    if isinstance(frame, pa.Table):
        return dict(zip(frame.column_names, frame.schema.types, strict=True))
    return dict(zip(frame.columns, frame.dtypes, strict=True))


@pytest.mark.parametrize("make", [as_pandas, as_polars, as_arrow])
def test_the_long_frame_has_the_kind_the_column_order_and_the_dtypes_of_the_input(make):
    rows = make(people())
    explainer = QUICK.fit(rows, paid, PEOPLE)
    long = explainer.explain(rows[:12], 4).to_frame()
    assert type(long) is type(rows)
    assert list(dtypes(long)) == [
        "row", "rank", "job", "age", "hours", "school", "sick", "prediction", "probability", "cost"
    ]  # fmt: skip
    assert {name: kind for name, kind in dtypes(long).items() if name in dtypes(rows)} == dtypes(rows)
    assert len(long) == 48


@pytest.mark.parametrize("make", [as_pandas, as_polars, as_arrow])
def test_rows_of_another_kind_than_the_training_frame_get_the_same_answers(clerk, make):
    rows = people(10, seed=4)
    expected, other = (columns_of(clerk.explain(frame, 3).to_frame()) for frame in (rows, make(rows)))
    assert len(other) == 30
    assert (other["probability"] == expected["probability"]).all()
    for name in PEOPLE.names:
        assert other[name].tolist() == expected[name].tolist()


@pytest.mark.parametrize("make", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)])
def test_a_scikit_learn_pipeline_is_explained_from_polars_and_arrow_frames_too(german, model, make):
    explainer = QUICK.fit(make(german.train), model, german.schema)
    long = columns_of(explainer.explain(make(german.test[:5]), 3).to_frame())
    assert len(long) == 15
    assert (model.predict(long[list(german.schema.names)]) == long["prediction"]).all()


def test_an_integer_column_stays_integer_and_a_float_column_of_whole_numbers_whole(german, found):
    long = found.to_frame()
    assert long[["duration", "credit_amount", "age"]].dtypes.tolist() == [np.dtype("int64")] * 3
    rows = people().astype({"age": "float64"})
    released = QUICK.fit(rows, paid, PEOPLE).explain(rows[:10], 5).to_frame()
    assert released["age"].dtype == np.dtype("float64")
    assert (released["age"] == released["age"].round()).all()
    assert (found.to_frame()["age"] != german.test["age"].to_numpy()[long["row"]]).any()


def test_the_inputs_own_index_is_kept_beside_the_row(clerk):
    rows = people(4, seed=2)
    rows.index = ["ann", "bob", "cy", "di"]
    long = clerk.explain(rows, 2).to_frame()
    assert long.columns.tolist()[:3] == ["row", "rank", "index"]
    assert long["index"].tolist() == [name for name in rows.index for _ in range(2)]
    assert "index" not in clerk.explain(rows.reset_index(drop=True), 2).to_frame()


def test_a_target_column_in_the_rows_is_left_out(clerk):
    rows = people(6, seed=3)
    with_target = clerk.explain(rows.assign(paid=1), 3)
    assert answers(with_target) == answers(clerk.explain(rows, 3))
    assert "paid" not in with_target.to_frame()


def test_a_model_that_goes_by_column_places_gets_the_training_order_whatever_the_rows_have():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(0, 1, 90), "b": rng.normal(9, 2, 90), "c": rng.integers(0, 40, 90)})
    bare = LogisticRegression().fit(rows.to_numpy(), (rows["a"] * 3 - rows["b"] + rows["c"] / 5 + 5 > 0))
    explainer = QUICK.fit(rows, bare, Schema.infer(rows))
    turned = rows[["c", "b", "a"]][:20]
    found = explainer.explain(turned, 5)
    assert answers(found) == answers(explainer.explain(rows[:20], 5))
    long = found.to_frame()
    assert long.columns.tolist() == ["row", "rank", "c", "b", "a", "prediction", "probability", "cost"]
    assert (bare.predict(long[["a", "b", "c"]].to_numpy()) == long["prediction"]).all()


# Seeds


def test_the_same_seed_gives_a_row_the_same_answer_in_any_batch(german, explainer, found):
    expected, rows = answers(found), german.test[:40]
    assert answers(explainer.explain(rows, 10, seed=3)) == expected
    assert answers(explainer.explain(rows[::-1], 10, seed=3)) == expected[::-1]
    assert answers(explainer.explain(rows[17:18], 10, seed=3)) == expected[17:18]
    assert answers(explainer.explain(german.test[:150], 10, seed=3))[:40] == expected


def test_the_size_of_the_release_loops_blocks_changes_nothing(german, explainer, found, monkeypatch):
    for name in ("BLOCK", "NEAR"):
        monkeypatch.setattr(release_stage, name, 64)
    assert answers(explainer.explain(german.test[:40], 10, seed=3)) == answers(found)


def test_equal_rows_get_equal_answers_and_asking_for_fewer_gives_the_first_ones(german, explainer):
    twice = explainer.explain(german.test.iloc[[5, 5]], 6, seed=9)
    first, second = answers(twice)
    assert first == second
    assert answers(explainer.explain(german.test.iloc[[5]], 4, seed=9)) == [first[:4]]


def test_another_seed_gives_another_answer(german, explainer, found):
    other = answers(explainer.explain(german.test[:40], 10, seed=4))
    assert all(mine != yours for mine, yours in zip(answers(found), other, strict=True))


def test_the_seed_of_fit_decides_the_explainer(german, model):
    def laws(seed):
        method = replace(QUICK, beta=0.2)
        generator = method.fit(german.train[:100], model, german.schema, seed=seed).bundle.counterer.generator
        return [layer.weight.tobytes() for layer in generator]

    assert laws(1) == laws(1)
    assert laws(1) != laws(2)


def test_fit_and_explain_leave_the_global_random_state_and_torchs_threads_alone(german, model):
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    threads = torch.get_num_threads()
    QUICK.fit(german.train[:100], model, german.schema).explain(german.test[:3], 3)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == before
    assert torch.get_num_threads() == threads


def test_numpy_integers_are_whole_numbers_too(german, model, clerk, tmp_path):
    rows = people(3)
    found = clerk.explain(rows, np.int64(2), seed=np.uint8(7), tries=np.int32(500))
    assert answers(found) == answers(clerk.explain(rows, 2, seed=7, tries=500))
    found.write(tmp_path / "found.parquet")
    assert len(l2c.read(tmp_path / "found.parquet")) == 6
    QUICK.fit(german.train[:50], model, german.schema, seed=np.int64(1)).save(tmp_path / "bundle")
    assert l2c.load(tmp_path / "bundle", model=model).bundle.notes["seed"] == 1


# Requests that cannot be met


def problems_of(action, *arguments, **named):
    with pytest.raises(InputError) as caught:
        action(*arguments, **named)
    return caught.value.problems


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"n": 0}, "n must be at least 1, not 0"),
        ({"n": -3}, "n must be at least 1, not -3"),
        ({"n": 2.0}, "n must be a whole number, not 2.0"),
        ({"n": True}, "n must be a whole number, not True"),
        ({"n": None}, "n must be a whole number, not None"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"seed": "0"}, "seed must be a whole number, not '0'"),
        ({"tries": 0}, "tries must be at least 1, not 0"),
        ({"tries": 1e4}, "tries must be a whole number, not 10000.0"),
        ({"seconds": 0}, "seconds must be above 0, not 0"),
        ({"seconds": -1.5}, "seconds must be above 0, not -1.5"),
        ({"seconds": math.nan}, "seconds must be above 0, not nan"),
        ({"seconds": "5"}, "seconds must be above 0, not '5'"),
        ({"plausibility": -0.1}, "plausibility is a dial from 0 to 1, not -0.1"),
        ({"plausibility": "high"}, "plausibility is a dial from 0 to 1, not 'high'"),
        ({"pool": 0}, "pool must be at least 1, not 0"),
        ({"select": "sparce"}, "select must be one of balanced, diverse, sparse, cheap, first, not 'sparce'"),
        (
            {"desired": "god"},
            "desired 'god' is no class of the model; its classes are 'bad', 'good'; did you mean 'good'?",
        ),
        ({"desired": 1}, "desired 1 is no class of the model; its classes are 'bad', 'good'"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_a_sentence(german, explainer, request_, sentence):
    assert problems_of(explainer.explain, german.test[:2], **request_) == (sentence,)


def test_all_problems_of_a_request_are_told_at_once(german, explainer):
    wrong = {"n": 0, "seed": -1, "tries": 0.5, "seconds": 0, "desired": "gold", "plausibility": 1.1, "select": "best"}
    with pytest.raises(InputError) as caught:
        explainer.explain(german.test[:2], **wrong)
    assert str(caught.value) == (
        "7 problems:\n"
        "  - n must be at least 1, not 0\n"
        "  - seed must be at least 0, not -1\n"
        "  - tries must be a whole number, not 0.5\n"
        "  - seconds must be above 0, not 0\n"
        "  - plausibility is a dial from 0 to 1, not 1.1\n"
        "  - select must be one of balanced, diverse, sparse, cheap, first, not 'best'\n"
        "  - desired 'gold' is no class of the model; its classes are 'bad', 'good'; did you mean 'good'?"
    )


@pytest.mark.parametrize(
    ("seed", "sentence"),
    [(-1, "seed must be at least 0, not -1"), (1.5, "seed must be a whole number, not 1.5")],
)
def test_fit_refuses_a_seed_that_is_no_whole_number(german, model, seed, sentence):
    assert problems_of(QUICK.fit, german.train, model, german.schema, seed=seed) == (sentence,)


def three_classes(frame):
    """Return probabilities of three classes, by log-odds cut twice."""
    score = odds(frame)[:, None] * np.array([-1.0, 0.0, 1.0]) + np.array([0.0, 1.0, 0.0])
    mass = np.exp(score - score.max(axis=1, keepdims=True))
    return mass / mass.sum(axis=1, keepdims=True)


three_classes.classes = ("low", "middle", "high")


def test_a_model_of_three_classes_is_asked_for_one_for_any_of_some_or_for_any_other():
    explainer = QUICK.fit(people(), three_classes, PEOPLE)
    assert explainer.training.startswith("3 epochs on proposals for 64 rows; ")
    now = three_classes(people(30)).argmax(axis=1)
    assert set(now) == {0, 1, 2}
    other = explainer.explain(people(30), 3, tries=2000).to_frame()
    assert (three_classes(other).argmax(axis=1) != now[other["row"]]).all()
    assert set(other["row"]) == set(range(30))
    outer = explainer.explain(people(30), 3, desired=["high", "low"], tries=2000)
    assert [outcome.status == "already" for outcome in outer.outcomes] == (now != 1).tolist()
    assert (three_classes(outer.to_frame()).argmax(axis=1) != 1).all()
    chances = three_classes(outer.to_frame())
    assert outer.to_frame()["probability"].tolist() == pytest.approx((chances[:, 0] + chances[:, 2]).tolist())
    for place, label in enumerate(three_classes.classes):
        found = explainer.explain(people(30), 3, desired=label, tries=2000)
        assert [outcome.status == "already" for outcome in found.outcomes] == (now == place).tolist()
        long = found.to_frame()
        assert len(long)
        assert (three_classes(long).argmax(axis=1) == place).all()
        assert set(long["prediction"]) == {label}


# Sets chosen from a pool


@pytest.fixture(scope="module")
def chooser(german, model):
    """Return an explainer with the default way of choosing sets, fitted to few rows."""
    return L2C(epochs=3, hidden=8, beta=0.2).fit(german.train[:100], model, german.schema)


@pytest.mark.parametrize("select", ["balanced", "diverse", "sparse", "cheap", "first"])
@pytest.mark.parametrize("dial", [0.0, 1.0])
def test_a_chosen_set_is_valid_obedient_distinct_and_the_same_in_any_batch(german, model, chooser, select, dial):
    rows, settings = german.test[:12], {"select": select, "plausibility": dial, "pool": 60, "seed": 2}
    found = chooser.explain(rows, 6, **settings)
    long = found.to_frame()
    assert len(long) == 72
    assert (model.predict(long[list(german.schema.names)]) == long["prediction"]).all()
    assert broken(german.schema, rows, long) == []
    assert repeated(german.schema, rows, long) == 0
    assert answers(chooser.explain(rows[7:4:-1], 6, **settings)) == answers(found)[7:4:-1]


def test_a_strategy_is_best_at_what_it_is_for(german, chooser):
    def card(select, dial=0.0):
        found = chooser.explain(german.test[:30], 10, select=select, plausibility=dial, pool=150)
        return found.scores(german.train[:100])

    first, balanced, diverse, sparse = (card(select) for select in ("first", "balanced", "diverse", "sparse"))
    assert balanced.harmonic_mean == max(one.harmonic_mean for one in (first, balanced, diverse, sparse))
    assert diverse.diversity == max(one.diversity for one in (first, balanced, diverse, sparse))
    assert sparse.sparsity == max(one.sparsity for one in (first, balanced, diverse, sparse))
    assert card("balanced", 1.0).plausibility > balanced.plausibility


@pytest.mark.parametrize("gate", [None, l2c.Gate(k=1)])
def test_a_pool_no_larger_than_the_set_is_put_in_the_order_of_the_strategy_too(german, chooser, gate):
    rows, names = german.test[:10], list(german.schema.names)
    asked = {"pool": 8, "select": "sparse", "plausibility": 0.0, "gate": gate}
    told = chooser.explain(rows, 8, **asked).to_frame()
    own = rows[names].iloc[told["row"]].reset_index(drop=True)
    changes = (told[names].reset_index(drop=True) != own).sum(axis=1)
    assert all(of_row.is_monotonic_increasing for _, of_row in changes.groupby(told["row"].to_numpy()))
    as_found = chooser.explain(rows, 8, **asked | {"select": "first"}).to_frame()
    assert not told[names].equals(as_found[names])
    if gate is None:
        sets = [set(map(tuple, frame[["row", *names]].to_numpy())) for frame in (told, as_found)]
        assert sets[0] == sets[1]


# Rows that need nothing, or cannot be read


def test_a_row_that_has_the_desired_outcome_is_told_so_and_gets_nothing(german, model, explainer):
    rows = german.test[:40]
    found = explainer.explain(rows, 4, desired="good")
    good = model.predict(rows) == "good"
    assert 0 < good.sum() < 40
    assert [outcome.status for outcome in found.outcomes] == ["already" if fine else "found" for fine in good]
    told = found.outcomes[int(good.argmax())]
    assert told.sentence == "the model already gives the desired outcome; nothing has to change"
    assert (told.found, told.tries) == (0, 0)
    assert set(found.to_frame()["row"]) == set(np.flatnonzero(~good).tolist())


def test_a_bad_row_is_an_outcome_and_the_others_are_explained_as_if_it_were_not_there(german, explainer):
    rows = german.test[:6].copy()
    rows.loc[1, "job"] = "skiled or official"
    rows.loc[4, ["housing", "purpose"]] = [None, "yacht"]
    found = explainer.explain(rows, 3)
    assert [outcome.status for outcome in found.outcomes] == [
        "found",
        "bad_input",
        "found",
        "found",
        "bad_input",
        "found",
    ]
    assert found.outcomes[1].sentence == (
        "column 'job', row 1: 'skiled or official' is not a known level; did you mean 'skilled or official'?"
    )
    assert found.outcomes[4].sentence == (
        "column 'purpose', row 4: 'yacht' is not a known level; known are 'new car', 'used car', "
        "'furniture or equipment', 'radio or television', 'domestic appliances', …; "
        "column 'housing', row 4: missing, but the schema says it never is; fill it in, or declare missing = true"
    )
    alone = answers(explainer.explain(german.test.iloc[[0, 2, 3, 5]], 3))
    assert [one for one in answers(found) if one] == alone


def test_a_batch_in_which_no_row_can_be_read_has_outcomes_and_nothing_else(german, model, explainer, tmp_path):
    found = explainer.explain(german.test[:2].assign(job="pilot"), 3)
    assert [outcome.status for outcome in found.outcomes] == ["bad_input"] * 2
    assert len(found) == len(found.to_frame()) == 0
    assert found.scores(german.train).statuses["bad_input"] == 2
    found.write(tmp_path / "found.parquet")
    again = l2c.read(tmp_path / "found.parquet", model=model)
    assert again.outcomes == found.outcomes
    assert again.scores(german.train) == found.scores(german.train)


def test_a_frame_that_does_not_fit_the_schema_raises_with_every_problem(clerk):
    frame = people(3).rename(columns={"age": "ages"}).drop(columns="job").assign(city="Bonn")
    with pytest.raises(DataError) as caught:
        clerk.explain(frame, 2)
    assert caught.value.problems == (
        "column 'age' is missing, but the schema declares it",
        "column 'job' is missing, but the schema declares it",
        "column 'ages' is not in the schema; did you mean 'age'?",
        "column 'city' is not in the schema; drop it, or declare it",
    )
    with pytest.raises(DataError, match=r"^the frame has no rows; give at least one$"):
        clerk.explain(people(3)[:0], 2)
    with pytest.raises(DataError, match=r"^expected a data frame \(pandas, polars or Arrow\), got list$"):
        clerk.explain([1, 2], 2)


def test_a_bad_training_row_is_an_error_that_names_it():
    rows = people()
    rows.loc[3, "school"] = "hihg"
    with pytest.raises(
        DataError, match=r"^column 'school', row 3: 'hihg' is not a known level; did you mean 'high'\?$"
    ):
        QUICK.fit(rows, paid, PEOPLE)


# Budgets


def test_a_tiny_time_budget_ends_quickly_and_every_row_is_told(german, explainer, monkeypatch):
    for name in ("BLOCK", "NEAR"):
        monkeypatch.setattr(release_stage, name, 400)
    monkeypatch.setattr(answering, "_clock", lambda _: lambda: True)  # no time at all
    rows = pd.concat([german.test] * 4, ignore_index=True)
    found = explainer.explain(rows, 200, max_changes=9)
    assert sum(outcome.tries > 0 for outcome in found.outcomes) <= 2  # one chunk's first round is all that there is
    late = [outcome for outcome in found.outcomes if outcome.status != "found"]
    assert len(late) >= 798
    assert {outcome.status for outcome in late} <= {"partial", "none_valid"}
    assert all(outcome.sentence.endswith("; the time budget ended") for outcome in late)
    assert not any(outcome.reason.relaxations for outcome in late)  # there is no time to look for one either
    assert found.outcomes[0].tries > 0 == found.outcomes[-1].tries


def hardly_ever(frame):
    """Return a low probability that waves: there is nothing to be seen in it, and nothing to be found."""
    return 0.2 + 0.1 * np.sin(odds(frame) * columns_of(frame)["age"].to_numpy(float))


@pytest.mark.parametrize("granted", [lambda frame: paid(frame) ** 9, hardly_ever], ids=["seldom", "never"])
def test_the_tries_budget_bounds_the_proposals_for_each_row(granted):
    explainer = L2C(epochs=0, select="first", decode_again=False).fit(people(), granted, PEOPLE)
    found = explainer.explain(people(60), 8, tries=9, desired=1)
    assert all(outcome.tries <= 9 for outcome in found.outcomes)
    assert {"partial", "none_valid"} & {outcome.status for outcome in found.outcomes}
    no_proof = "; the search found no more, which is no proof that there are none"
    for outcome in found.outcomes:
        none = f"none of {outcome.tries} proposals changes the outcome{no_proof}"
        words = {
            "partial": f"{outcome.found} of 8 counterfactuals after {outcome.tries} tries{no_proof}",
            "none_valid": f"{none}; no limit stands in the way, only the model and what may move",
        }
        words |= {"found": "8 different counterfactuals", "already": ALREADY.sentence}
        if outcome.status != "infeasible":  # a row near its end has room for less than nine
            assert outcome.sentence == words[outcome.status]


def test_progress_tells_epochs_and_rows(german, model, monkeypatch):
    monkeypatch.setattr(release_stage, "NEAR", 20)
    epochs, rows = [], []
    explainer = QUICK.fit(german.train[:60], model, german.schema, progress=lambda *done: epochs.append(done))
    assert epochs == [(1, 1)]  # what each level adds to such a model is known at once
    replace(QUICK, beta=0.2).fit(german.train[:60], model, german.schema, progress=lambda *done: epochs.append(done))
    assert epochs[1:] == [(1, 2), (2, 2)]
    explainer.explain(german.test[:10], 5, progress=lambda *done: rows.append(done))
    assert rows == [(4, 10), (8, 10), (10, 10)]


def test_a_row_whose_every_combination_was_tried_is_infeasible_by_proof():
    schema = Schema(
        (
            Feature(name="age", kind="numeric", moves="never"),
            Feature(name="sick", kind="binary", levels=(False, True)),
            Feature(name="grade", kind="ordinal", levels=(1, 2, 3), moves="rises"),
        )
    )
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(40, 9, 40), "sick": rng.random(40) < 0.5, "grade": rng.integers(1, 4, 40)})
    explainer = QUICK.fit(rows, lambda frame: (frame["age"] > 40).to_numpy(float) * 0.8 + 0.1, schema)
    ask = pd.DataFrame({"age": [50.0, 50.0], "sick": [True, False], "grade": [3, 1]})
    top, bottom = explainer.explain(ask, 3).outcomes
    assert (top.status, bottom.status) == ("infeasible", "infeasible")
    free = "; no limit stands in the way, only the model and what may move"
    assert (
        top.sentence
        == f"the only combination within the limits was tried; it is not one that changes the outcome{free}"
    )
    assert bottom.sentence == f"all 5 combinations within the limits were tried; none changes the outcome{free}"
    assert top.reason == bottom.reason == l2c.Reason(proven=True)
    stuck = QUICK.fit(rows, lambda frame: (frame["age"] > 40).to_numpy(float), schema.edit("sick", moves="never"))
    assert stuck.explain(ask[:1], 3).outcomes[0].sentence == (
        f"the schema and the limits allow this row no change at all{free}"
    )


# What may be proposed


def gaps(frame, seed=1):
    """Return the frame with a third of `hours` and of `job` missing."""
    rng = np.random.default_rng(seed)
    frame = frame.copy()
    frame.loc[rng.random(len(frame)) < 0.33, "hours"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.33, "job"] = None
    return frame


def test_a_missing_value_is_kept_or_replaced_but_never_proposed():
    schema = PEOPLE.edit("hours", missing=True).edit("job", missing=True)
    rows = gaps(people(60))
    long = QUICK.fit(gaps(people(), seed=2), paid, schema).explain(rows, 10).to_frame()
    before = rows.iloc[long["row"]].reset_index(drop=True)
    for name in ("hours", "job"):
        was, now = before[name].isna(), long[name].isna()
        assert not (now & ~was).any()
        assert (now & was).any()
        assert (~now & was).any()
    assert broken(schema, rows, long) == []


def test_a_missing_value_of_a_feature_that_only_rises_stays_missing():
    schema = PEOPLE.edit("hours", missing=True, moves="rises").edit("job", missing=True)
    rows = gaps(people(60))
    long = QUICK.fit(gaps(people(), seed=2), paid, schema).explain(rows, 10).to_frame()
    before = rows.iloc[long["row"]].reset_index(drop=True)
    assert before["hours"].isna().any()
    assert long["hours"][before["hours"].isna()].isna().all()
    assert (long["hours"] > before["hours"]).any()
    assert broken(schema, rows, long) == []


@pytest.mark.parametrize("decode", ["median", "midpoint"])
def test_a_person_outside_a_declared_range_is_accepted_and_nothing_outside_is_proposed(decode):
    schema = PEOPLE.edit("hours", low=30.0, high=38.0).edit("age", moves="both")
    rows = people(40, seed=5)
    outside = (rows["hours"] < 30) | (rows["hours"] > 38)
    assert 5 < outside.sum() < 35
    found = L2C(epochs=0, decode=decode, select="first").fit(people(), paid, schema).explain(rows, 12)
    assert not any(outcome.status == "bad_input" for outcome in found.outcomes)
    long = found.to_frame()
    before = rows["hours"].to_numpy()[long["row"]]
    moved = long["hours"].to_numpy() != before
    assert long["hours"][moved].between(30, 38).all()
    assert moved.any()
    assert (~moved & outside.to_numpy()[long["row"]]).any()


def test_a_feature_with_one_level_is_immutable_and_comes_back_as_it_was():
    rows = people().assign(land="Bavaria")
    schema = Schema.infer(rows)
    assert schema["land"].moves == "never"
    assert schema["job"].moves == "both"
    long = QUICK.fit(rows, paid, schema).explain(rows[:10], 4).to_frame()
    assert set(long["land"]) == {"Bavaria"}
    assert len(long) == 40


def test_a_number_that_never_varied_in_training_keeps_the_persons_value():
    rows = people().assign(age=40)
    schema = Schema((*PEOPLE.features[1:], Feature(name="age", kind="numeric", integer=True)))
    ask = people(10)
    long = QUICK.fit(rows, paid, schema).explain(ask, 4).to_frame()
    assert (long["age"].to_numpy() == ask["age"].to_numpy()[long["row"]]).all()


def test_a_declared_rule_holds_and_it_would_not_without_being_declared():
    ruled = Schema(PEOPLE.features, target="paid", rules=(Implies("school", "age"), Implies("hours", "age")))
    rows = people(30, seed=6)
    free, bound = (QUICK.fit(people(), paid, schema).explain(rows, 10).to_frame() for schema in (PEOPLE, ruled))
    assert any("rises, age rises" in problem for problem in broken(ruled, rows, free))
    assert broken(ruled, rows, bound) == []
    before = rows.iloc[bound["row"]].reset_index(drop=True)
    assert (bound["hours"] > before["hours"]).any()


# Models


def test_a_plain_function_is_learned_from_by_a_twin_or_not_at_all_and_the_explainer_says_so(clerk):
    def bent(frame):
        return paid(frame) ** 2

    by_twin, untaught = (replace(QUICK, model_rows=rows).fit(people(), bent, PEOPLE) for rows in (2000, 0))
    assert by_twin.training.startswith("the model offers no gradient, so a twin taught, which learned its answers to ")
    assert by_twin.bundle.counterer.foresight
    assert by_twin.bundle.notes["model_rows"] > untaught.bundle.notes["model_rows"]
    assert untaught.training == (
        "the model offers no gradient, so proposals follow the reference law alone; every one is judged"
    )
    assert untaught.bundle.counterer.foresight is None
    for explainer in (by_twin, untaught):
        long = explainer.explain(people(20), 5).to_frame()
        assert ((bent(long) > 0.5) == (long["prediction"] == 1)).all()
    assert clerk.training.startswith("the model's log-odds are a sum over the features")


def test_without_learning_every_allowed_combination_is_reached():
    schema = Schema(
        (
            Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook")),
            Feature(name="age", kind="numeric", binning=l2c.EqualFrequency(4)),
            Feature(name="pay", kind="numeric", binning=l2c.EqualFrequency(4)),
        )
    )
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(
        {"job": ["clerk", "nurse", "cook"] * 20, "age": rng.normal(size=60), "pay": rng.normal(size=60)}
    )
    explainer = QUICK.fit(rows, lambda frame: np.where(frame["job"] == "clerk", 0.1, 0.9), schema)
    long = explainer.explain(rows[:30:3], 32).to_frame()
    assert set(rows["job"][:30:3]) == {"clerk"}
    counts = long["job"].value_counts()
    assert set(counts.index) == {"nurse", "cook"}
    assert counts.min() == counts.max() == 160  # all 2 · 4 · 4 combinations of each row


def test_a_model_that_answers_nan_when_asked_raises_a_model_error():
    broken_now = []

    def fragile(frame):
        return np.full(len(frame), np.nan) if broken_now else paid(frame)

    explainer = QUICK.fit(people(), fragile, PEOPLE)
    broken_now.append(True)
    with pytest.raises(ModelError, match=r"^the model answered NaN for row 0$"):
        explainer.explain(people(3), 2)


def test_a_model_that_raises_is_named_with_its_words():
    def sulking(frame):
        raise RuntimeError(f"not today, all {len(frame)}")

    with pytest.raises(ModelError, match=r"^the model raised RuntimeError: not today, all 8$"):
        QUICK.fit(people(), sulking, PEOPLE)


def test_what_the_model_takes_back_when_asked_again_is_not_released():
    calls = []

    def moody(frame):
        calls.append(len(frame))
        sure = paid(frame)
        return np.where(columns_of(frame)["job"] == "cook", 0.0, sure) if len(calls) > fitted else sure

    fitted = 10**9
    explainer = replace(QUICK.fit(people(), moody, PEOPLE), _twin=None)
    rows = people(40).astype({"age": "int32"})  # not what the model was shown before, so that it is asked again
    rows = rows[(paid(rows) < 0.5)].reset_index(drop=True)
    steady = explainer.explain(rows, 6)
    before = len(calls)
    explainer.explain(rows, 6)
    fitted = before + 2 * (len(calls) - before) - 1  # from the last call of the next explain on
    found = explainer.explain(rows, 6)
    lost = (steady.to_frame()["job"] == "cook").groupby(steady.to_frame()["row"]).sum()
    assert lost.sum() > 0
    assert "cook" not in set(found.to_frame()["job"])
    for outcome, gone, first in zip(found.outcomes, lost, steady.outcomes, strict=True):
        assert outcome.found == first.found - gone
        if gone and outcome.found:
            end = "tries (the model took back others when asked again)"
            assert outcome.sentence == f"{outcome.found} of 6 counterfactuals after {outcome.tries} {end}"
    for row, ranks in found.to_frame().groupby("row")["rank"]:
        assert ranks.tolist() == list(range(1, found.outcomes[row].found + 1))


def test_a_torch_module_is_explained_through_its_own_input(german):
    names = list(german.schema.names)
    inputs = l2c.OneHotInput.fit(german.train, german.schema)
    module = torch.nn.Linear(inputs.width, 1)
    with torch.no_grad():
        module.weight.copy_(torch.sin(torch.arange(inputs.width))[None] / 2)
        module.bias.copy_(-(torch.from_numpy(inputs.transform(german.train)) @ module.weight.T).median())
    model = l2c.TorchModel(module, inputs, classes=("bad", "good"))
    long = QUICK.fit(german.train, model, german.schema).explain(german.test[:10], 5).to_frame()
    logits = module(torch.from_numpy(inputs.transform(long[names])))[:, 0].detach().numpy()
    assert len(long) == 50
    assert ((logits > 0) == (long["prediction"] == "good")).all()


# The settings


def test_the_paper_preset_is_what_the_papers_text_says():
    paper = L2C.paper()
    assert isinstance(paper, L2C)
    assert (paper.alpha, paper.temperature, paper.learning_rate, paper.epochs) == (1e-4, 0.2, 1e-4, 200)
    assert paper.epsilon == math.exp(-10)
    assert (paper.beta, paper.steps, paper.patience, paper.decode) == (0.0, None, None, "midpoint")
    assert (paper.selector, paper.inputs, paper.select, paper.plausibility) == ("learned", "levels", "first", 0.0)
    assert (paper.refine, paper.decode_again) == (False, False)
    changed = L2C.paper(epochs=3, selector="absent")
    assert (changed.epochs, changed.selector, changed.learning_rate) == (3, "absent", 1e-4)


def test_all_problems_of_the_settings_are_told_at_once():
    assert problems_of(L2C, temperature=0, epochs=-1, epsilon=1.0, selection=0, patience=0, decode="mean") == (
        "temperature must be above 0, not 0",
        "epochs must be at least 0, not -1",
        "epsilon must be at least 0 and below 1, not 1.0",
        "selection is a probability above 0, not 0",
        "patience must be at least 1 epoch, or None, not 0",
        "decode must be one of auto, median, midpoint, not 'mean'",
    )
    assert problems_of(L2C.paper, selector="none") == ("selector must be one of learned, constant, absent, not 'none'",)


@pytest.mark.parametrize("kind", ["function", "trees"])
def test_what_may_be_missing_need_not_be_missing_in_the_training_rows(kind):
    rows = applicants(150)
    schema = SCHEMA.edit("age", missing=True, moves="both").edit("owner", missing=True, moves="both")
    assert rows.dtypes[["age", "owner"]].astype(str).tolist() == ["int64", "bool"]
    trees = make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(), ["job", "school"]), remainder=FunctionTransformer(lambda part: part.astype(float))
        ),
        HistGradientBoostingClassifier(max_iter=15, random_state=0),
    )
    model = trees.fit(rows, granted(rows) > 0.5) if kind == "trees" else _granted_with_gaps
    explainer = L2C(epochs=1, hidden=8, select="first", model_rows=500).fit(rows, model, schema)
    asked = refused(6)
    with_gaps = asked.assign(age=asked["age"].where(asked.index != 2), owner=asked["owner"].where(asked.index != 3))
    for some in (asked, with_gaps):
        found = explainer.explain(some, 3, reasons=False)
        assert {outcome.status for outcome in found.outcomes} <= {"found", "already", "partial"}
        told = found.features()
        assert told.dtypes.astype(str).to_dict() == some.dtypes.astype(str).to_dict()
        answers = model.predict_proba(told)[:, 1] if kind == "trees" else model(told)
        wanted = found.to_frame()["prediction"] == explainer.classes[1]
        assert ((answers > 0.5) == wanted).all()


def _granted_with_gaps(frame):
    return granted(frame.assign(age=frame["age"].fillna(40), owner=frame["owner"].fillna(False).astype(bool)))


_granted_with_gaps.classes = granted.classes


def test_a_schema_that_is_none_is_refused_and_how_to_make_one_is_told(german, model):
    (problem,) = problems_of(lambda: L2C().fit(german.train, model, {"age": 1}))
    assert problem == (
        "schema must be an l2c.Schema, not a dict: make one with l2c.Schema.infer(frame), or read one with "
        "l2c.read_schema(path)"
    )


def test_a_configuration_cannot_be_changed_and_fit_does_not_change_it(german, model):
    method = L2C(epochs=0, select="first")
    method.fit(german.train[:30], model, german.schema)
    assert method == L2C(epochs=0, select="first")
    with pytest.raises(AttributeError):
        method.epochs = 3


def changes(schema, rows, long):
    """Return the mean number of features that a counterfactual changes."""
    names = list(schema.names)
    before = rows[names].iloc[long["row"]].reset_index(drop=True)
    return float((long[names] != before).sum(axis=1).mean())


def test_the_selector_can_be_learned_constant_or_absent(german, model):
    rows = german.test[:15]

    def fit(**settings):
        method = L2C(epochs=1, beta=0.2, select="first", plausibility=0.0, **settings)
        explainer = method.fit(german.train, model, german.schema)
        return explainer.bundle.counterer.selector, changes(german.schema, rows, explainer.explain(rows, 10).to_frame())

    learned, _ = fit()
    rarely, few = fit(selector="constant", selection=0.15)
    absent, many = fit(selector="absent")
    assert learned != ()
    assert rarely == absent == ()
    assert few < 0.5 * many


def test_networks_can_see_numbers_by_value_instead_of_by_level(german, model):
    by_value, by_level = (
        L2C(epochs=2, beta=0.2, inputs=inputs, select="first").fit(german.train, model, german.schema)
        for inputs in ("values", "levels")
    )
    widths = [explainer.bundle.counterer.generator[0].weight.shape[1] for explainer in (by_value, by_level)]
    assert widths[1] - widths[0] == 3 * (4 - 1)  # three numbers of four bins
    rows = german.test[:10]
    long = by_value.explain(rows, 5).to_frame()
    assert len(long) == 50
    assert (model.predict(long[list(german.schema.names)]) == long["prediction"]).all()
    near = rows.assign(age=rows["age"] + 0)
    near["credit_amount"] += 1  # the same level, another value: another law
    laws = [_law(explainer, frame) for explainer in (by_value, by_level) for frame in (rows, near)]
    assert not np.array_equal(laws[0], laws[1])
    assert np.array_equal(laws[2], laws[3])


def _law(explainer, frame):
    from l2c.adapters import frames
    from tables import question_for

    return explainer.bundle.counterer.law(
        question_for(explainer.layout, frames.strict(frames.read(frame, explainer.schema)))
    )


@pytest.mark.parametrize("decode", ["median", "midpoint"])
def test_a_changed_number_is_the_median_or_the_midpoint_of_its_bin(german, model, decode):
    fit, dev = german.dev_split(0)
    method = L2C(epochs=0, decode=decode, decode_again=False, select="first")
    explainer = method.fit(fit, model, german.schema, dev=dev)
    rows = german.test[:20]
    long = explainer.explain(rows, 20).to_frame()
    for name in ("credit_amount", "age", "duration"):
        values = np.sort(fit[name].to_numpy())
        edges = [values[0], *np.quantile(values, [0.25, 0.5, 0.75]), values[-1]]
        bins = [values[(values > left) & (values <= right)] for left, right in pairwise(edges)]
        bins[0] = values[values <= edges[1]]
        expected = {
            "median": {int(part[(len(part) - 1) // 2]) for part in bins},
            "midpoint": {int(np.rint((left + right) / 2)) for left, right in pairwise(edges)},
        }
        moved = long[name].to_numpy() != rows[name].to_numpy()[long["row"]]
        assert set(long[name][moved]) <= expected[decode]
        assert len(set(long[name][moved])) > 1


def test_fewer_than_ten_training_rows_are_refused_unless_dev_rows_are_given():
    with pytest.raises(DataError, match=r"^9 training rows are too few to learn from: at least 10 are needed$"):
        QUICK.fit(people(9), paid, PEOPLE)
    ten = QUICK.fit(people(10), paid, PEOPLE)
    assert (ten.bundle.notes["fit_rows"], ten.bundle.notes["dev_rows"]) == (8, 2)
    given_dev = QUICK.fit(people(9), paid, PEOPLE, dev=people(4, seed=1))
    assert (given_dev.bundle.notes["fit_rows"], given_dev.bundle.notes["dev_rows"]) == (9, 4)


def test_dev_rows_are_not_learned_from_and_bins_come_from_the_fit_rows_alone(german, model):
    fit, dev = german.dev_split(seed=4)
    split, given_dev = (
        QUICK.fit(german.train, model, german.schema, seed=4),
        QUICK.fit(fit, model, german.schema, seed=4, dev=dev),
    )
    assert split.layout == given_dev.layout
    assert split.training == given_dev.training
    far = dev.assign(age=dev["age"] + 1000)
    assert QUICK.fit(fit, model, german.schema, seed=4, dev=far).layout == split.layout


# Saving


def test_a_saved_explainer_answers_as_before_and_only_for_its_own_model(german, model, explainer, found, tmp_path):
    explainer.save(tmp_path / "bundle")
    loaded = l2c.load(tmp_path / "bundle", model=model)
    assert answers(loaded.explain(german.test[:40], 10, seed=3)) == answers(found)
    assert (loaded.classes, loaded.training, loaded.schema) == (
        ("bad", "good"),
        explainer.training,
        explainer.schema,
    )
    with pytest.raises(OtherModelError) as other_classes:
        l2c.load(tmp_path / "bundle", model=lambda frame: np.full(len(frame), 0.4))
    assert str(other_classes.value) == (
        f"{tmp_path / 'bundle'} was made with a model of the classes ('bad', 'good'), not (0, 1)"
    )

    def other(frame):
        return np.full((len(frame), 2), 0.5)

    other.classes = ("bad", "good")
    with pytest.raises(OtherModelError) as other_answers:
        l2c.load(tmp_path / "bundle", model=other)
    assert str(other_answers.value) == (
        f"{tmp_path / 'bundle'} was made with another model: this one answers its probe rows differently"
    )


# On any table


MOVES = ("both", "rises", "falls", "never")


@st.composite
def features(draw, name, first):
    kind = draw(st.sampled_from(["numeric", "ordinal", "categorical", "binary"]))
    possible = [move for move in MOVES if kind != "categorical" or move in ("both", "never")]
    moves = draw(st.sampled_from([move for move in possible if not first or move != "never"]))
    missing = draw(st.booleans())
    if kind == "numeric":
        low = draw(st.sampled_from([None, -4.0]))
        high = draw(st.sampled_from([None, 5.0]))
        bins = l2c.EqualFrequency(draw(st.integers(2, 5)))
        whole = draw(st.booleans())
        return Feature(
            name=name, kind="numeric", integer=whole, moves=moves, missing=missing, low=low, high=high, binning=bins
        )
    count = 2 if kind == "binary" else draw(st.integers(1, 4))
    levels = tuple(f"{name}{code}" for code in range(count)) if draw(st.booleans()) else tuple(range(count))
    return Feature(name=name, kind=kind, levels=levels, moves=moves, missing=missing)


@st.composite
def tables(draw):
    """Return a schema of a few features of any kind, with rules, and a frame that fits it."""
    described = [draw(features(f"f{i}", first=not i)) for i in range(draw(st.integers(2, 4)))]
    links = [
        Implies(cause.name, effect.name)
        for i, cause in enumerate(described)
        for effect in described[i + 1 :]
        if cause.ordered and effect.ordered and (effect.may_rise or not cause.may_rise)
    ]
    rules = tuple(draw(st.lists(st.sampled_from(links), max_size=2, unique=True))) if links else ()
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Schema(tuple(described), rules=rules), pd.DataFrame({one.name: _column(one, rng) for one in described})


def _column(feature, rng, count=45):
    if feature.numeric:
        values = rng.normal(0, 5, count)
        column = pd.Series(values.round() if feature.integer else values)
    else:
        column = pd.Series([feature.levels[code] for code in rng.integers(0, len(feature.levels), count)])
    if feature.missing:
        column = column.where((np.arange(count) < 12) | (rng.random(count) > 0.3), None)
    return column


def _pipeline(schema, frame, rng):
    """Return a logistic regression of random labels that depend on every column."""
    numbers = [feature.name for feature in schema.features if feature.numeric]
    others = [feature.name for feature in schema.features if not feature.numeric]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), others),
    )
    score = sum(frame[name].fillna(0).rank().to_numpy() * rng.normal() for name in numbers)
    score = score + sum(hashes(frame[name]) * rng.normal() for name in others)
    labels = np.where(score > np.median(score), "yes", "no")
    labels[:2] = ["yes", "no"]
    return make_pipeline(prepared, LogisticRegression()).fit(frame, labels)


def hashes(column):
    """Return a number for each value, far apart for most."""
    return np.array([sum(map(ord, str(value))) % 7 * 8.0 for value in column.tolist()])


def _function(schema, _frame, rng):
    """Return a classifier that no straight line describes: waves of numbers plus a weight for each level."""
    weights = {name: rng.normal(size=2) for name in schema.names}

    def model(frame):
        total = np.zeros(len(frame))
        for feature in schema.features:
            a, b = weights[feature.name]
            column = frame[feature.name]
            values = np.nan_to_num(column.to_numpy(float)) if feature.numeric else hashes(column)
            total += a * np.sin(b + values)
        return 1 / (1 + np.exp(-3 * total))

    return model


@examples(max_examples=25)
@given(
    table=tables(),
    of=st.sampled_from([_pipeline, _function]),
    seed=st.integers(0, 99),
    dial=st.sampled_from([0.0, 0.5, 1.0]),
    select=st.sampled_from(["first", "balanced"]),
)
def test_on_any_table_what_is_released_is_valid_distinct_obedient_and_the_same_in_any_batch(
    table, of, seed, dial, select
):
    schema, frame = table
    model = of(schema, frame, np.random.default_rng(seed))
    explainer = QUICK.fit(frame, model, schema, seed=seed)
    rows = frame[:7]
    settings = {"seed": seed, "tries": 300, "plausibility": dial, "select": select}
    found = explainer.explain(rows, 4, **settings)
    long = found.to_frame()
    assert broken(schema, rows, long) == []
    assert repeated(schema, rows, long) == 0
    assert dtypes(long[list(frame)]) == dtypes(frame)
    assert [len(one) for one in answers(found)] == [outcome.found for outcome in found.outcomes]
    assert all((outcome.status == "found") == (outcome.found == 4) for outcome in found.outcomes)
    if len(long):
        proba = model.predict_proba(long[list(frame)])[:, 1] if of is _pipeline else model(long)
        second = explainer.classes[1]
        assert ((proba > 0.5) == (long["prediction"] == second)).all()
        before = model.predict_proba(rows)[:, 1] if of is _pipeline else model(rows)
        assert ((proba > 0.5) != (before > 0.5)[long["row"]]).all()
    alone = [answers(explainer.explain(rows[i : i + 1], 4, **settings))[0] for i in range(0, 7, 2)]
    assert alone == answers(found)[::2]
    assert answers(explainer.explain(rows[::-1], 4, **settings)) == answers(found)[::-1]
