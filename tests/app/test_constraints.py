"""On any table, with any rules and limits, nothing that is released breaks a promise: an independent judge says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import l2c
from checker import Asked, Promise
from worlds import Request, random_limits, random_world

# The judge itself

SCHEMA: dict[str, Any] = {
    "features": [
        {"name": "age", "kind": "numeric", "integer": True, "moves": "rises", "high": 90, "missing": True},
        {"name": "debt", "kind": "numeric", "moves": "falls", "cost": 2.0, "cost_down": 0.5},
        {"name": "sex", "kind": "binary", "levels": ["f", "m"], "moves": "never"},
        {"name": "school", "kind": "ordinal", "levels": ["low", "middle", "high"], "level_costs": [0.0, 1.0, 5.0]},
        {"name": "job", "kind": "categorical", "levels": ["clerk", "cook"]},
    ],
    "rules": [{"cause": "school", "effect": "age"}],
    "limits": {"lock": ["job"]},
}
PERSON = {"age": 30.0, "debt": 5.0, "sex": "f", "school": "low", "job": "clerk"}


def always_yes(frame: pd.DataFrame) -> np.ndarray:
    """Return yes for anyone but the person themselves, and but for whoever has no debt."""
    no = (frame == pd.Series(PERSON)).all(axis=1) | (frame["debt"] == 0)
    return np.stack([no, ~no], axis=1).astype(float)


PROMISE = Promise(SCHEMA, {"age": [35.0], "debt": [3.0]}, ("no", "yes"), always_yes)


def judged(changes: dict[str, Any], asked: Asked = Asked({}), promise: Promise = PROMISE, **told: Any) -> list[str]:  # noqa: B008
    """Return what the judge says of one change, told with its right cost unless another is given."""
    now = PERSON | changes
    cost = promise._cost(PERSON, now)
    long = pd.DataFrame([now | {"row": 0, "cost": cost, "prediction": "yes"} | told])
    return promise.breaches(pd.DataFrame([PERSON]), long, [asked])


@pytest.mark.parametrize(
    ("changes", "breach"),
    [
        ({"age": 40.0}, None),
        ({"age": 20.0}, "age moved against 'rises'"),
        ({"age": 29.0}, "age moved against 'rises'"),
        ({"age": np.nan}, "age went missing"),
        ({"age": 95.0}, "age left its range"),
        ({"age": 40.5}, "age is not whole"),
        ({"debt": 4.0}, None),
        ({"debt": 6.0}, "debt moved against 'falls'"),
        ({"sex": "m"}, "sex moved"),
        ({"school": "high"}, "school must_rise age"),
        ({"school": "high", "age": 31.0}, "school must_rise age"),  # another number, but the same level
        ({"school": "high", "age": 36.0}, None),
        ({"job": "cook"}, "job was locked"),
        ({"debt": 0.0}, "not valid"),
    ],
)
def test_the_judge_sees_what_the_schema_forbids(changes, breach):
    prediction = "no" if breach == "not valid" else "yes"
    assert judged(changes, prediction=prediction) == ([] if breach is None else [f"0: {breach}"])


@pytest.mark.parametrize(
    ("limits", "changes", "breach"),
    [
        ({"lock": ["age"]}, {"age": 40.0}, "age was locked"),
        ({"permit": {"debt": (3, None)}}, {"debt": 2.0}, "debt was not permitted"),
        ({"permit": {"debt": (3, None)}}, {"debt": 3.0}, None),
        ({"permit": {"debt": {"to": 2}}}, {"debt": 3.0}, "debt was not permitted"),
        ({"permit": {"school": ["middle"]}}, {"school": "high", "age": 40.0}, "school was not permitted"),
        ({"permit": {"school": {"to": "middle"}}}, {"school": "high", "age": 40.0}, "school was not permitted"),
        ({"forbid": {"debt": [("*", (1, 2))]}}, {"debt": 1.5}, "debt went where it was forbidden"),
        ({"forbid": {"debt": [((6, None), "*")]}}, {"debt": 1.5}, None),
        (
            {"forbid": {"school": [("low", ["high"])]}},
            {"school": "high", "age": 40.0},
            "school went where it was forbidden",
        ),
        ({"max_changes": 1}, {"age": 40.0, "debt": 4.0}, "2 changes"),
        ({"min_sparsity": 0.7}, {"age": 40.0, "debt": 4.0}, "too few features stay"),
        ({"min_sparsity": 0.6}, {"age": 40.0, "debt": 4.0}, None),
        ({"max_cost": 3.4}, {"debt": 2.0}, "too dear"),  # 2 for the change and half of three units
        ({"max_cost": 3.5}, {"debt": 2.0}, None),
        ({"max_cost": 6.9}, {"school": "high", "age": 40.0}, "too dear"),
    ],
)
def test_the_judge_sees_what_limits_forbid(limits, changes, breach):
    assert judged(changes, Asked(limits)) == ([] if breach is None else [f"0: {breach}"])


def test_the_judge_sees_conditions_repeats_costs_and_what_the_model_says():
    older = Asked({}, where=(lambda now, was: now["age"] >= was["age"] + 5,))
    assert judged({"age": 33.0}, older) == ["0: condition 0 does not hold"]
    assert judged({"age": 36.0}, older) == []
    assert judged({"age": 36.0}, cost=3.0) == ["0: costs 1.0, not 3.0"]
    assert "0: a repeat" in judged({}, prediction="no")
    assert judged({"age": 36.0}, prediction="no") == ["0: the prediction is another"]
    assert judged({"age": 36.0}, Asked({}, desired=("no",))) == ["0: not valid"]
    assert judged({"age": 36.0}, Asked({}, desired=("yes",), proba=(0.2, 0.9))) == ["0: not valid"]
    standing = replace(PROMISE, standing=(lambda now, was: now["debt"] <= 4,))  # noqa: ARG005
    assert judged({"age": 36.0}, promise=standing) == ["0: condition 0 does not hold"]
    twice = pd.DataFrame([PERSON | {"age": 36.0, "row": 0, "cost": 1.0, "prediction": "yes"}] * 2)
    assert PROMISE.breaches(pd.DataFrame([PERSON]), twice, [Asked({})]) == ["1: a repeat"]


@pytest.mark.parametrize(
    ("how", "school", "age", "kept"),
    [
        ("must_rise", "high", 40.0, True),
        ("must_rise", "high", 30.0, False),
        ("must_not_fall", "high", 30.0, True),
        ("must_not_fall", "high", 10.0, False),
        ("only_if", "low", 40.0, False),
        ("only_if", "high", 40.0, True),
        ("only_if", "low", 10.0, True),
        ("must_rise", "low", 10.0, True),
    ],
)
def test_the_judge_knows_all_three_rules(how, school, age, kept):
    free = {"name": "age", "kind": "numeric"}
    schema = {"features": [free, *SCHEMA["features"][1:]], "rules": [{"cause": "school", "effect": "age", "how": how}]}
    promise = replace(PROMISE, schema=schema, cuts={"age": [20.0, 35.0], "debt": [3.0]})
    assert (promise.limits_broken(PERSON, PERSON | {"school": school, "age": age}, Asked({})) == []) == kept


# Random worlds


def test_whatever_the_table_the_rules_and_the_limits_nothing_that_is_released_breaks_a_promise():
    released = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        world = random_world(rng, rows=40)
        settings: dict[str, Any] = [{}, {"decode": "midpoint"}, {"epsilon": 0.1}, {"selector": "absent"}][seed % 4]
        explainer = l2c.L2C(epochs=0, hidden=4, select="first", **settings).fit(world.rows, world.model, world.schema)
        rows, select = world.rows[:30], ["first", "balanced", "cheap", "sparse", "diverse"][seed // 2]
        requests = [random_limits(rng, world.schema.features) if row % 4 else Request({}, ()) for row in range(30)]
        found = explainer.explain(
            rows, 10, limits=[request.given for request in requests], seed=seed, tries=600, select=select,
            plausibility=float(rng.choice([0.0, 0.5, 1.0])), reasons=False,
        )  # fmt: skip
        assert world.breaches(explainer, rows, found, [request.asked() for request in requests]) == []
        released += len(found)
    assert released > 500


def test_the_same_holds_where_a_goal_of_its_own_is_set_for_every_row():
    released = 0
    for seed in range(20, 30):
        rng = np.random.default_rng(seed)
        world = random_world(rng, rows=40)
        explainer = l2c.L2C(epochs=0, hidden=4, select="first").fit(world.rows, world.model, world.schema)
        rows, limits, asked = world.rows[:30], [], []
        for _ in range(30):
            low = float(rng.uniform(0, 0.7))
            goal = {"desired": tuple(rng.permutation(explainer.classes)[: rng.integers(1, 3)].tolist())}
            if rng.random() < 0.5:
                goal["desired_proba"] = (low, low + 0.3)
            request = random_limits(rng, world.schema.features) if rng.random() < 0.5 else Request({}, ())
            limits.append(request.given | goal)
            asked.append(request.asked(desired=goal["desired"], proba=goal.get("desired_proba")))
        found = explainer.explain(rows, 10, limits=limits, seed=seed, tries=600, reasons=False)
        assert world.breaches(explainer, rows, found, asked) == []
        released += len(found)
    assert released > 100
