"""Why a row got none or too few: each relaxation that is named helps, no smaller one does, and the words are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from l2c.core.explanation import Outcome, Reason, Relaxation, Released
from l2c.core.feature import Feature
from l2c.core.goal import Goal
from l2c.core.layout import Layout, categorical_axis
from l2c.core.limits import NO_LIMITS, Limits, Span
from l2c.core.method import Question
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.release.budget import Budget, Manner
from l2c.release.explain import look
from l2c.release.reasons import MORE_CHANGES, Plea, Stack, explained, pleas_of
from l2c.release.select import Selection
from tables import numeric_axis

FEATURES = (
    Feature(name="hours", kind="numeric", cost=1.0, cost_up=0.1),
    Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook")),
    Feature(name="school", kind="ordinal", levels=("low", "middle", "high"), cost=2.0),
    Feature(name="flag", kind="binary", levels=(0, 1), cost=0.5, missing=True),
)
AXES = (
    numeric_axis((20.0, 30.0, 40.0, 50.0), low=10.0, high=60.0),
    *(categorical_axis(feature) for feature in FEATURES[1:]),
)
LAYOUT = Layout(Schema(FEATURES), AXES)
PERSON = [22.0, 0.0, 0.0, 0.0]
"""22 hours; the medians of the bins are 12.5, 22.5, 32.5, 42.5 and 52.5."""


@dataclass
class Model:
    """A model that weighs hours, job, school and flag; the nurse counts most."""

    threshold: float
    classes: tuple[str, ...] = ("refused", "granted")

    def proba(self, cells: np.ndarray) -> np.ndarray:
        known = np.nan_to_num(cells)
        job = np.array([0.0, 2.0, 1.0])[known[:, 1].astype(int)]
        score = known[:, 0] / 10 + job + known[:, 2] + 0.5 * known[:, 3] - self.threshold
        granted = 1 / (1 + np.exp(-score))
        return np.stack([1 - granted, granted], axis=1)


@dataclass
class Proposals:
    """No proposals at all: what there is room for is tried whole."""

    question: Question

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
        assert len(first) == len(rows)
        return np.repeat(self.question.levels[rows][:, None], count, axis=1)


@dataclass
class Desk:
    """Where rows are asked about with any limits: everything they have room for is tried."""

    model: Model
    cells: np.ndarray
    low: float = np.nan
    schema: Schema = LAYOUT.schema
    asked: int = 1
    calls: list[int] = field(default_factory=list)

    def found(self, rows: Sequence[int], stacks: Sequence[Stack], low: np.ndarray | None, pool: int) -> Released:
        cells = self.cells[list(rows)]
        self.calls.append(len(rows))
        layout = replace(LAYOUT, schema=self.schema)
        limits = [(one, np.arange(len(rows)) == place) for place, stack in enumerate(stacks) for one in stack]
        goal = Goal.of_classes(np.ones(len(rows), dtype=np.int64), 2)
        ends = np.full(len(rows), self.low) if low is None else low
        goal = goal.within(ends, np.where(np.isnan(ends), np.nan, 1.0))
        question = Question.of(layout, cells, self.model.proba(cells), goal, limits=limits)
        pools = look(
            question, layout=layout, blackbox=self.model, proposer=Proposals(question), manner=Manner(), pool=pool,
            enough=pool, budget=Budget(1000),
        )  # fmt: skip
        self.best = pools.best
        return pools.release(pool, Selection())

    def outcomes(self, stacks: Sequence[Stack]) -> list[Outcome]:
        """Return how rows end, with the reasons of those that got too few."""
        first = self.found(range(len(stacks)), stacks, None, self.asked)
        pleas = pleas_of(first, self.best, stacks)

        def again(pleas: Sequence[Plea], other: Sequence[Stack], low: np.ndarray | None) -> Released:
            return self.found([plea.row for plea in pleas], other, low, 200)

        return explained(first.outcomes, pleas, self.schema, again)


def reason_of(threshold: float, *stack: Limits, **settings: object) -> Outcome:
    """Return how the one person ends with these limits."""
    (outcome,) = Desk(Model(threshold), np.array([PERSON]), **settings).outcomes([stack])
    return outcome


def told(outcome: Outcome) -> list[tuple[str, str | None, object]]:
    return [(one.limit, one.feature, one.value) for one in outcome.reason.relaxations]


TRIED = "combinations within the limits were tried; none changes the outcome"


@pytest.mark.parametrize(
    ("threshold", "limits", "relaxations", "words"),
    [
        (
            6.0,
            Limits(max_changes=1),
            [("max_changes", None, 2)],
            f"all 9 {TRIED}; no valid change within 1 feature; 2 suffice",
        ),
        (
            9.2,
            Limits(max_changes=2),
            [("max_changes", None, 3)],
            f"all 37 {TRIED}; no valid change within 2 features; 3 suffice",
        ),
        (
            6.0,
            Limits(min_sparsity=0.75),
            [("min_sparsity", None, 0.5)],
            f"all 9 {TRIED}; no valid change within 1 feature; 2 suffice",
        ),
        (
            4.0,
            Limits(max_cost=0.9),
            [("max_cost", None, 1.0)],
            "the only combination within the limits was tried; it is not one that changes the outcome; "
            "no valid change for a cost of 0.9; 1 is enough",
        ),
        (
            5.0,
            Limits(lock=["job", "school"], permit={"hours": (None, 40)}),
            [("permit", "hours", 52.5), ("lock", "job", None), ("lock", "school", None)],
            f"all 5 {TRIED}; feasible if hours may exceed 40 (52.5 is enough); or feasible if job may change; "
            "or feasible if school may change",
        ),
        (
            4.0,
            Limits(lock=["hours", "school", "flag"], permit={"job": ["cook"]}),
            [("permit", "job", "nurse"), ("lock", "hours", None), ("lock", "school", None)],
            "the only combination within the limits was tried; it is not one that changes the outcome; "
            "feasible if job may also become 'nurse'; or feasible if hours may change; "
            "or feasible if school may change",
        ),
        (
            5.0,
            Limits(lock=["job", "hours"], forbid={"school": [("low", "high")], "flag": [("*", 1)]}),
            [("lock", "job", None), ("lock", "hours", None)],
            "the only combination within the limits was tried; it is not one that changes the outcome; "
            "feasible if job may change; or feasible if hours may change",
        ),
        (
            4.0,
            Limits(lock=["job", "hours"], forbid={"school": [("low", "high")]}),
            [("lock", "job", None), ("lock", "hours", None), ("forbid", "school", "low to high")],
            f"all 3 {TRIED}; feasible if job may change; or feasible if hours may change; "
            "or feasible if school may go from low to high",
        ),
        (
            5.0,
            Limits(lock=["job"], where=["hours <= was.hours + 15", "school == 'low' or hours > 50"]),
            [
                ("lock", "job", None),
                ("where", None, "hours <= was.hours + 15"),
                ("where", None, "school == 'low' or hours > 50"),
            ],
            f"all 5 {TRIED}; feasible if job may change; or feasible without 'hours <= was.hours + 15'; "
            "or feasible without 'school == 'low' or hours > 50'",
        ),
        (
            5.0,
            Limits(max_changes=1, lock=["hours"], permit={"job": ["cook", "nurse"], "school": {"to": "middle"}}),
            [("max_changes", None, 2), ("lock", "hours", None)],
            f"all 4 {TRIED}; no valid change within 1 feature; 2 suffice; or feasible if hours may change",
        ),
        (
            6.6,
            Limits(max_changes=1, lock=["job"], where=["school == 'low'"]),
            [("all", None, None)],
            "all 5 combinations within the limits were tried; none changes the outcome; "
            "feasible only if several limits are relaxed together: without any there are enough",
        ),
        (99.0, Limits(max_changes=1), [], f"all 9 {TRIED}"),
        (99.0, NO_LIMITS, [], f"all 89 {TRIED}; no limit stands in the way, only the model and what may move"),
    ],
)
def test_the_reason_names_what_helps_in_data_and_in_words(threshold, limits, relaxations, words):
    outcome = reason_of(threshold, limits)
    assert (outcome.status, told(outcome)) == ("infeasible", relaxations)
    assert outcome.reason.proven
    assert outcome.sentence == words


def test_a_permitted_range_is_widened_downwards_too():
    model = Desk(Model(0.0), np.array([[58.0, 2.0, 2.0, 1.0]]))
    model.model.proba = lambda cells: np.stack([cells[:, 0] / 100, 1 - cells[:, 0] / 100], axis=1)
    stack = (Limits(permit={"hours": (55, None)}), Limits(permit={"hours": {"from": 52.0, "to": 60}}))
    (outcome,) = model.outcomes([stack])
    assert told(outcome) == [("permit", "hours", 42.5)]
    assert outcome.reason.relaxations[0].sentence == "feasible if hours may fall below 55 (42.5 is enough)"


def test_a_missing_value_is_no_level_that_could_be_permitted_too():
    desk = Desk(Model(7.9), np.array([[22.0, 0.0, 0.0, np.nan]]), asked=3)
    (outcome,) = desk.outcomes([(Limits(permit={"flag": [0], "job": ["cook"]}),)])
    assert (outcome.status, outcome.found) == ("partial", 2)  # with 52.5 hours, as a cook, of high school
    assert told(outcome) == [("permit", "job", "nurse"), ("permit", "flag", 1)]


def test_too_few_are_told_apart_from_none():
    outcome = reason_of(6.0, Limits(max_changes=2, max_cost=4.0, lock=["hours"]), asked=2)
    assert (outcome.status, outcome.found) == ("partial", 1)
    assert outcome.sentence == (
        "1 of 2 counterfactuals after 13 tries; there are no others within the limits; "
        "too few valid changes within 2 features; 3 suffice"
    )
    assert outcome.reason.proven
    dear = reason_of(6.0, Limits(max_cost=3.0, lock=["hours"]), asked=2)
    assert dear.sentence.endswith("; too few valid changes for a cost of 3; 3.5 is enough")


def test_where_two_limits_count_the_changes_the_one_that_binds_is_named():
    tight, loose = Limits(max_changes=1), Limits(min_sparsity=0.25)
    assert told(reason_of(6.0, tight, loose)) == [("max_changes", None, 2)]
    assert told(reason_of(6.0, Limits(max_changes=3), Limits(min_sparsity=0.75))) == [("min_sparsity", None, 0.5)]
    both = reason_of(6.0, Limits(max_changes=1, min_sparsity=0.75))
    assert told(both) == [("max_changes and min_sparsity", None, 2)]
    assert both.sentence.endswith("; no valid change within 1 feature; 2 suffice")


def test_the_limits_of_schema_call_and_row_are_relaxed_alike():
    standing, call, row = Limits(max_changes=3, lock=["job"]), Limits(where=["school == 'low'"]), Limits(max_changes=1)
    outcome = reason_of(5.6, standing, call, row)
    assert told(outcome) == [("max_changes", None, 2)]
    assert told(reason_of(5.0, standing, call, replace(row, permit={"hours": Span(None, 45)}))) == [
        ("permit", "hours", 52.5)
    ]


def test_a_rule_stands_whatever_is_relaxed():
    schema = replace(LAYOUT.schema, rules=(Implies("hours", "school"),))
    assert reason_of(5.0, Limits(max_changes=1, lock=["job"])).status == "found"  # 52.5 hours alone
    outcome = reason_of(5.0, Limits(max_changes=1, lock=["job"]), schema=schema)
    assert told(outcome) == [("max_changes", None, 2)]
    assert told(reason_of(5.0, Limits(lock=["job", "school"]), schema=schema)) == [("lock", "school", None)]


def test_a_probability_that_was_not_reached_is_told_with_the_highest_that_was():
    outcome = reason_of(6.0, low=0.999)
    best = 1 / (1 + np.exp(6.0 - (5.25 + 2 + 2 + 0.5)))
    (relaxation,) = outcome.reason.relaxations
    assert (relaxation.limit, relaxation.feature) == ("desired_proba", None)
    assert best - 1e-4 < relaxation.value <= best
    assert relaxation.sentence == f"a probability of 0.999 was not reached; {relaxation.value:g} was"
    assert "no limit stands in the way" not in outcome.sentence
    locked = reason_of(6.0, Limits(lock=["job"]), low=0.95)
    assert [limit for limit, _, _ in told(locked)] == ["desired_proba", "lock"]


def test_a_sentence_names_three_relaxations_and_counts_the_others():
    names = ["hours", "job", "school", "flag"]
    outcome = reason_of(2.4, Limits(lock=names))
    assert [feature for _, feature, _ in told(outcome)] == names
    assert outcome.sentence == (
        "the schema and the limits allow this row no change at all; feasible if hours may change; "
        "or feasible if job may change; or feasible if school may change; or 1 other relaxation would help too"
    )


def test_rows_are_asked_about_together_and_each_gets_its_own_reason():
    cells = np.array([PERSON, [45.0, 0.0, 0.0, 0.0], PERSON, PERSON])
    stacks = [(Limits(max_changes=1),), (Limits(max_changes=1),), (Limits(lock=["hours", "job"]),), ()]
    desk = Desk(Model(6.0), cells)
    first, second, third, fourth = desk.outcomes(stacks)
    assert told(first) == [("max_changes", None, 2)]
    assert (second.status, second.reason) == ("found", None)
    assert told(third) == [("lock", "hours", None), ("lock", "job", None)]
    assert (fourth.status, fourth.reason) == ("found", None)
    alone = [Desk(Model(6.0), cells[[row]]).outcomes([stacks[row]])[0] for row in range(4)]
    assert alone == [first, second, third, fourth]


def test_rows_that_lack_nothing_are_not_asked_about_again():
    desk = Desk(Model(2.4), np.array([PERSON, [58.0, 2.0, 2.0, 1.0]]))
    assert [outcome.status for outcome in desk.outcomes([(), ()])] == ["found", "already"]
    assert desk.calls == [2]


def test_an_impossible_request_is_asked_about_only_so_often():
    desk = Desk(Model(99.0), np.array([PERSON]))
    (outcome,) = desk.outcomes([(Limits(lock=["hours"], max_changes=1, max_cost=3, where=["flag == 1"]),)])
    assert outcome.reason == Reason(proven=True)
    assert len(desk.calls) <= 1 + MORE_CHANGES + 1 + 2 + 1


def met(threshold: float, limits: Limits) -> bool:
    """Return whether there is a counterfactual within the limits."""
    found = Desk(Model(threshold), np.array([PERSON])).found([0], [(limits,)], None, 1)
    return len(found.row) > 0


def applied(limits: Limits, relaxation: Relaxation) -> Limits:
    """Return limits with what the relaxation says, as a caller would change them."""
    name, value = relaxation.feature, relaxation.value
    match relaxation.limit:
        case "max_changes" | "min_sparsity" | "max_cost":
            return replace(limits, **{relaxation.limit: value})
        case "lock":
            return replace(limits, lock=tuple(one for one in limits.lock if one != name))
        case "where":
            return replace(limits, where=tuple(one for one in limits.where if one != value))
        case "forbid":
            return replace(limits, forbid={})
        case "permit":
            given = limits.permit[name]
            wider = (min(given[0], value), max(given[1], value)) if name == "hours" else [*given, value]
            return replace(limits, permit={**limits.permit, name: wider})
        case _:
            return NO_LIMITS


@pytest.mark.parametrize("seed", range(60))
def test_every_relaxation_helps_when_it_is_applied_and_no_smaller_one_does(seed):
    rng = np.random.default_rng(seed)
    names = [feature.name for feature in FEATURES]
    choices = {
        "lock": tuple(str(name) for name in rng.permutation(names)[: rng.integers(0, 3)]),
        "permit": {"hours": (15, int(rng.choice([25, 33, 45]))), "job": ["cook"], "school": ["middle"]},
        "forbid": {"school": [("low", "high")]},
        "where": ("hours <= was.hours + 12", "flag == 1 or school == 'low'")[: rng.integers(1, 3)],
        "max_changes": int(rng.integers(1, 3)),
        "min_sparsity": 0.75,
        "max_cost": float(rng.choice([0.5, 1.6, 3.0])),
    }
    limits = Limits(**{name: choices[name] for name in rng.permutation(list(choices))[: rng.integers(1, 4)]})
    threshold = float(rng.uniform(3, 9))
    if met(threshold, limits):
        return
    outcome = reason_of(threshold, limits)
    assert outcome.status == "infeasible"
    for relaxation in outcome.reason.relaxations:
        if relaxation.limit == "max_changes and min_sparsity":
            continue
        assert met(threshold, applied(limits, relaxation)), relaxation
        if relaxation.limit == "max_changes":
            assert not met(threshold, replace(limits, max_changes=relaxation.value - 1))
        if relaxation.limit == "max_cost":
            assert not met(threshold, replace(limits, max_cost=relaxation.value - 1e-6))
    if not outcome.reason.relaxations:
        assert not met(threshold, NO_LIMITS)
