"""Limits of a call and of single rows: each does what it says, to the rows it is for, and to no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import l2c
from checker import Asked, Promise, Test
from l2c import Explainer, Explanations, Limits
from l2c.errors import InputError
from l2c.release import hard_rows
from loans import SCHEMA, WIDE, applicants, desk, graded, graded_desk, granted, refused, standing, wide_desk, wide_rows

ROWS = refused(12)


def breaches(found: Explanations, rows: pd.DataFrame, asked: list[Asked] | Asked) -> list[str]:
    """Return what an independent judge finds wrong with what was found."""
    of_rows = [asked] * len(rows) if isinstance(asked, Asked) else asked
    axes = zip(SCHEMA.names, desk().layout.axes, strict=True)
    cuts = {name: list(axis.cuts) for name, axis in axes}

    def both(frame: pd.DataFrame) -> np.ndarray:
        return np.stack([1 - granted(frame), granted(frame)], axis=1)

    return Promise(SCHEMA.to_dict(), cuts, granted.classes, both).breaches(rows, found.to_frame(), of_rows)


def before(found: Explanations, rows: pd.DataFrame) -> pd.DataFrame:
    return rows.iloc[found.to_frame()["row"]].reset_index(drop=True)


def changes(found: Explanations, rows: pd.DataFrame) -> pd.Series:
    names = list(found.schema.names)
    return (found.to_frame()[names] != before(found, rows)[names]).sum(axis=1)


LIMITS: dict[str, tuple[dict[str, Any], tuple[Test, ...]]] = {
    "lock": ({"lock": ["job", "hours"]}, ()),
    "a single lock": ({"lock": "job"}, ()),
    "a range": ({"permit": {"hours": (30, 45)}}, ()),
    "an open range": ({"permit": {"savings": (None, 70.0), "age": {"from": 30}}}, ()),
    "levels": ({"permit": {"job": ["nurse", "cook"], "school": {"to": "middle"}}}, ()),
    "transitions": ({"forbid": {"job": [("clerk", "pilot"), ("*", "nurse")], "school": [("low", ["high"])]}}, ()),
    "transitions of numbers": ({"forbid": {"hours": [((None, 30), (40, None)), ("*", (70, 80))]}}, ()),
    "a condition": ({"where": "hours <= was.hours + 10"}, (lambda now, was: now["hours"] <= was["hours"] + 10,)),
    "a condition on two": (
        {"where": ["savings >= hours * 0.8", "job != 'pilot' or school == 'high'"]},
        (
            lambda now, was: now["savings"] >= now["hours"] * 0.8,  # noqa: ARG005
            lambda now, was: now["job"] != "pilot" or now["school"] == "high",  # noqa: ARG005
        ),
    ),
    "changes": ({"max_changes": 2}, ()),
    "sparsity": ({"min_sparsity": 0.6}, ()),
    "cost": ({"max_cost": 4.0}, ()),
    "several": (
        {"max_changes": 3, "lock": ["school"], "permit": {"hours": (20, 60)}, "max_cost": 6, "where": "age < 70"},
        (lambda now, was: now["age"] < 70,),  # noqa: ARG005
    ),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("select", ["first", "balanced", "cheap"])
def test_each_limit_is_kept_and_leaves_something_to_find(name, select):
    given, tests = LIMITS[name]
    found = desk().explain(ROWS, 8, select=select, reasons=False, **given)
    asked = Asked({limit: value for limit, value in given.items() if limit != "where"}, tests)
    assert breaches(found, ROWS, asked) == []
    assert len(found) > 40
    free = desk().explain(ROWS, 8, select=select, reasons=False)
    assert breaches(free, ROWS, Asked({})) == []
    assert breaches(free, ROWS, asked) != []


def test_a_value_that_a_person_has_already_may_stay_whatever_is_permitted():
    outside = ROWS[(ROWS["hours"] < 38)].reset_index(drop=True)
    found = desk().explain(outside, 8, permit={"hours": (38, 42)})
    long, was = found.to_frame()["hours"], before(found, outside)["hours"]
    assert (long == was).any()
    assert long[long != was].between(38, 42).all()


def test_a_condition_may_ask_for_a_change():
    found = desk().explain(ROWS, 5, where="job != was.job and hours > was.hours")
    assert len(found) > 30
    assert (found.to_frame()["job"] != before(found, ROWS)["job"]).all()
    assert (found.to_frame()["hours"] > before(found, ROWS)["hours"]).all()


def test_the_limits_of_a_row_are_for_it_alone():
    given = [LIMITS[name] for name in ("lock", "a condition", "changes", "cost", "levels", "a range")]
    limits: list[dict[str, Any] | None] = [None] * 12
    for row, (limit, _) in enumerate(given):
        limits[2 * row] = limit
    found = desk().explain(ROWS, 6, seed=5, limits=limits)
    asked = [
        Asked({name: value for name, value in (limits[row] or {}).items() if name != "where"}, given[row // 2][1])
        if row % 2 == 0
        else Asked({})
        for row in range(12)
    ]
    assert breaches(found, ROWS, asked) == []
    free, whole = desk().explain(ROWS, 6, seed=5), found.to_frame()
    for row in range(12):
        mine, theirs = (one[one["row"] == row].reset_index(drop=True) for one in (whole, free.to_frame()))
        assert (row % 2 == 0) or mine.equals(theirs)
    assert not whole.equals(free.to_frame())


def test_the_limits_of_a_row_are_on_top_of_those_of_the_call_and_of_the_schema():
    bound = standing(desk(), Limits(lock=["school"], max_changes=3))
    limits = [{"max_changes": 2} if row % 2 else Limits(lock=["hours"]) for row in range(12)]
    found = bound.explain(ROWS, 6, permit={"job": ["nurse"]}, limits=limits)
    asked = [
        Asked(
            {"lock": ["school"] if row % 2 else ["school", "hours"], "max_changes": 2 if row % 2 else 3}
            | {"permit": {"job": ["nurse"]}}
        )
        for row in range(12)
    ]
    assert breaches(found, ROWS, asked) == []
    assert len(found) > 20
    counted = changes(found, ROWS)
    assert counted.max() == 3
    same = desk().explain(ROWS, 6, permit={"job": ["nurse"]}, limits=limits, lock=["school"], max_changes=3)
    assert same.to_frame().equals(found.to_frame())


def test_fewer_features_change_only_as_far_as_asked_and_more_may_not():
    for most in (1, 2, 3):
        found = desk().explain(ROWS, 8, max_changes=most, select="diverse")
        assert changes(found, ROWS).max() == most
    for share, most in ((0.99, 0), (0.84, 0), (0.83, 1), (2 / 3, 2), (0.5, 3), (0.0, 6)):
        found = desk().explain(ROWS, 8, min_sparsity=share, reasons=False, select="diverse")
        assert changes(found, ROWS).max() <= most if len(found) else most == 0


# What should be reached


def test_a_range_of_probability_holds_at_both_ends():
    found = desk().explain(ROWS, 5, desired_proba=(0.6, 0.7))
    long = found.to_frame()
    assert len(long) > 30
    assert granted(long) == pytest.approx(long["probability"].to_numpy(), abs=1e-12)
    assert long["probability"].between(0.6, 0.7).all()
    assert set(long["prediction"]) == {"granted"}
    low = desk().explain(ROWS, 5, desired_proba=(0.42, 0.48), desired="granted").to_frame()
    assert low["probability"].between(0.42, 0.48).all()
    assert set(low["prediction"]) == {"refused"}  # the decision does not count beside a range


def test_a_row_that_is_in_the_range_already_is_told_so():
    rows = applicants(60, seed=3)
    found = desk().explain(rows, 2, desired="granted", desired_proba=(0.3, 0.6))
    inside = (granted(rows) >= 0.3) & (granted(rows) <= 0.6)
    assert 3 < inside.sum() < 57
    assert [outcome.status == "already" for outcome in found.outcomes] == inside.tolist()


def test_a_row_may_have_a_goal_of_its_own():
    limits = [{"desired": ["none", "large"]}, {"desired": "large", "desired_proba": (0.5, 0.8)}, None] * 4
    rows = applicants(200, seed=2)
    rows = rows[graded(rows).argmax(axis=1) == 1].head(12).reset_index(drop=True)
    found = graded_desk().explain(rows, 4, desired="none", limits=limits)
    long, chances = found.to_frame(), graded(found.to_frame())
    kind = long["row"].to_numpy() % 3
    assert set(long["row"]) >= {0, 1, 2}
    assert (chances[kind == 0].argmax(axis=1) != 1).all()
    assert ((chances[kind == 1, 2] >= 0.5) & (chances[kind == 1, 2] <= 0.8)).all()
    assert (chances[kind == 2].argmax(axis=1) == 0).all()
    assert long["prediction"].tolist() == [graded.classes[place] for place in chances.argmax(axis=1)]
    expected = np.select([kind == 0, kind == 1], [chances[:, 0] + chances[:, 2], chances[:, 2]], chances[:, 0])
    assert long["probability"].to_numpy() == pytest.approx(expected)


# Costs


def test_the_cost_of_every_counterfactual_is_told_and_the_cheapest_come_first():
    found = desk().explain(ROWS, 10, select="cheap")
    long = found.to_frame()
    assert breaches(found, ROWS, Asked({})) == []  # which adds costs up by itself
    assert all(costs.is_monotonic_increasing for _, costs in long.groupby("row")["cost"])
    others = [desk().explain(ROWS, 10, select=select).to_frame() for select in ("balanced", "sparse", "diverse")]
    assert long["cost"].mean() < min(other["cost"].mean() for other in others)


def test_where_nothing_has_a_price_a_change_costs_one():
    explainer = l2c.L2C(epochs=0, select="first").fit(wide_rows(60, 0), lambda frame: granted_by_x(frame), WIDE)
    rows = wide_rows(5, 1)
    found = explainer.explain(rows, 4)
    assert found.to_frame()["cost"].tolist() == changes(found, rows).tolist()


def granted_by_x(frame: pd.DataFrame) -> np.ndarray:
    return 1 / (1 + np.exp(-frame["x0"].to_numpy() - frame["x1"].to_numpy()))


# The same seed, the same answer


def same_answers(explainer: Explainer, rows: pd.DataFrame, limits: list[Any], **settings: Any) -> Explanations:
    """Fail unless rows get bit-equal answers together, shuffled and one by one; return what they get together."""
    together = explainer.explain(rows, limits=limits, **settings)
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = explainer.explain(rows.iloc[order].reset_index(drop=True), limits=[limits[i] for i in order], **settings)
    for place, row in enumerate(order):
        assert_same_bits(together, row, shuffled, place)
    for row in range(len(rows)):
        alone = explainer.explain(rows.iloc[[row]].reset_index(drop=True), limits=[limits[row]], **settings)
        assert_same_bits(together, row, alone, 0)
    return together


def assert_same_bits(one: Explanations, row: int, other: Explanations, place: int) -> None:
    assert one.outcomes[row] == other.outcomes[place]
    if one.outcomes[row].found:  # an empty frame knows no types
        pd.testing.assert_frame_equal(of_row(one, row), of_row(other, place), check_exact=True)


def of_row(found: Explanations, row: int) -> pd.DataFrame:
    long = found.to_frame()
    return long[long["row"] == row].drop(columns="row").reset_index(drop=True)


@pytest.mark.parametrize("select", ["first", "balanced", "cheap"])
@pytest.mark.parametrize("dial", [0.0, 1.0])
def test_under_limits_a_row_gets_the_same_bits_in_any_batch(select, dial):
    limits = [
        given if "where" not in given or isinstance(given["where"], list) else given | {"max_changes": 4}
        for given, _ in LIMITS.values()
    ][:12]
    found = same_answers(desk(), ROWS, limits, n=5, seed=4, select=select, plausibility=dial)
    assert len(found) > 30


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("select", ["first", "balanced"])
def test_a_tight_row_that_is_refined_early_gets_the_same_bits_in_any_batch(monkeypatch, seen, select):
    rounds = []
    refined = hard_rows.refined
    monkeypatch.setattr(hard_rows, "refined", lambda *given: rounds.append(1) or refined(*given))
    rows = wide_rows(40, 3)
    rows = rows[rows.sum(axis=1) < 0].head(8).reset_index(drop=True)
    limits: list[Any] = [{"max_changes": 3 + row % 3} for row in range(8)]
    limits[1]["where"] = "x0 + x1 <= was.x0 + was.x1 + 3"
    limits[2] |= {"lock": ["x0"], "max_cost": 4}
    limits[5] = None
    found = same_answers(
        wide_desk(seen=seen), rows, limits, n=6, seed=2, tries=3000, select=select, reasons=select == "first"
    )
    assert len(rounds) > 8
    assert len(found) > 10
    assert changes(found, rows)[found.to_frame()["row"] == 0].max() <= 3


def test_another_seed_gives_another_answer_under_limits_too():
    one, other = (desk().explain(ROWS, 4, seed=seed, max_changes=3).to_frame() for seed in (1, 2))
    assert not one.equals(other)


# Bad input


def test_every_problem_of_the_limits_is_told_before_anything_is_searched():
    with pytest.raises(InputError) as caught:
        desk().explain(
            ROWS[:3],
            0,
            lock=["jobs"],
            where="hours <= was.hour + 10",
            desired="grant",
            limits=[None, {"max_changes": "two"}, {"permit": {"hours": (50, 20), "school": ["lower"]}}],
        )
    assert str(caught.value) == (
        "7 problems:\n"
        "  - n must be at least 1, not 0\n"
        "  - desired 'grant' is no class of the model; its classes are 'refused', 'granted'; did you mean 'granted'?\n"
        "  - lock: there is no feature 'jobs'; did you mean 'job'?\n"
        "  - where: there is no feature 'hour'; did you mean 'hours'?\n"
        "  hours <= was.hour + 10\n"
        "               ^^^^\n"
        "  - limits of row 1: max_changes must be a whole number of at least 1, not 'two'\n"
        "  - limits of row 2: permit 'hours': the range 50 to 20 is empty\n"
        "  - limits of row 2: permit 'school': 'lower' is none of its levels, 'low', 'middle', 'high'; "
        "did you mean 'low'?"
    )


def test_limits_are_counted_by_all_rows_given_those_that_cannot_be_read_included():
    rows = ROWS[:4].copy()
    rows.loc[1, "job"] = "astronaut"
    limits = [None, {"lock": ["job"]}, {"lock": ["hours"]}, None]
    found = desk().explain(rows, 3, limits=limits)
    assert found.outcomes[1].status == "bad_input"
    assert breaches(found, ROWS[:4], [Asked(limit or {}) for limit in limits]) == []
    with pytest.raises(InputError, match="limits takes one entry for each of the 4 rows"):
        desk().explain(rows, 3, limits=limits[1:])
