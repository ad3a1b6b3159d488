"""The reason when nothing is found: what is named helps once it is applied, and what is called impossible is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import l2c
from checker import Asked
from l2c import Explainer, Explanations, Feature, Limits, Reason, Relaxation, Schema
from l2c.app import answering
from l2c.release.explain import PROVEN
from loans import SCHEMA, WIDE, applicants, desk, refused, standing, weighed, wide_desk, wide_rows, worst
from worlds import Request, World, random_limits, random_rules

PERSON = worst(1)
"""35 years old, 19.5 hours a week, savings of 12.8, a clerk of low school."""


def relaxed(request: dict[str, Any], relaxation: Relaxation) -> dict[str, Any]:
    """Return a request changed as a relaxation says, in the way that a caller would do it."""
    name, value = relaxation.feature, relaxation.value
    given = dict(request)
    match relaxation.limit:
        case "max_changes" | "min_sparsity" | "max_cost":
            given[relaxation.limit] = value
        case "max_changes and min_sparsity":
            given |= {"max_changes": value, "min_sparsity": None}
        case "desired_proba":
            given["desired_proba"] = (value, given["desired_proba"][1])
        case "lock":
            given["lock"] = [one for one in given["lock"] if one != name]
        case "where":
            given["where"] = [part for text in given["where"] for part in text.split(" and ") if part != value]
        case "forbid":
            pairs = given["forbid"][name]
            kept = [pair for pair in pairs if " to ".join(_words(end) for end in pair) != value]
            assert len(kept) == len(pairs) - 1
            given["forbid"] = {**given["forbid"], name: kept}
        case "permit":
            given["permit"] = {**given["permit"], name: _wider(given["permit"][name], value)}
        case "all":
            return {name: given[name] for name in ("desired", "desired_proba") if name in given}
    return given


def _words(end: Any) -> str:
    if end == "*":
        return "anything"
    if isinstance(end, tuple):
        low, high = end
        return f"{low} or more" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
    return " or ".join(end) if isinstance(end, list) else str(end)


def _wider(given: Any, value: Any) -> Any:
    if isinstance(given, list):
        return [*given, value]
    low, high = given
    return (None if low is None else min(low, value), None if high is None else max(high, value))


REQUESTS: dict[str, dict[str, Any]] = {
    "changes": {"max_changes": 1},
    "sparsity": {"min_sparsity": 0.8},
    "both": {"max_changes": 1, "min_sparsity": 0.8},
    "cost": {"max_cost": 0.6},
    "lock": {"lock": ["job", "hours", "savings", "school"]},
    "a range": {"permit": {"hours": (0, 31), "savings": (None, 20.0)}, "lock": ["job", "age"]},
    "levels": {"permit": {"job": ["clerk"], "school": ["low"]}, "lock": ["age", "savings", "hours"]},
    "transitions": {
        "forbid": {"job": [("*", "pilot"), ("*", ["nurse", "cook"])], "hours": [("*", (20, None))]},
        "lock": ["savings", "age"],
    },
    "conditions": {
        "where": ["hours <= was.hours + 2 and savings <= was.savings + 5", "job == was.job"],
        "max_changes": 3,
    },
    "a probability": {"desired_proba": (0.9999, 1.0), "max_changes": 2},
    "several": {"max_changes": 2, "lock": ["savings"], "max_cost": 8, "where": ["hours <= 40"]},
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("n", [1, 6])
def test_each_relaxation_that_is_named_succeeds_when_it_is_applied(name, n):
    request, rows = REQUESTS[name], worst(6)
    found = desk().explain(rows, n, **request)
    named = 0
    for row, outcome in enumerate(found.outcomes):
        for relaxation in outcome.reason.relaxations if outcome.reason else ():
            again = desk().explain(rows.iloc[[row]], n, **relaxed(request, relaxation))
            (ended,) = again.outcomes
            wanted = n if outcome.found else 1
            assert ended.found >= wanted, relaxation
            named += 1
    assert named >= 3


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize(
    "request_",
    [
        {"max_changes": 2},
        {"min_sparsity": 0.9},
        {"max_cost": 2.0},
        {"lock": [f"x{i}" for i in range(7)], "max_changes": 4},
        {"permit": {f"x{i}": (-1.0, 0.6) for i in range(14)}},
        {"where": ["x0 <= was.x0 + 0.5 and x1 <= was.x1 + 0.5", "x2 + x3 <= was.x2 + was.x3 + 0.2"], "max_changes": 4},
        {"desired_proba": (0.97, 1.0), "max_changes": 4},
    ],
    ids=["changes", "sparsity", "cost", "lock", "range", "where", "probability"],
)
def test_relaxations_that_were_found_by_search_succeed_too(seen, request_):
    rows = wide_rows(60, 8)
    rows = rows[rows.sum(axis=1) < -2].head(3).reset_index(drop=True)
    explainer = wide_desk(seen=seen)
    found = explainer.explain(rows, 1, tries=3000, **request_)
    named = 0
    for row, outcome in enumerate(found.outcomes):
        for relaxation in outcome.reason.relaxations if outcome.reason else ():
            again = explainer.explain(rows.iloc[[row]], 1, tries=3000, **relaxed(request_, relaxation))
            assert again.outcomes[0].found == 1, relaxation
            named += 1
    assert named >= 1


def test_a_standing_limit_of_the_schema_is_relaxed_by_editing_the_schema():
    rules = {
        "max_changes": 3, "lock": ("job",), "permit": {"hours": (None, 33)}, "where": ("savings <= 30",),
    }  # fmt: skip
    limits = Limits(**rules)
    bound = standing(desk(), limits)
    rows = worst(6)
    found, named = bound.explain(rows, 1), Counter()
    for row, outcome in enumerate(found.outcomes):
        for relaxation in outcome.reason.relaxations if outcome.reason else ():
            named[relaxation.limit] += 1
            edited = standing(desk(), Limits(**relaxed(rules, relaxation)))
            assert edited.explain(rows.iloc[[row]], 1).outcomes[0].found == 1, relaxation
    assert len(named) >= 2
    assert all(outcome.reason for outcome in found.outcomes if not outcome.found)


# Sentences


TRIED = "combinations within the limits were tried; none changes the outcome"


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (
            {"lock": list(SCHEMA.names)},
            "the schema and the limits allow this row no change at all; feasible only if several limits are relaxed "
            "together: without any there are enough",
        ),
        ({"max_changes": 1}, f"all 13 {TRIED}; no valid change within 1 feature; 2 suffice"),
        ({"min_sparsity": 0.8}, f"all 13 {TRIED}; no valid change within 1 feature; 2 suffice"),
        ({"max_cost": 2}, f"all 13 {TRIED}; no valid change for a cost of 2; 5.625 is enough"),
        (
            {"lock": ["job", "hours", "school"]},
            f"all 11 {TRIED}; feasible if job may change; or feasible if hours may change",
        ),
        (
            {"permit": {"hours": (None, 20)}, "lock": ["job", "school"]},
            f"all 11 {TRIED}; feasible if hours may exceed 20 (60.75 is enough); or feasible if job may change",
        ),
        (
            {"permit": {"job": ["clerk", "cook"]}, "lock": ["hours", "school"]},
            f"all 23 {TRIED}; feasible if job may also become 'pilot'; or feasible if hours may change; "
            "or feasible if school may change",
        ),
        (
            {"forbid": {"job": [("*", "pilot")]}, "lock": ["hours", "school"]},
            f"all 35 {TRIED}; feasible if hours may change; or feasible if school may change; "
            "or feasible if job may go from anything to pilot",
        ),
        (
            {"where": "hours <= was.hours + 9 and  job != 'pilot'", "lock": ["savings"]},
            f"all 53 {TRIED}; feasible if savings may change; or feasible without 'hours <= was.hours + 9'; "
            "or feasible without 'job != 'pilot''",
        ),
        (
            {"desired_proba": (0.9999, 1)},
            "all 575 combinations within the limits were tried; none reaches the probability that was asked for; "
            "a probability of 0.9999 was not reached; 0.9947 was",
        ),
    ],
)
def test_the_sentences_are_these(request_, sentence):
    assert desk().explain(PERSON, 1, **request_).outcomes[0].sentence == sentence


def test_a_row_that_no_limit_holds_back_says_so():
    blind = l2c.L2C(select="first").fit(applicants(), lambda frame: np.full(len(frame), 0.2), SCHEMA)
    (outcome,) = blind.explain(PERSON, 1, desired=1).outcomes
    assert outcome.status == "infeasible"
    assert outcome.sentence.endswith("; no limit stands in the way, only the model and what may move")
    assert outcome.reason == Reason(proven=True)


# Impossible requests


def small_world(seed: int) -> World:
    """Return a world of levels alone, few enough to try them all by hand."""
    rng = np.random.default_rng(seed)
    while True:
        features = []
        for i in range(rng.integers(2, 5)):
            kind, count = str(rng.choice(["ordinal", "categorical", "binary"])), int(rng.integers(2, 4))
            levels = tuple(f"f{i}{letter}" for letter in "abc"[: 2 if kind == "binary" else count])
            moves = str(rng.choice(["both", "both"] + ["rises", "falls"] * (kind != "categorical")))
            features.append(Feature(name=f"f{i}", kind=kind, levels=levels, moves=moves))
        described = tuple(features)
        try:
            schema = Schema(described, rules=random_rules(rng, described))
        except l2c.errors.SchemaError:
            continue
        rows = pd.DataFrame({one.name: rng.choice(one.levels, 30) for one in described})
        weights = {level: float(rng.normal()) for one in described for level in one.levels}

        def model(frame: pd.DataFrame) -> np.ndarray:
            total = sum(frame[name].map(weights).to_numpy(float) for name in frame.columns)  # noqa: B023
            yes = 1 / (1 + np.exp(-3 * (total - 0.3)))
            return np.stack([1 - yes, yes], axis=1)

        model.classes = ("no", "yes")
        return World(schema, (), rows, model)


def by_hand(world: World, explainer: Explainer, row: dict[str, Any], asked: Asked) -> set[tuple[Any, ...]]:
    """Return every change that is within the limits and leads to the other class, tried one by one."""
    promise = world.promise(explainer)
    names = list(world.schema.names)
    every = [
        dict(zip(names, levels, strict=True)) for levels in product(*(one.levels for one in world.schema.features))
    ]
    kept = [now for now in every if now != row and not promise.limits_broken(row, now, asked)]
    if not kept:
        return set()
    before = world.model(pd.DataFrame([row])[names])[0]
    now = world.model(pd.DataFrame(kept)[names])
    other = 1 - int(before.argmax())
    return {tuple(one.values()) for one, p in zip(kept, now, strict=True) if p[other] > p[1 - other]}


@pytest.mark.parametrize("seed", range(12))
def test_on_small_tables_every_answer_is_that_of_trying_everything_by_hand(seed):
    world, rng = small_world(seed), np.random.default_rng(seed)
    explainer = l2c.L2C(epochs=0, hidden=2, select="first").fit(world.rows, world.model, world.schema)
    rows = world.rows[:8]
    requests = [random_limits(rng, world.schema.features) if row else Request({}, ()) for row in range(8)]
    found = explainer.explain(rows, 30, limits=[request.given for request in requests])
    long, names = found.to_frame(), list(world.schema.names)
    for row, (outcome, request) in enumerate(zip(found.outcomes, requests, strict=True)):
        expected = by_hand(world, explainer, rows.iloc[row].to_dict(), request.asked())
        mine = {tuple(values) for values in long.loc[long["row"] == row, names].to_numpy().tolist()}
        assert mine == expected
        assert outcome.status == ("infeasible" if not expected else "found" if len(expected) >= 30 else "partial")
        assert outcome.status == "found" or outcome.reason.proven


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_what_is_proved_impossible_is_and_what_suffices_is_the_least(most):
    pytest.importorskip("ortools")
    rows = wide_rows(60, 8)
    rows = rows[rows.sum(axis=1) < -2].head(4).reset_index(drop=True)
    found = wide_desk(seen=True).explain(rows, 1, max_changes=most, tries=300)
    tops = [max(max(axis.median), max(axis.midpoint)) for axis in wide_desk(seen=True).layout.axes]
    for row, outcome in enumerate(found.outcomes):
        # Of so many changes the best are those that gain most: the score is a sum.
        own = rows.iloc[row].to_numpy()
        weights = np.array([2.0 / (1 + 0.3 * i) for i in range(14)])
        gains = np.sort(np.maximum(weights * (np.array(tops) - own), 0))[::-1]
        reach = -6.0 + float(weights @ own) + np.concatenate([[0], np.cumsum(gains)])
        least = int(np.argmax(reach > 0))
        assert outcome.status == ("found" if most >= least else "infeasible")
        if outcome.status == "infeasible" and most > 1:  # one change alone is tried out
            assert outcome.sentence.startswith(PROVEN)
        if outcome.status == "infeasible":
            assert outcome.reason.proven
            assert outcome.reason.relaxations[0].value >= least


def test_what_is_proved_of_a_row_does_not_hang_on_an_odd_one_beside_it():
    pytest.importorskip("ortools")

    def odd_at_99(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame["x0"] == 99.0, 0.01, weighed(frame))

    explainer = l2c.L2C(epochs=0, select="first").fit(wide_rows(200, 0), odd_at_99, WIDE)
    rows = wide_rows(60, 8)
    rows = rows[rows.sum(axis=1) < -2].head(4).reset_index(drop=True)
    beside = pd.concat([rows.assign(x0=99.0).head(1), rows], ignore_index=True)
    asked = {"max_changes": 2, "tries": 300, "reasons": False}
    alone, together = (explainer.explain(some, 1, **asked).outcomes for some in (rows, beside))
    assert "infeasible" in [outcome.status for outcome in alone]
    assert together[1:] == alone
    assert together[0].status != "infeasible"


def test_without_sight_of_the_model_nothing_is_called_proven():
    rows = wide_rows(60, 8)
    rows = rows[rows.sum(axis=1) < -4.5].reset_index(drop=True)
    found = wide_desk(seen=False).explain(rows, 1, max_changes=3, tries=500, desired_proba=(0.99, 1.0))
    for outcome in found.outcomes:
        assert outcome.status == "none_valid"
        assert "which is no proof that there are none" in outcome.sentence
        assert not outcome.reason.proven


def counted(explainer: Explainer) -> tuple[Explainer, list[int]]:
    """Return an explainer whose model counts the rows that it is asked about."""
    asked: list[int] = []

    class Counting:
        classes = explainer.blackbox.classes

        def proba(self, cells: np.ndarray) -> np.ndarray:
            asked.append(len(cells))
            return explainer.blackbox.proba(cells)

    return replace(explainer, blackbox=Counting()), asked


IMPOSSIBLE = {"max_changes": 1, "lock": ["x0", "x1"], "max_cost": 9, "where": ["x2 <= was.x2"], "desired_proba": (1, 1)}


def test_an_impossible_request_ends_within_its_tries():
    explainer, asked = counted(wide_desk(seen=False))
    (outcome,) = explainer.explain(wide_rows(1, 8), 3, tries=400, **IMPOSSIBLE).outcomes
    assert outcome.found == 0
    assert outcome.tries <= 800  # each may be judged with either value of its bins
    assert sum(asked) <= 20 * 800


def test_an_impossible_request_ends_within_its_time(monkeypatch):
    ticks = []

    def clock(_: float | None) -> Any:
        return lambda: ticks.append(1) or len(ticks) > 5

    monkeypatch.setattr(answering, "_clock", clock)
    explainer, asked = counted(wide_desk(seen=False))
    (outcome,) = explainer.explain(wide_rows(1, 8), 3, tries=10**9, **(IMPOSSIBLE | {"max_changes": 8})).outcomes
    assert outcome.sentence.endswith(" proposals reaches the probability that was asked for; the time budget ended")
    assert len(asked) < 30


def test_reasons_are_left_out_where_nobody_wants_them():
    rows = worst(6)
    request = {"max_changes": 1, "lock": ["job"]}
    explainer, asked = counted(replace(desk(), _twin=None))
    with_reasons = explainer.explain(rows, 5, **request)
    all_questions = sum(asked)
    asked.clear()
    without = explainer.explain(rows, 5, reasons=False, **request)
    assert sum(asked) < 0.7 * all_questions
    assert without.to_frame().equals(with_reasons.to_frame())
    for plain, told in zip(without.outcomes, with_reasons.outcomes, strict=True):
        assert (plain.status, plain.found, plain.tries) == (told.status, told.found, told.tries)
        assert plain.reason is None or plain.reason.relaxations == ()
        assert told.sentence.startswith(plain.sentence)
    assert any(told.reason.relaxations for told in with_reasons.outcomes if told.reason)


def test_reasons_ask_nothing_more_for_rows_that_lack_nothing():
    explainer, asked = counted(desk())
    rows = refused(4, seed=5)
    explainer.explain(rows, 2)
    once = sum(asked)
    asked.clear()
    explainer.explain(rows, 2, reasons=False)
    assert sum(asked) == once


def test_a_reason_comes_back_from_a_file(tmp_path):
    found: Explanations = desk().explain(worst(6), 5, **REQUESTS["several"])
    found.write(tmp_path / "found.parquet")
    again = l2c.read(tmp_path / "found.parquet")
    assert again.outcomes == found.outcomes
    assert any(outcome.reason and outcome.reason.relaxations for outcome in again.outcomes)
