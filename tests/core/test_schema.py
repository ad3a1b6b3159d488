"""Schemas: what is guessed from a table, how it is edited, and every sentence about a contradiction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from core.schemas import schemas
from l2c.core.binning import Edges, EqualFrequency, MinimalEntropy, Tree
from l2c.core.feature import Feature
from l2c.core.inference import FEW_VALUES, MANY_TEXTS
from l2c.core.limits import Limits
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.core.table import Column, Summary
from l2c.errors import SchemaError

AGE = Feature(name="age", kind="numeric", integer=True)
PAY = Feature(name="pay", kind="numeric")
JOB = Feature(name="job", kind="categorical", levels=("clerk", "nurse", "smith"))
EDUCATION = Feature(name="education", kind="ordinal", levels=("school", "college"))

PEOPLE = Summary(
    (
        Column("age", "integer", tuple(range(20, 60))),
        Column("pay", "float", tuple(float(pay) for pay in range(FEW_VALUES + 1)), missing=True),
        Column("children", "integer", tuple(range(FEW_VALUES))),
        Column("job", "text", ("clerk", "nurse", "smith")),
        Column("grade", "text", ("low", "mid", "high"), ordered=True),
        Column("sex", "text", ("f", "m")),
        Column("sick", "boolean", (False, True)),
        Column("country", "text", ("it",)),
        Column("risk", "integer", (0, 1)),
    ),
    rows=1000,
)


def problems_of(action: Callable[..., object], *arguments: Any, **options: Any) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        action(*arguments, **options)
    return list(caught.value.problems)


def feature(**changes: Any) -> list[str]:
    """Return the problems of a schema of one feature beside a sound one."""
    return problems_of(Schema, (AGE, Feature(**{"name": "x", "kind": "numeric"} | changes)))


# Guessing


def test_kinds_are_guessed_from_types_and_counts() -> None:
    schema = Schema.infer(PEOPLE, target="risk")
    assert {described.name: described.kind for described in schema.features} == {
        "age": "numeric",
        "pay": "numeric",
        "children": "ordinal",
        "job": "categorical",
        "grade": "ordinal",
        "sex": "binary",
        "sick": "binary",
        "country": "categorical",
    }
    assert schema.target == "risk"
    assert [described.name for described in schema.features if described.integer] == ["age"]
    assert [described.name for described in schema.features if described.missing] == ["pay"]
    assert schema["grade"].levels == ("low", "mid", "high")


def test_a_column_with_one_value_never_moves() -> None:
    schema = Schema.infer(PEOPLE)
    assert [name for name, free in zip(schema.names, schema.mutable, strict=True) if not free] == ["country"]


def test_what_is_asked_for_reaches_the_features() -> None:
    schema = Schema.infer(
        PEOPLE,
        immutable=["sex"],
        rises=["age"],
        falls=["children"],
        rules=[Implies("pay", "age")],
        quasi=["age"],
        sensitive=["pay"],
        ordinal={"job": ["smith", "nurse", "clerk"]},
        bins={"age": 6, "pay": MinimalEntropy()},
        costs={"job": 3.0},
        limits=Limits(lock=["sick"], max_changes=3),
    )
    assert schema.limits == Limits(lock=["sick"], max_changes=3)
    assert [schema[name].moves for name in ("sex", "age", "children", "job")] == ["never", "rises", "falls", "both"]
    assert [schema[name].role for name in ("age", "pay", "job")] == ["quasi", "sensitive", "plain"]
    assert (schema["job"].kind, schema["job"].levels) == ("ordinal", ("smith", "nurse", "clerk"))
    assert (schema["age"].binning, schema["pay"].binning) == (EqualFrequency(6), MinimalEntropy())
    assert (schema["job"].cost, schema["age"].cost) == (3.0, 1.0)
    assert schema.rules == (Implies("pay", "age"),)


def test_one_number_of_bins_is_for_the_numeric_features_alone() -> None:
    schema = Schema.infer(PEOPLE, bins=9)
    assert schema["age"].binning == EqualFrequency(9)
    assert "binning" not in schema["job"].to_dict()


def test_every_mistake_in_what_is_asked_is_told_at_once() -> None:
    assert problems_of(
        Schema.infer,
        PEOPLE,
        target="risk",
        immutable=["sexx", "age"],
        rises=["age", "risk"],
        quasi=["job"],
        sensitive=["job"],
        ordinal={"grades": ["low"]},
        bins={"pey": 3},
        costs={"zzz": 1.0},
    ) == [
        "there is no column 'sexx'; did you mean 'sex'?",
        "'risk' is the target and cannot be a feature too",
        "there is no column 'grades'; did you mean 'grade'?",
        "there is no column 'zzz'",
        "there is no column 'pey'; did you mean 'pay'?",
        "'age' cannot be never and rises at once",
        "'job' cannot be quasi and sensitive at once",
    ]


def test_a_single_text_is_one_name() -> None:
    schema = Schema.infer(PEOPLE, immutable="job", rises="age", quasi="pay")
    assert (schema["job"].moves, schema["age"].moves, schema["pay"].role) == ("never", "rises", "quasi")


def test_bins_of_what_has_levels_are_refused_and_how_to_have_them_is_told() -> None:
    assert problems_of(Schema.infer, PEOPLE, bins={"job": 3, "age": 5}) == [
        "bins of 'job': it looks categorical, so its values are its levels; leave it out, or edit it into a numeric "
        "feature (kind='numeric', levels=())"
    ]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (
            {"bins": {"age": "4"}},
            "feature 'age': a binning is one of EqualFrequency, ZeroOrPositive, MinimalEntropy, Tree, Edges, not '4'",
        ),
        ({"bins": {"age": EqualFrequency(2.5)}}, "feature 'age': equal_frequency takes a whole number, not 2.5"),
        ({"bins": {"age": Edges(("a", "b"))}}, "feature 'age': cut points must be numbers, not ('a', 'b')"),
        ({"costs": {"age": "3"}}, "feature 'age': a cost is a number of at least 0, not '3'"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_in_words(asked: dict[str, Any], problem: str) -> None:
    assert problems_of(Schema.infer, PEOPLE, **asked) == [problem]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"immutable": 5}, "immutable takes the names of features, not 5"),
        ({"ordinal": ["job"]}, "ordinal takes the levels of features by name, in rising order, not ['job']"),
        ({"ordinal": {"job": "low"}}, "ordinal 'job': expected its levels in rising order, not 'low'"),
        ({"ordinal": {"job": 5}}, "ordinal 'job': expected its levels in rising order, not 5"),
        ({"bins": "x"}, "bins takes a whole number, or a binning for each numeric feature by name, not 'x'"),
        ({"costs": 5}, "costs takes numbers by the name of the feature, not 5"),
        ({"rules": ["a"]}, "a rule is an l2c.Implies, not 'a'"),
        ({"limits": {"lock": ["age"]}}, "limits takes an l2c.Limits, not {'lock': ['age']}"),
    ],
)
def test_arguments_of_another_kind_are_refused_in_words(asked: dict[str, Any], problem: str) -> None:
    assert problems_of(Schema.infer, PEOPLE, **asked) == [problem]


def test_an_order_names_every_level() -> None:
    (column,) = (one for one in PEOPLE.columns if one.name == "job")
    first, *others = column.values
    (problem,) = problems_of(Schema.infer, PEOPLE, ordinal={"job": [first]})
    assert problem == f"ordinal 'job': its column also holds {', '.join(map(repr, others))}; name every level"


def test_a_single_rule_needs_no_list() -> None:
    rule = Implies("pay", "age")
    assert Schema.infer(PEOPLE, rules=rule).rules == (rule,)


def test_levels_that_are_no_list_are_refused_in_words() -> None:
    for levels in (5, "low"):
        assert problems_of(Feature, name="job", kind="ordinal", levels=levels) == [
            f"feature 'job': levels takes a list, not {levels!r}"
        ]


def test_a_range_of_texts_is_refused_in_words() -> None:
    assert problems_of(Schema, (Feature(name="age", kind="numeric", low="1", high=3),)) == [
        "feature 'age': a range is from a number to a number, not '1' to 3"
    ]


def test_a_target_that_is_no_column_is_told_with_the_nearest() -> None:
    assert problems_of(Schema.infer, PEOPLE, target="rsk") == ["the target 'rsk' is not a column; did you mean 'risk'?"]


def test_columns_that_cannot_be_features_are_named() -> None:
    texts = tuple(f"person {number}" for number in range(MANY_TEXTS + 1))
    summary = Summary((Column("id", "text", texts), Column("gone", "float", ()), PEOPLE.columns[0]), rows=60)
    assert problems_of(Schema.infer, summary) == [
        "column 'id' has 51 different texts in 60 rows and looks like an identifier; drop it, or group its values",
        "column 'gone' holds no value at all; drop it",
    ]
    assert Schema.infer(Summary(summary.columns[::2], rows=1000)).names == ("id", "age")


def test_a_categorical_feature_cannot_be_asked_to_rise() -> None:
    assert problems_of(Schema.infer, PEOPLE, rises=["job"], costs={"pay": -1.0}) == [
        "feature 'pay': a cost is a number of at least 0, not -1.0",
        "feature 'job': it rises, but a categorical feature has no order; declare it ordinal",
    ]


# Looking up and editing


def test_a_feature_is_found_by_name() -> None:
    schema = Schema((AGE, JOB))
    assert schema["job"] is JOB
    assert schema.index("job") == 1
    assert problems_of(schema.index, "jobb") == ["there is no feature 'jobb'; did you mean 'job'?"]


def test_an_edit_returns_a_new_schema_and_leaves_the_old() -> None:
    schema = Schema((AGE, JOB), target="risk")
    edited = schema.edit("age", moves="rises", unit="years")
    assert (edited["age"].moves, edited["age"].title) == ("rises", "age (years)")
    assert schema["age"].moves == "both"
    assert (edited["job"], edited.target) == (JOB, "risk")


def test_levels_given_as_a_list_are_kept_as_a_tuple() -> None:
    edited = Schema((AGE, JOB)).edit("job", levels=["clerk", "nurse"], labels=["Clerk", "Nurse"])
    assert (edited["job"].levels, edited["job"].labels) == (("clerk", "nurse"), ("Clerk", "Nurse"))


def test_an_edit_is_checked() -> None:
    schema = Schema((AGE, JOB))
    assert problems_of(schema.edit, "agee", unit="years") == ["there is no feature 'agee'; did you mean 'age'?"]
    assert problems_of(schema.edit, "job", level=(), units="") == [
        "a feature has no 'level'; did you mean 'levels'?",
        "a feature has no 'units'; did you mean 'unit'?",
    ]
    assert problems_of(schema.edit, "job", moves="falls") == [
        "feature 'job': it falls, but a categorical feature has no order; declare it ordinal"
    ]


# Contradictions in a feature


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"kind": "numerc"},
            "'numerc' is none of numeric, ordinal, categorical, binary; did you mean 'numeric'?",
        ),
        ({"moves": "rise"}, "'rise' is none of both, rises, falls, never; did you mean 'rises'?"),
        ({"role": "secret"}, "'secret' is none of plain, quasi, sensitive"),
        ({"levels": (1, 2)}, "a numeric feature has no levels; declare it ordinal, or remove them"),
        ({"labels": ("one",)}, "a numeric feature has no levels; declare it ordinal, or remove them"),
        ({"binning": EqualFrequency(1)}, "equal_frequency needs at least 2 buckets, not 1"),
        ({"binning": Tree(1)}, "tree needs a minimum split of at least 2, not 1"),
        ({"binning": Edges(())}, "edges needs at least one cut point"),
        ({"binning": Edges((2.0, 1.0))}, "cut points must rise, not [2.0, 1.0]"),
        ({"binning": Edges((1.0, 1.0))}, "cut points must rise, not [1.0, 1.0]"),
        ({"binning": Edges((1.0, np.nan))}, "cut points must be finite numbers, not [1.0, nan]"),
        ({"low": 5, "high": 5}, "the range from 5 to 5 is empty"),
        ({"low": np.nan, "high": 5.0}, "the range from nan to 5.0 is empty"),
        ({"cost": -0.5}, "a cost is a number of at least 0, not -0.5"),
        ({"cost": np.inf}, "a cost is a number of at least 0, not inf"),
        ({"kind": "ordinal"}, "it is ordinal and needs its levels"),
        ({"kind": "ordinal", "levels": (1, 2, 1.0)}, "a level is listed twice"),
        ({"kind": "ordinal", "levels": (1.0, np.nan)}, "NaN is not a level; declare missing = true instead"),
        ({"kind": "ordinal", "levels": (1, 2), "labels": ("one",)}, "1 labels for 2 levels"),
        ({"kind": "binary", "levels": (1, 2, 3)}, "a binary feature has 2 levels, not 3"),
        ({"kind": "ordinal", "levels": (1, 2), "low": 0}, "a range (low, high) is for numeric features"),
        (
            {"kind": "categorical", "levels": ("a", "b"), "moves": "rises"},
            "it rises, but a categorical feature has no order; declare it ordinal",
        ),
        ({"cost_up": -1}, "a cost is a number of at least 0, not -1"),
        ({"cost_down": np.nan}, "a cost is a number of at least 0, not nan"),
        (
            {"kind": "ordinal", "levels": (1, 2), "level_costs": (0, np.inf)},
            "a cost is a number of at least 0, not inf",
        ),
        ({"kind": "ordinal", "levels": (1, 2), "level_costs": (0,)}, "1 level costs for 2 levels"),
        ({"level_costs": (1, 2)}, "2 level costs for 0 levels"),
        (
            {"kind": "categorical", "levels": ("a", "b"), "cost_down": 1},
            "cost_up and cost_down need an order, and it is categorical; use level_costs",
        ),
    ],
)
def test_a_contradiction_in_a_feature_is_told(changes: dict[str, Any], problem: str) -> None:
    assert feature(**changes) == [f"feature 'x': {problem}"]


def test_every_problem_of_every_feature_is_told_at_once() -> None:
    broken = Feature(name="x", kind="binary", levels=("a", "a", "b"), labels=("one",), high=3, cost=-1)
    assert problems_of(Schema, (broken, AGE, AGE), target="age", rules=(Implies("agee", "x"),)) == [
        "feature 'x': a level is listed twice",
        "feature 'x': 1 labels for 3 levels",
        "feature 'x': a binary feature has 2 levels, not 3",
        "feature 'x': a range (low, high) is for numeric features",
        "feature 'x': a cost is a number of at least 0, not -1",
        "feature 'age' is declared twice",
        "'age' is the target and cannot be a feature too",
        "rule 'if agee rises, x rises': there is no feature 'agee'; did you mean 'age'?",
    ]


def test_something_must_be_free_to_move() -> None:
    assert problems_of(Schema, ()) == ["there are no features"]
    fixed = Feature(name="age", kind="numeric", moves="never")
    assert problems_of(Schema, (fixed,)) == [
        "nothing may move: every feature is immutable, so no counterfactual can exist"
    ]
    assert problems_of(Schema, (fixed, PAY), limits=Limits(lock=["pay"])) == [
        "nothing may move: every feature is immutable or locked, so no counterfactual can exist"
    ]


# Contradictions between rules


def ruled(*rules: tuple[str, ...], lock: Sequence[str] = (), **moves: str) -> Schema:
    described = [Feature(name=name, kind="numeric", moves=moves.get(name, "both")) for name in "abcd"]
    return Schema((*described, JOB), rules=tuple(Implies(*rule) for rule in rules), limits=Limits(lock=lock))


def test_a_rule_is_about_features_that_can_rise() -> None:
    assert problems_of(ruled, ("a", "bb"), ("jop", "job")) == [
        "rule 'if a rises, bb rises': there is no feature 'bb'; did you mean 'b'?",
        "rule 'if jop rises, job rises': there is no feature 'jop'; did you mean 'job'?",
        "rule 'if jop rises, job rises': 'job' is categorical and cannot rise; declare it ordinal",
    ]


@pytest.mark.parametrize("effect", ["falls", "never"])
def test_an_effect_that_may_not_rise_contradicts_a_cause_that_may(effect: str) -> None:
    expected = "rule 'if a rises, b rises': 'b' may not rise, so 'a' never can; let 'b' rise, or declare 'a' immutable"
    assert problems_of(ruled, ("a", "b"), b=effect) == [expected]
    assert ruled(("a", "b"), a="falls", b=effect).rules == (Implies("a", "b"),)


def test_a_locked_effect_contradicts_a_cause_that_may_rise() -> None:
    expected = "rule 'if a rises, b rises': 'b' may not rise, so 'a' never can; let 'b' rise, or declare 'a' immutable"
    assert problems_of(ruled, ("a", "b"), lock=["b"]) == [expected]
    assert ruled(("a", "b"), lock=["a", "b"]).limits.lock == ("a", "b")
    assert ruled(("a", "b"), lock=["a"]).limits.lock == ("a",)


@pytest.mark.parametrize("cause", ["falls", "never", "locked"])
def test_an_effect_that_rises_only_with_a_cause_that_may_not_is_told(cause: str) -> None:
    expected = (
        "rule 'b rises only if a rises': 'a' may not rise, so 'b' never can; let 'a' rise, or declare 'b' immutable"
    )
    moves, lock = ({}, ["a"]) if cause == "locked" else ({"a": cause}, [])
    assert problems_of(ruled, ("a", "b", "only_if"), lock=lock, **moves) == [expected]
    assert len(ruled(("a", "b", "only_if"), lock=lock, **moves | {"b": "falls"}).rules) == 1


def test_an_effect_that_may_not_rise_need_not_fall() -> None:
    assert len(ruled(("a", "b", "must_not_fall"), b="never").rules) == 1
    assert len(ruled(("a", "b", "must_not_fall"), lock=["b"]).rules) == 1


def test_a_rule_of_an_unknown_sort_is_told() -> None:
    assert problems_of(ruled, ("a", "b", "must_fall"), ("a", "b", "onlyif")) == [
        "rule from 'a' to 'b': how is one of must_rise, must_not_fall, only_if, not 'must_fall'; "
        "did you mean 'must_not_fall'?",
        "rule from 'a' to 'b': how is one of must_rise, must_not_fall, only_if, not 'onlyif'; did you mean 'only_if'?",
    ]


@pytest.mark.parametrize(
    ("rules", "circle"),
    [
        ([("a", "a")], "a → a"),
        ([("a", "b"), ("b", "a")], "a → b → a"),
        ([("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")], "a → b → c → a"),
        ([("a", "d"), ("a", "b"), ("b", "c"), ("c", "b")], "b → c → b"),
        ([("a", "b", "must_not_fall"), ("b", "a", "only_if")], "a → b → a"),
    ],
)
def test_rules_that_go_round_in_a_circle_are_told(rules: list[tuple[str, ...]], circle: str) -> None:
    assert problems_of(ruled, *rules) == [f"the rules go round in a circle: {circle}"]


def test_rules_that_meet_again_are_no_circle() -> None:
    rules = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    assert len(ruled(*rules).rules) == 4


def test_a_long_ladder_of_rules_is_walked_once() -> None:
    rungs = range(40)
    pairs = [
        pair
        for rung in rungs
        for side in (f"left {rung}", f"right {rung}")
        for pair in ((f"knot {rung}", side), (side, f"knot {rung + 1}"))
    ]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    rules = tuple(Implies(*pair) for pair in pairs)
    assert Schema(tuple(Feature(name=name, kind="numeric") for name in names), rules=rules).rules == rules


# Standing limits


def test_every_contradiction_is_told_at_once_with_its_names() -> None:
    hours = Feature(name="hours", kind="numeric", low=0, high=80)
    rules = (
        Implies("education", "age"),
        Implies("age", "job"),
        Implies("pay", "hours", "only_if"),
        Implies("hours", "pay", "must_not_fall"),
    )
    limits = Limits(
        lock=["age", "jop"],
        permit={"hours": (45, 20), "job": ["clerk", "smit"]},
        forbid={"education": [("school", "colege")]},
        where=["hours <= was.hour + 10", "pay >"],
    )
    assert problems_of(Schema, (AGE, PAY, JOB, EDUCATION, hours), rules=rules, limits=limits) == [
        "rule 'if education rises, age rises': 'age' may not rise, so 'education' never can; "
        "let 'age' rise, or declare 'education' immutable",
        "rule 'if age rises, job rises': 'job' is categorical and cannot rise; declare it ordinal",
        "the rules go round in a circle: pay → hours → pay",
        "lock: there is no feature 'jop'; did you mean 'job'?",
        "permit 'hours': the range 45 to 20 is empty",
        "permit 'job': 'smit' is none of its levels, 'clerk', 'nurse', 'smith'; did you mean 'smith'?",
        "forbid 'education': 'colege' is none of its levels, 'school', 'college'; did you mean 'college'?",
        "where: there is no feature 'hour'; did you mean 'hours'?\n  hours <= was.hour + 10\n               ^^^^",
        "where: expected a value, but the expression ends\n  pay >\n       ^",
    ]


def test_limits_on_a_feature_that_is_itself_wrong_are_told_beside_it() -> None:
    broken = Feature(name="x", kind="ordinal", levels=(1, 2), high=3)
    odd = Feature(name="y", kind="numerc")
    limits = Limits(permit={"x": {"from": 2, "to": 1}, "y": (1, 2)}, where="y > 3")
    assert problems_of(Schema, (broken, odd, AGE), limits=limits) == [
        "feature 'x': a range (low, high) is for numeric features",
        "feature 'y': 'numerc' is none of numeric, ordinal, categorical, binary; did you mean 'numeric'?",
        "permit 'x': the range 2 to 1 is empty",
        "permit 'y': 1 is none of its levels, ",
        "permit 'y': 2 is none of its levels, ",
    ]


def test_an_edit_keeps_the_limits_and_is_checked_against_them() -> None:
    schema = Schema((AGE, JOB), limits=Limits(permit={"job": ["smith"]}))
    assert schema.edit("age", unit="years").limits == schema.limits
    assert problems_of(schema.edit, "job", levels=("clerk", "nurse")) == [
        "permit 'job': 'smith' is none of its levels, 'clerk', 'nurse'"
    ]


def test_all_of_it_is_read_back_in_plain_words() -> None:
    schema = Schema(
        (
            Feature(name="age", kind="numeric", moves="rises", low=18, unit="year", cost_up=2),
            Feature(name="pay", kind="numeric", high=9000, cost=0),
            Feature(name="debt", kind="numeric", moves="falls", low=0, high=500.5, cost_down=0.25),
            Feature(name="sex", kind="binary", levels=("f", "m"), moves="never"),
            Feature(name="job", kind="categorical", levels=("clerk", "nurse"), level_costs=(0, 1.5)),
            Feature(name="grade", kind="ordinal", levels=(1, 2, 3), cost=2.5, cost_up=1, labels=("c", "b", "a")),
            Feature(name="zone", kind="ordinal", levels=(1, 2), labels=("in", "out"), level_costs=(3, 0)),
        ),
        rules=(
            Implies("grade", "age"),
            Implies("grade", "pay", "must_not_fall"),
            Implies("grade", "zone", "only_if"),
        ),
        limits=Limits(
            lock="debt",
            permit={"age": (18, 30), "grade": [1, 3], "zone": {"from": 2}},
            forbid={"job": [("nurse", "*")]},
            where="pay <= was.pay + 100",
            max_changes=1,
            max_cost=12.5,
        ),
    )
    assert schema.sentences() == [
        "age may only rise",
        "debt may only fall",
        "sex never changes",
        "age is proposed 18 or more",
        "pay is proposed at most 9000",
        "debt is proposed 0 to 500.5",
        "if grade rises, age rises",
        "if grade rises, pay does not fall",
        "zone rises only if grade rises",
        "each year that age goes up costs 2",
        "changing pay costs 0",
        "each unit that debt goes down costs 0.25",
        "becoming a level of job costs: clerk 0, nurse 1.5",
        "changing grade costs 2.5",
        "each level that grade goes up costs 1",
        "becoming a level of zone costs: in 3, out 0",
        "debt stays as it is",
        "age may become 18 to 30",
        "grade may become 1 or 3",
        "zone may become 2 or more",
        "job may not go from nurse to anything",
        "always pay <= was.pay + 100",
        "at most 1 feature changes",
        "a change costs at most 12.5",
    ]
    assert Schema((AGE, JOB)).sentences() == []


# Plain data


@settings(max_examples=200, deadline=None)
@given(schemas())
def test_any_schema_is_read_back_equal_from_plain_data(schema: Schema) -> None:
    read = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert read == schema
    assert repr(read.limits) == repr(schema.limits)


def test_plain_data_leaves_out_what_is_at_its_default() -> None:
    assert Schema((AGE, EDUCATION), rules=(Implies("education", "age"),)).to_dict() == {
        "rules": [{"cause": "education", "effect": "age"}],
        "features": [
            {
                "name": "age",
                "kind": "numeric",
                "integer": True,
                "binning": {"method": "equal_frequency", "at_most": 4},
            },
            {"name": "education", "kind": "ordinal", "levels": ["school", "college"]},
        ],
    }


def test_rules_limits_and_costs_are_plain_data_too() -> None:
    priced = Feature(name="pay", kind="numeric", cost_up=0.5, cost_down=2)
    job = Feature(name="job", kind="categorical", levels=("clerk", "nurse"), level_costs=(0, 1.5))
    limits = Limits(permit={"pay": (20, None)}, forbid={"job": [("*", "clerk")]}, max_changes=2)
    schema = Schema((AGE, priced, job), rules=(Implies("pay", "age", "only_if"),), limits=limits)
    data: dict[str, Any] = schema.to_dict()
    assert data["rules"] == [{"cause": "pay", "effect": "age", "how": "only_if"}]
    assert data["limits"] == {
        "permit": {"pay": {"from": 20}},
        "forbid": {"job": [["*", "clerk"]]},
        "max_changes": 2,
    }
    binning = {"method": "equal_frequency", "at_most": 4}
    assert data["features"][1:] == [
        {"name": "pay", "kind": "numeric", "cost_up": 0.5, "cost_down": 2, "binning": binning},
        {"name": "job", "kind": "categorical", "levels": ["clerk", "nurse"], "level_costs": [0, 1.5]},
    ]
    assert Schema.from_dict(data) == schema


def described(**item: Any) -> dict[str, Any]:
    return {"features": [{"name": "x", "kind": "numeric"} | item]}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"featurs": []}, "unknown key 'featurs'; did you mean 'features'?"),
        ({"features": {"age": {}}}, "features must be a list of tables"),
        ({"features": ["age"]}, "features must be a list of tables"),
        ({"rules": "age"}, "rules must be a list of tables"),
        ({"rules": [{"cause": "a"}]}, "rule 0: expected cause and effect, the names of two features"),
        ({"rules": [{"cause": "a", "effect": 3}]}, "rule 0: expected cause and effect, the names of two features"),
        (
            {"rules": [{"cause": "a", "effect": "b", "hw": "only_if"}]},
            "rule 0: expected cause and effect, the names of two features",
        ),
        (
            {"rules": [{"cause": "a", "effect": "b", "how": "only if"}]},
            "rule 0: how is one of must_rise, must_not_fall, only_if, not 'only if'; did you mean 'only_if'?",
        ),
        (
            {"rules": [{"cause": "a", "effect": "b", "how": ["only_if"]}]},
            "rule 0: how is one of must_rise, must_not_fall, only_if, not ['only_if']; did you mean 'only_if'?",
        ),
        ({"limits": 3}, "limits must be a table, not 3"),
        ({"limits": {"locks": ["a"]}}, "limits have no 'locks'; did you mean 'lock'?"),
        ({"limits": {"max_changes": 0}}, "max_changes must be a whole number of at least 1, not 0"),
        ({"target": 3}, "target must be a column's name, not 3"),
        ({"features": [{"kind": "numeric"}]}, "feature 0: 'name' is missing"),
        ({"features": [{"name": "x"}]}, "feature 'x': 'kind' is missing"),
        (described(level=[1]), "feature 'x': unknown key 'level'; did you mean 'levels'?"),
        (described(integer="yes"), "feature 'x': integer cannot be 'yes'"),
        (described(cost=True), "feature 'x': cost cannot be True"),
        (described(levels="ab"), "feature 'x': levels cannot be 'ab'"),
        (described(levels=3), "feature 'x': levels cannot be 3"),
        (described(labels=True), "feature 'x': labels cannot be True"),
        (described(level_costs=1.5), "feature 'x': level_costs cannot be 1.5"),
        (described(level_costs=[1, "a"]), "feature 'x': level_costs must be numbers"),
        (described(level_costs=[True]), "feature 'x': level_costs must be numbers"),
        (described(cost_up="1"), "feature 'x': cost_up cannot be '1'"),
        (described(levels=[["a"]]), "feature 'x': levels must be texts, numbers or booleans"),
        (described(labels=[1]), "feature 'x': labels must be texts"),
        (
            described(binning={"method": "equal"}),
            "feature 'x': unknown binning method 'equal'; known: equal_frequency, zero_or_positive, "
            "minimal_entropy, tree, edges",
        ),
        (
            described(binning={"method": ["tree"]}),
            "feature 'x': unknown binning method ['tree']; known: equal_frequency, zero_or_positive, "
            "minimal_entropy, tree, edges",
        ),
        (described(binning={"method": "tree", "depth": 3}), "feature 'x': binning 'tree' has no setting depth"),
        (
            described(binning={"method": "tree", "min_split": 2.5}),
            "feature 'x': binning 'tree': min_split cannot be 2.5",
        ),
        (
            described(binning={"method": "equal_frequency", "at_most": True}),
            "feature 'x': binning 'equal_frequency': at_most cannot be True",
        ),
        (
            described(binning={"method": "edges", "cuts": [1], "source": 3}),
            "feature 'x': binning 'edges': source cannot be 3",
        ),
        (described(binning={"method": "edges"}), "feature 'x': binning 'edges' needs cuts = [numbers]"),
        (
            described(binning={"method": "edges", "cuts": ["a"]}),
            "feature 'x': binning 'edges' needs cuts = [numbers]",
        ),
    ],
)
def test_plain_data_that_is_no_schema_is_told(data: Mapping[str, Any], problem: str) -> None:
    assert problems_of(Schema.from_dict, data) == [problem]


def test_every_problem_in_plain_data_is_told_at_once() -> None:
    data = {"taget": "risk", "target": 3, "rules": [{}], "features": [{"name": "x", "kind": "numeric", "low": "a"}, {}]}
    assert problems_of(Schema.from_dict, data) == [
        "unknown key 'taget'; did you mean 'target'?",
        "feature 'x': low cannot be 'a'",
        "feature 1: 'name' is missing",
        "feature 1: 'kind' is missing",
        "rule 0: expected cause and effect, the names of two features",
        "target must be a column's name, not 3",
    ]


@given(schemas())
def test_what_is_worked_out_once_is_what_the_features_say(schema: Schema) -> None:
    for place, feature in enumerate(schema.features):
        assert feature.name in schema
        assert schema.index(feature.name) == place
        assert schema.numeric[place] == feature.numeric
        assert schema.integer[place] == feature.integer
        assert schema.missing[place] == feature.missing
        assert schema.level_counts[place] == len(feature.levels)
        assert [schema.level_codes[place][level] for level in feature.levels] == list(range(len(feature.levels)))
    assert "no such feature" not in schema
