"""Whether a valid counterfactual exists, against a look at every combination of levels."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.test_sight import every_row, random_layout, random_trees, random_view, values_of
from l2c.core.blackbox import puts_in
from l2c.core.layout import Layout
from l2c.core.sight import Additive, Forest, Trees, View
from l2c.core.types import Levels
from l2c.errors import MissingExtraError
from l2c.release import prove as module
from l2c.release.prove import Case, Demand, Rule, least, prove
from laws import layout_of

HOWS = ("must_rise", "must_not_fall", "only_if")


def keeps(rule: Rule, own: np.ndarray, row: np.ndarray) -> bool:
    cause, effect, how = rule
    rises = row[cause] > own[cause]
    if how == "must_rise":
        return not rises or row[effect] > own[effect]
    if how == "must_not_fall":
        return not rises or row[effect] >= own[effect]
    return rises or row[effect] <= own[effect]


def total(layout: Layout, room: Case, row: np.ndarray) -> float:
    cost = 0.0
    for i, level in enumerate(row):
        cost += room.cost[layout.offsets[i] + level]
    return cost


def answers(view: View, room: Case, desired: int) -> Levels:
    """Return every valid counterfactual there is, found by trying all rows."""
    layout, rows = view.layout, every_row(view.layout)
    rows = rows[room.open[rows + layout.offsets].all(axis=1)]
    rows = np.array([row for row in rows if (row != room.own).any()], dtype=np.int16).reshape(-1, rows.shape[1])
    most = len(room.own) if room.max_changes is None else room.max_changes
    good = np.array(
        [
            (row != room.own).sum() <= most
            and total(layout, room, row) <= room.max_cost
            and all(keeps(rule, room.own, row) for rule in room.rules)
            and all(demand.holds(row[None, :])[0] for demand in room.demands)
            for row in rows
        ],
        dtype=bool,
    )
    rows = rows[good]
    proba = view.proba(view.scores(room.values[rows + layout.offsets]))
    return rows[puts_in(proba, np.full(len(rows), desired))]


def random_demand(layout: Layout, rng: np.random.Generator) -> Demand:
    """Return a demand that forbids some combinations of two features, or of all."""
    features = rng.choice(len(layout.axes), 2, replace=False)
    forbidden = rng.random(layout.sizes[features]) < 0.4

    def holds(levels: Levels) -> np.ndarray:
        return ~forbidden[levels[:, features[0]], levels[:, features[1]]]

    return Demand(holds, tuple(features.tolist()) if rng.random() < 0.7 else None)


def random_room(layout: Layout, rng: np.random.Generator) -> Case:
    """Return any room: open levels, costs, rules, demands and limits of all sorts, contradictions included."""
    features = len(layout.axes)
    own = rng.integers(0, layout.sizes).astype(np.int16)
    open_ = rng.random(layout.width) < 0.7
    open_[(own + layout.offsets)[rng.random(features) < 0.95]] = True
    cost = [rng.random(layout.width), rng.integers(0, 5, layout.width) / 10, np.ones(layout.width)][rng.integers(3)]
    cost[own + layout.offsets] = 0.0
    rules = tuple(
        (int(cause), int(effect), str(rng.choice(HOWS)))
        for cause, effect in (rng.choice(features, 2, replace=False) for _ in range(rng.integers(3)))
    )
    return Case(
        own,
        values_of(layout, rng),
        open_,
        cost,
        rules=rules,  # type: ignore[arg-type]
        demands=tuple(random_demand(layout, rng) for _ in range(rng.choice([0, 0, 1, 2]))),
        max_changes=None if rng.random() < 0.5 else int(rng.integers(1, features + 1)),
        max_cost=float(np.inf if rng.random() < 0.5 else rng.choice([0.0, 0.3, 0.6, 1.0, 2.0])),
    )


def random_case(kind: str, seed: int, *, classes: int, sort: str) -> tuple[View, Case, int]:
    rng = np.random.default_rng(seed)
    layout = random_layout(rng)
    view = random_view(kind, layout, classes, rng, sort)
    # A class that starts behind is harder to reach, so that both answers are common.
    desired = int(rng.integers(classes))
    behind = np.eye(classes)[desired] * rng.integers(0, 4)
    start = {"intercept": view.intercept - behind} if isinstance(view, Additive) else {"base": view.base - behind}
    return replace(view, **start), random_room(layout, rng), desired


CASES = [
    (kind, classes, sort)
    for kind in ("additive", "trees")
    for classes in (2, 3)
    for sort in ("whole", "thirds", "any")
]  # fmt: skip


@pytest.mark.parametrize(("kind", "classes", "sort"), CASES)
def test_the_verdict_is_that_of_trying_every_row(kind, classes, sort):
    found = {True: 0, False: 0}
    for seed in range(70):
        view, room, desired = random_case(kind, seed, classes=classes, sort=sort)
        valid = answers(view, room, desired)
        verdict = prove(view, room, desired)
        assert verdict.possible is (len(valid) > 0), seed
        if verdict.possible:
            assert (valid == verdict.witness).all(axis=1).any(), seed
        else:
            assert verdict.witness is None
        found[verdict.possible] += 1
    assert min(found.values()) >= 5


def test_a_question_that_the_solvers_presolve_calls_impossible_has_its_answer():
    view, room, desired = random_case("additive", 2327, classes=3, sort="any")
    assert len(answers(view, room, desired)) == 1
    assert prove(view, room, desired).possible is True


@pytest.mark.parametrize(("kind", "classes", "sort"), CASES)
def test_the_least_is_that_of_trying_every_row(kind, classes, sort):
    for seed in range(30):
        view, room, desired = random_case(kind, seed, classes=classes, sort=sort)
        few = least(view, room, desired, "changes")
        any_number = answers(view, replace(room, max_changes=None), desired)
        assert (few is None) == (len(any_number) == 0), seed
        if few is not None:
            assert few.amount == (any_number != room.own).sum(axis=1).min(), seed
            assert (any_number == few.witness).all(axis=1).any(), seed
        cheap = least(view, room, desired, "cost")
        at_any_cost = answers(view, replace(room, max_cost=np.inf), desired)
        assert (cheap is None) == (len(at_any_cost) == 0), seed
        if cheap is not None:
            costs = [total(view.layout, room, row) for row in at_any_cost]
            assert cheap.amount == pytest.approx(min(costs), rel=0, abs=1e-9), seed
            assert (at_any_cost == cheap.witness).all(axis=1).any(), seed


def votes(gains: list[list[float]], start: float, slack: float = 0.0) -> Additive:
    """Return an additive view of two classes, in which each level gains so much for the second."""
    layout = layout_of(tuple(len(levels) for levels in gains))
    entries = np.zeros((layout.width, 2))
    entries[:, 1] = np.concatenate(gains)
    features = len(gains)
    return Additive(
        layout, np.array([0.0, start]), np.zeros((features, 2)), entries, np.ones(features, dtype=bool), slack
    )


def free(layout: Layout, **given: Any) -> Case:
    """Return the room of a person at the lowest level of everything who may do anything."""
    cost = np.ones(layout.width)
    cost[layout.offsets] = 0.0
    own = np.zeros(len(layout.axes), dtype=np.int16)
    room = Case(own, layout.representatives("median"), np.ones(layout.width, dtype=bool), cost)
    return replace(room, **given)


def test_a_tie_is_not_enough():
    view = votes([[0, 1], [0, 1]], start=-2)
    assert prove(view, free(view.layout), 1).possible is False
    view = votes([[0, 1], [0, 1]], start=-2 + 2**-20)
    assert prove(view, free(view.layout), 1).possible is True


def test_any_number_of_ties_is_not_enough():
    view = votes([[0, *([1] * 20)]] * 2, start=-2)
    assert module.CUTS < 20 * 20
    assert prove(view, free(view.layout), 1).possible is False


def test_a_lead_that_only_rounding_could_bring_is_a_tie():
    # In floats 0.1 + 0.2 is more than 0.3; whether its exponential is more than 1 hangs on the machine.
    view = votes([[0, 0.1], [0, 0.2]], start=-0.3)
    scores = view.scores(np.array([[1.0, 1.0]]))
    assert scores[0, 1] > 0
    there = puts_in(view.proba(scores), np.array([1]))[0]
    assert prove(view, free(view.layout), 1).possible is bool(there)


def crossed(tables: list[np.ndarray], start: float = 0.0) -> Trees:
    """Return a forest for two yes-or-no features: a tree for each table, which adds what stands in it."""
    layout, count = layout_of((2, 2)), len(tables)
    node = np.tile(np.arange(7), count)
    first = np.repeat(7 * np.arange(count), 7)
    inner = node < 3
    forest = Forest(
        7 * np.arange(count),
        np.where(inner, np.minimum(node, 1), -1),
        np.full(7 * count, 0.5),
        np.full(7 * count, -1),
        np.zeros((0, 1), dtype=bool),
        np.zeros(7 * count, dtype=bool),
        np.where(inner, first + 2 * node + 1, 0),
        np.where(inner, first + 2 * node + 2, 0),
        np.concatenate([np.vstack([np.zeros((3, 2)), table.reshape(4, 2)]) for table in tables]),
    )

    def inputs(chosen: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.eye(2)[chosen] * values[:, None]

    seen = np.ones(2, dtype=bool)
    return Trees(layout, forest, np.array([0.0, start]), "mean", np.arange(2), inputs, seen)


@pytest.mark.parametrize("row", [(0, 1), (1, 0), (1, 1)])
def test_a_leaf_that_leads_by_the_last_digit_is_found_among_those_that_tie(row):
    third = 1 / 3
    table = np.full((2, 2, 2), third)
    table[(*row, 1)] = np.nextafter(third, 1)
    view = crossed([table])
    assert not view.parts(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4, dtype=bool)).exact
    assert prove(view, free(view.layout), 1).witness.tolist() == list(row)
    assert prove(view, free(view.layout), 0).possible is False


@pytest.mark.parametrize("idle", [0, 1])
@pytest.mark.parametrize("own", [[0, 0], [1, 0], [0, 1]])
def test_a_feature_whose_summands_cancel_out_may_still_decide_by_rounding(idle, own):
    def adds(feature: int, amount: float) -> np.ndarray:
        table = np.zeros((2, 2, 2))
        table[..., 1] = amount * np.indices((2, 2))[feature]
        return table

    view = crossed([adds(idle, 1.1), adds(idle, -1.1), adds(1 - idle, 0.2)], start=-0.2)
    parts = view.parts(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4, dtype=bool))
    assert not parts.entries[2 * idle : 2 * idle + 2].any()
    every = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert every[view.scores(every)[:, 1] > 0].tolist() == [[1, 1]]
    assert prove(view, free(view.layout, own=np.array(own, dtype=np.int16)), 1).witness.tolist() == [1, 1]


def test_what_lies_within_the_views_slack_is_left_undecided():
    near = votes([[0, 1.25], [0, 1]], start=-2.25 + 1e-7, slack=1e-6)
    verdict = prove(near, free(near.layout), 1)
    assert verdict.possible is None
    assert verdict.witness is None
    assert least(near, free(near.layout), 1, "changes") is None
    assert prove(replace(near, slack=1e-8), free(near.layout), 1).possible is True
    assert prove(votes([[0, 1.25], [0, 1]], start=-2.25 - 1e-5, slack=1e-6), free(near.layout), 1).possible is False


def test_a_row_beyond_the_slack_is_preferred_to_one_within_it():
    view = votes([[0, 1], [0, 1], [0, 1e-7]], start=-2 + 1e-8, slack=1e-6)
    assert prove(view, free(view.layout), 1).possible is None
    view = votes([[0, 1], [0, 1], [0, 1e-7, 0.5]], start=-2 + 1e-8, slack=1e-6)
    verdict = prove(view, free(view.layout), 1)
    assert verdict.possible is True
    assert verdict.witness.tolist() == [1, 1, 2]
    found = least(view, free(view.layout), 1, "changes")
    # Two changes might do, or might not: then nobody knows the least.
    assert found is None


def test_one_row_beyond_the_slack_is_found_among_many_within_it():
    halves = [0, *([0.5] * 20)]
    assert module.CUTS < 20 * 20
    for level in (1, 15, 29):
        view = votes([halves, halves, (0.25 * np.eye(30)[level]).tolist()], start=-1 + 1e-8, slack=1e-6)
        verdict = prove(view, free(view.layout), 1)
        assert verdict.possible is True
        assert verdict.witness[2] == level
    view = votes([*([[0, 1]] * 8), [0, 2]], start=-1 + 1e-8, slack=1e-6)
    found = least(view, free(view.layout), 1, "changes")
    assert found.amount == 1
    assert found.witness[-1] == 1


def test_a_cost_that_is_over_by_rounding_is_over_whatever_else_is_free():
    # In floats 0.1 + 0.1 + 0.1 is more than 0.3.
    view = votes([[0, 1]] * 3 + [[0, 0]] * 8, start=-2.5)
    cost = np.where(np.arange(22) % 2 == 0, 0.0, np.where(np.arange(22) < 6, 0.1, 0.0))
    assert module.CUTS < 2**8
    assert prove(view, free(view.layout, cost=cost, max_cost=0.3), 1).possible is False
    assert prove(view, free(view.layout, cost=cost, max_cost=0.1 + 0.1 + 0.1), 1).possible is True


def test_the_least_is_found_past_the_limit_on_it():
    view = votes([[0, 1], [0, 1], [0, 1]], start=-1.5)
    room = free(view.layout, max_changes=1, max_cost=np.inf)
    assert prove(view, room, 1).possible is False
    found = least(view, room, 1, "changes")
    assert found.amount == 2
    assert prove(view, replace(room, max_changes=2), 1).possible is True
    room = free(view.layout, max_cost=1.5)
    assert prove(view, room, 1).possible is False
    assert least(view, room, 1, "cost").amount == 2.0


def test_the_cheapest_of_several_ways_is_found():
    view = votes([[0, 2, 3], [0, 1], [0, 1]], start=-1.5)
    room = free(view.layout, cost=np.array([0, 0.9, 5.0, 0, 0.4, 0, 0.3]))
    found = least(view, room, 1, "cost")
    assert found.witness.tolist() == [0, 1, 1]
    assert found.amount == 0.4 + 0.3
    assert least(view, room, 1, "changes").amount == 1


def test_a_row_already_in_the_class_still_has_to_change():
    view = votes([[0, -1], [0, 0]], start=0.5)
    assert prove(view, free(view.layout), 1).witness.tolist() == [0, 1]
    closed = np.array([True, True, True, False])
    assert prove(view, free(view.layout, open=closed), 1).possible is False


def test_a_feature_without_any_open_level_leaves_no_room():
    view = votes([[0, 5], [0, 1]], start=-1)
    assert prove(view, free(view.layout, open=np.array([True, True, False, False])), 1).possible is False


def test_a_level_that_has_no_price_is_never_taken():
    view = votes([[0, 5], [0, 1]], start=-2)
    assert prove(view, free(view.layout, cost=np.array([0, np.inf, 0, 1])), 1).possible is False


def test_a_missing_value_that_the_view_never_saw_leaves_it_undecided():
    view = votes([[0, 5], [0, 1]], start=-2)
    values = np.array([np.nan, 1.0, 0.0, 1.0])
    assert prove(view, free(view.layout, values=values), 1).possible is True
    blind = replace(view, gaps=np.array([False, True]))
    assert prove(blind, free(view.layout, values=values), 1).possible is None
    shut = np.array([False, True, True, True])
    assert prove(blind, free(view.layout, values=values, open=shut), 1).possible is True


def never(levels: Levels) -> np.ndarray:
    return np.zeros(len(levels), dtype=bool)


def test_a_demand_on_few_features_is_decided_however_many_rows_break_it():
    view = votes([[0, 1, 2, 3]] * 6, start=-1)
    assert module.CUTS < 4**4
    assert prove(view, free(view.layout, demands=(Demand(never, (0, 1, 2, 3)),)), 1).possible is False


def test_a_demand_on_whole_rows_that_too_many_break_is_left_undecided():
    view = votes([[0, 1, 2, 3]] * 6, start=-1)
    assert prove(view, free(view.layout, demands=(Demand(never),)), 1).possible is None


def test_a_demand_on_more_combinations_than_are_asked_beforehand_is_kept_all_the_same(monkeypatch):
    monkeypatch.setattr(module, "TABLED", 3)
    view = votes([[0, 1, 2, 3], [0, 1, 2, 3], [0, 1]], start=-1)

    def sums_to_five(levels: Levels) -> np.ndarray:
        return levels[:, 0] + levels[:, 1] == 5

    verdict = prove(view, free(view.layout, demands=(Demand(sums_to_five, (0, 1)),)), 1)
    assert verdict.witness[:2].sum() == 5
    # A combination that fails is struck out for every row that has it.
    view = votes([[0, 1, 2, 3]] * 6, start=-1)
    assert prove(view, free(view.layout, demands=(Demand(never, (0, 1)),)), 1).possible is False


def test_work_that_may_not_be_spent_leaves_it_undecided():
    rng = np.random.default_rng(5)
    layout = layout_of((4,) * 9)
    for _ in range(5):
        view = random_trees(layout, 2, rng, "any")
        view = replace(view, base=view.base - [0.0, 3.0])
        hurried = prove(view, free(layout), 1, effort=0.0)
        assert hurried.possible in (None, prove(view, free(layout), 1).possible)


@pytest.mark.parametrize("kind", ["additive", "trees"])
def test_the_same_question_has_the_same_answer(kind):
    for seed in range(10):
        view, room, desired = random_case(kind, seed, classes=3, sort="any")
        first, second = prove(view, room, desired), prove(view, room, desired)
        assert first.possible is second.possible
        assert first.witness is second.witness or (first.witness == second.witness).all()


def test_without_the_solver_the_message_is_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    view = votes([[0, 1]], start=-1)
    with pytest.raises(
        MissingExtraError, match=r'^proving that no change can exist needs ortools: pip install "l2c\[prove\]"$'
    ):
        prove(view, free(view.layout), 1)
